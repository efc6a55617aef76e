#pragma once
#include "core/machine/math.h"
#include "layers/elementwise/functions.h"

/// Terms of losses and their derivatives with respect to the first argument. Plain data.
namespace cortado::loss {

/// (a - b)^2 / 2.
struct SquaredDifference {
  static constexpr const char *label = "euclidean_loss", *gradient_label = "euclidean_loss_gradient";
  template <class V>
  CORTADO_FN bool counts(V /*b*/) const {
    return true;
  }
  template <class V>
  CORTADO_FN V value(V a, V b) const {
    return 0.5f * (a - b) * (a - b);
  }
  template <class V>
  CORTADO_FN V slope(V a, V b) const {
    return a - b;
  }
};

/// -t log s - (1 - t) log(1 - s) for s = sigmoid(x), computed without overflow. A target is ignored, as in Caffe, if
/// its whole part is the ignored number.
struct SigmoidCrossEntropy {
  static constexpr const char *label = "sigmoid_cross_entropy_loss",
                              *gradient_label = "sigmoid_cross_entropy_loss_gradient";
  bool ignores;
  int ignored;
  template <class V>
  CORTADO_FN bool counts(V t) const {
    return !(ignores && static_cast<int>(t) == ignored);
  }
  template <class V>
  CORTADO_FN V value(V x, V t) const {
    return functions::softplus(x) - x * t;
  }
  template <class V>
  CORTADO_FN V slope(V x, V t) const {
    return functions::sigmoid(x) - t;
  }
};

/// max(0, 1 + x), 1 - x instead for the label's score; its square, if `squared`.
struct Hinge {
  static constexpr const char *label = "hinge_loss", *gradient_label = "hinge_loss_gradient";
  bool squared;
  template <class V>
  CORTADO_FN V value(V x, bool hit) const {
    const V margin = math::max(1.0f + math::select(hit, -x, x), V(0.0f));
    return squared ? margin * margin : margin;
  }
  template <class V>
  CORTADO_FN V slope(V x, bool hit) const {
    const V margin = math::max(1.0f + math::select(hit, -x, x), V(0.0f));
    const V size = squared ? 2.0f * margin : math::select(margin > 0.0f, V(1.0f), V(0.0f));
    return math::select(hit, -size, size);
  }
};

/// The least probability that Caffe takes a logarithm of.
constexpr float least_probability = 1e-20f;

/// -log of the label's probability.
struct LabelLogarithm {
  static constexpr const char *label = "multinomial_logistic_loss",
                              *gradient_label = "multinomial_logistic_loss_gradient";
  template <class V>
  CORTADO_FN V value(V x, bool hit) const {
    return math::select(hit, -math::log(math::max(x, V(least_probability))), V(0.0f));
  }
  template <class V>
  CORTADO_FN V slope(V x, bool hit) const {
    return math::select(hit, -1.0f / math::max(x, V(least_probability)), V(0.0f));
  }
};

}  // namespace cortado::loss
