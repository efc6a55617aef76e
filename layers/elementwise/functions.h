#pragma once
#include "core/machine/math.h"

/// Functions of one value, as Caffe defines them. Each is plain data: `value` is the function, `slope` its derivative,
/// from the function's value where `from_output` says so and from its argument elsewhere.
namespace cortado::functions {

/// 1 / (1 + e^-x), without overflow on either side.
template <class V>
CORTADO_FN V sigmoid(V x) {
  return 1.0f / (1.0f + math::exp(-x));
}

/// (1 - e) / (1 + e) with e = e^-2|x|; a polynomial near 0, where that would lose digits.
template <class V>
CORTADO_FN V tanh(V x) {
  const V e = math::exp(-2.0f * math::abs(x));
  const V size = (1.0f - e) / (1.0f + e);
  const V q = x * x;
  const V near = x + x * q * (((q * (62.0f / 2835) - 17.0f / 315) * q + 2.0f / 15) * q - 1.0f / 3);
  return math::select(math::abs(x) < 0.25f, near, math::select(x < 0.0f, -size, size));
}

/// log(1 + e^x), without overflow, and without losing what is small beside 1.
template <class V>
CORTADO_FN V softplus(V x) {
  const V e = math::exp(-math::abs(x));
  return math::max(x, V(0.0f)) + math::select(e < 1e-3f, e - 0.5f * e * e, math::log(1.0f + e));
}

struct AbsVal {
  static constexpr const char *label = "absval", *gradient_label = "absval_gradient";
  static constexpr bool from_output = false;
  template <class V>
  CORTADO_FN V value(V x) const {
    return math::abs(x);
  }
  template <class V>
  CORTADO_FN V slope(V x) const {
    return math::select(x > 0.0f, V(1.0f), math::select(x < 0.0f, V(-1.0f), V(0.0f)));
  }
};

/// log(1 + e^x).
struct Bnll {
  static constexpr const char *label = "bnll", *gradient_label = "bnll_gradient";
  static constexpr bool from_output = false;
  template <class V>
  CORTADO_FN V value(V x) const {
    return softplus(x);
  }
  template <class V>
  CORTADO_FN V slope(V x) const {
    return sigmoid(x);
  }
};

/// x within [low, high], the nearer bound outside, where the slope is 0.
struct Clip {
  static constexpr const char *label = "clip", *gradient_label = "clip_gradient";
  static constexpr bool from_output = false;
  float low, high;
  template <class V>
  CORTADO_FN V value(V x) const {
    const V above = math::select(x < low, V(low), x);
    return math::select(above > high, V(high), above);
  }
  template <class V>
  CORTADO_FN V slope(V x) const {
    return math::select(x >= low, math::select(x <= high, V(1.0f), V(0.0f)), V(0.0f));
  }
};

/// x above 0, alpha (e^x - 1) below.
struct Elu {
  static constexpr const char *label = "elu", *gradient_label = "elu_gradient";
  static constexpr bool from_output = false;
  float alpha;
  template <class V>
  CORTADO_FN V value(V x) const {
    return math::select(x > 0.0f, x, alpha * (math::exp(math::select(x > 0.0f, V(0.0f), x)) - 1.0f));
  }
  template <class V>
  CORTADO_FN V slope(V x) const {
    return math::select(x > 0.0f, V(1.0f), alpha * math::exp(math::select(x > 0.0f, V(0.0f), x)));
  }
};

/// outer e^(inner x).
struct Exp {
  static constexpr const char *label = "exp", *gradient_label = "exp_gradient";
  static constexpr bool from_output = true;
  float inner, outer;
  template <class V>
  CORTADO_FN V value(V x) const {
    return outer * math::exp(inner * x);
  }
  template <class V>
  CORTADO_FN V slope(V y) const {
    return inner * y;
  }
};

/// factor log(scale x + shift).
struct Log {
  static constexpr const char *label = "log", *gradient_label = "log_gradient";
  static constexpr bool from_output = false;
  float factor, scale, shift;
  template <class V>
  CORTADO_FN V value(V x) const {
    return factor * math::log(scale * x + shift);
  }
  template <class V>
  CORTADO_FN V slope(V x) const {
    return (factor * scale) / (scale * x + shift);
  }
};

/// scale x + shift.
struct Affine {
  static constexpr const char *label = "affine", *gradient_label = "affine_gradient";
  static constexpr bool from_output = true;
  float scale, shift;
  template <class V>
  CORTADO_FN V value(V x) const {
    return scale * x + shift;
  }
  template <class V>
  CORTADO_FN V slope(V /*y*/) const {
    return V(scale);
  }
};

/// (scale x + shift)^2.
struct Square {
  static constexpr const char *label = "square", *gradient_label = "square_gradient";
  static constexpr bool from_output = false;
  float scale, shift;
  template <class V>
  CORTADO_FN V value(V x) const {
    const V v = scale * x + shift;
    return v * v;
  }
  template <class V>
  CORTADO_FN V slope(V x) const {
    return (2.0f * scale) * (scale * x + shift);
  }
};

/// (scale x + shift)^power.
struct Power {
  static constexpr const char *label = "power", *gradient_label = "power_gradient";
  static constexpr bool from_output = false;
  float power, scale, shift;
  template <class V>
  CORTADO_FN V value(V x) const {
    return math::pow(scale * x + shift, power);
  }
  template <class V>
  CORTADO_FN V slope(V x) const {
    return (power * scale) * math::pow(scale * x + shift, power - 1.0f);
  }
};

struct Sigmoid {
  static constexpr const char *label = "sigmoid", *gradient_label = "sigmoid_gradient";
  static constexpr bool from_output = true;
  template <class V>
  CORTADO_FN V value(V x) const {
    return sigmoid(x);
  }
  template <class V>
  CORTADO_FN V slope(V y) const {
    return y * (1.0f - y);
  }
};

/// x sigmoid(beta x).
struct Swish {
  static constexpr const char *label = "swish", *gradient_label = "swish_gradient";
  static constexpr bool from_output = false;
  float beta;
  template <class V>
  CORTADO_FN V value(V x) const {
    return x * sigmoid(beta * x);
  }
  template <class V>
  CORTADO_FN V slope(V x) const {
    const V s = sigmoid(beta * x), t = beta * x * s;
    return t + s * (1.0f - t);
  }
};

struct Tanh {
  static constexpr const char *label = "tanh", *gradient_label = "tanh_gradient";
  static constexpr bool from_output = true;
  template <class V>
  CORTADO_FN V value(V x) const {
    return tanh(x);
  }
  template <class V>
  CORTADO_FN V slope(V y) const {
    return 1.0f - y * y;
  }
};

/// 1 above `limit`, 0 elsewhere.
struct Threshold {
  static constexpr const char *label = "threshold", *gradient_label = "threshold_gradient";
  static constexpr bool from_output = true;
  float limit;
  template <class V>
  CORTADO_FN V value(V x) const {
    return math::select(x > limit, V(1.0f), V(0.0f));
  }
  template <class V>
  CORTADO_FN V slope(V /*y*/) const {
    return V(0.0f);
  }
};

}  // namespace cortado::functions
