#pragma once
#include "core/machine/math.h"
#include "core/machine/program.h"

namespace cortado {

// The rules by which solver types turn the gradient g of one weight w into a step, in Caffe's order of operations. A
// rule keeps `histories` values per weight. `old(k)` is the value of history k, `keep(k, v)` sets it. The result is
// subtracted from the weight. `rate` is the blob's: the policy's times lr_mult.

/// Momentum: h = rate g + momentum h, step = h. LARS uses it too, with a rate for each blob.
struct SgdRule {
  static constexpr const char* label = "sgd_update";
  static constexpr int histories = 1;
  float rate = 0, momentum = 0;

  template <class V, class Old, class Keep>
  CORTADO_FN auto operator()(V g, V /*w*/, const Old& old, const Keep& keep) const {
    auto step = rate * g + momentum * old(0);
    keep(0, step);
    return step;
  }
};

/// Nesterov's accelerated gradient: h' = rate g + momentum h, step = (1 + momentum) h' - momentum h.
struct NesterovRule {
  static constexpr const char* label = "nesterov_update";
  static constexpr int histories = 1;
  float rate = 0, momentum = 0;

  template <class V, class Old, class Keep>
  CORTADO_FN auto operator()(V g, V /*w*/, const Old& old, const Keep& keep) const {
    auto before = old(0);
    auto after = rate * g + momentum * before;
    keep(0, after);
    return (1.0f + momentum) * after - momentum * before;
  }
};

/// Duchi et al. 2011: h = h + g^2, step = rate g / (sqrt(h) + delta).
struct AdaGradRule {
  static constexpr const char* label = "adagrad_update";
  static constexpr int histories = 1;
  float rate = 0, delta = 0;

  template <class V, class Old, class Keep>
  CORTADO_FN auto operator()(V g, V /*w*/, const Old& old, const Keep& keep) const {
    auto sum = g * g + old(0);
    keep(0, sum);
    return rate * (g / (math::sqrt(sum) + delta));
  }
};

/// Tieleman and Hinton 2012: h = (1 - decay) g^2 + decay h, step = rate g / (sqrt(h) + delta).
struct RmsPropRule {
  static constexpr const char* label = "rmsprop_update";
  static constexpr int histories = 1;
  float rate = 0, decay = 0, delta = 0;

  template <class V, class Old, class Keep>
  CORTADO_FN auto operator()(V g, V /*w*/, const Old& old, const Keep& keep) const {
    auto mean = (1.0f - decay) * (g * g) + decay * old(0);
    keep(0, mean);
    return rate * (g / (math::sqrt(mean) + delta));
  }
};

/// Zeiler 2012, algorithm 1, with means of squares h0 of gradients and h1 of changes:
///   h0' = (1 - decay) g^2 + decay h0,   d = g sqrt((delta + h1) / (delta + h0')),   h1' = (1 - decay) d^2 + decay h1
/// and step = rate d. Caffe's `momentum` is the decay.
struct AdaDeltaRule {
  static constexpr const char* label = "adadelta_update";
  static constexpr int histories = 2;
  float rate = 0, decay = 0, delta = 0;

  template <class V, class Old, class Keep>
  CORTADO_FN auto operator()(V g, V /*w*/, const Old& old, const Keep& keep) const {
    auto gradients = (1.0f - decay) * (g * g) + decay * old(0);
    auto changes = old(1);
    auto change = g * math::sqrt((delta + changes) / (delta + gradients));
    keep(0, gradients);
    keep(1, (1.0f - decay) * (change * change) + decay * changes);
    return rate * change;
  }
};

/// Kingma and Ba 2015: m = (1 - beta1) g + beta1 m, v = (1 - beta2) g^2 + beta2 v, step = rate m / (sqrt(v) + delta).
/// `rate` includes the correction of the bias, sqrt(1 - beta2^t) / (1 - beta1^t). This is the order of operations that
/// ends their section 2, in which delta is not corrected.
struct AdamRule {
  static constexpr const char* label = "adam_update";
  static constexpr int histories = 2;
  float rate = 0, beta1 = 0, beta2 = 0, delta = 0;

  template <class V, class Old, class Keep>
  CORTADO_FN auto operator()(V g, V /*w*/, const Old& old, const Keep& keep) const {
    auto mean = (1.0f - beta1) * g + beta1 * old(0);
    auto square = (1.0f - beta2) * (g * g) + beta2 * old(1);
    keep(0, mean);
    keep(1, square);
    return rate * (mean / (math::sqrt(square) + delta));
  }
};

/// Loshchilov and Hutter 2019, algorithm 2: m and v as Adam's, and with their biases corrected
///   step = rate m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + delta) + decay w
/// in which `decay` is the rate times the weight decay, which therefore enters neither m nor v.
struct AdamWRule {
  static constexpr const char* label = "adamw_update";
  static constexpr int histories = 2;
  float rate = 0, beta1 = 0, beta2 = 0, delta = 0;
  float root = 1;  ///< 1 / sqrt(1 - beta2^t); `rate` has 1 / (1 - beta1^t)
  float decay = 0;

  template <class V, class Old, class Keep>
  CORTADO_FN auto operator()(V g, V w, const Old& old, const Keep& keep) const {
    auto mean = (1.0f - beta1) * g + beta1 * old(0);
    auto square = (1.0f - beta2) * (g * g) + beta2 * old(1);
    keep(0, mean);
    keep(1, square);
    return rate * (mean / (root * math::sqrt(square) + delta)) + decay * w;
  }
};

/// You et al. 2020, algorithm 2 (LAMB): the direction of AdamW, with a length that the blob's weights give. m and v
/// have taken the gradient already (Moments), since all directions of a blob are known before one is taken.
struct LambRule {
  static constexpr const char* label = "lamb_update";
  static constexpr int histories = 2;
  float rate = 0, beta1 = 0, beta2 = 0, delta = 0;
  float mean = 1, root = 1;  ///< 1 / (1 - beta1^t) and 1 / sqrt(1 - beta2^t)
  float decay = 0;           ///< the weight decay

  /// m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + delta) + decay w
  template <class V>
  CORTADO_FN auto direction(V m, V v, V w) const {
    return mean * m / (root * math::sqrt(v) + delta) + decay * w;
  }
  template <class V, class Old, class Keep>
  CORTADO_FN auto operator()(V /*g*/, V w, const Old& old, const Keep& keep) const {
    auto m = old(0), v = old(1);
    keep(0, m);
    keep(1, v);
    return rate * direction(m, v, w);
  }
};

}  // namespace cortado
