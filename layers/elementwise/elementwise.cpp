#include "layers/elementwise/elementwise.h"

#include <cmath>

#include "core/base/error.h"
#include "core/formats/caffe.pb.h"
#include "layers/elementwise/map.h"

namespace cortado {
namespace ew = functions;

/// Functions without a choice, made from nothing.
#define CORTADO_PLAIN_FUNCTION(NAME, FUNCTION)                       \
  struct NAME {                                                      \
    static constexpr bool has_gradient = true;                       \
    template <class Use>                                             \
    static void with(const caffe::LayerParameter&, const Use& use) { \
      use(ew::FUNCTION{});                                           \
    }                                                                \
  }
CORTADO_PLAIN_FUNCTION(AbsValFunctions, AbsVal);
CORTADO_PLAIN_FUNCTION(BnllFunctions, Bnll);
CORTADO_PLAIN_FUNCTION(SigmoidFunctions, Sigmoid);
CORTADO_PLAIN_FUNCTION(TanhFunctions, Tanh);
#undef CORTADO_PLAIN_FUNCTION

struct ClipFunctions {
  static constexpr bool has_gradient = true;
  template <class Use>
  static void with(const caffe::LayerParameter& layer, const Use& use) {
    const auto& p = layer.clip_param();
    if (p.max() < p.min()) throw ConfigError("layer '" + layer.name() + "'", "clip_param has a max below its min");
    use(ew::Clip{p.min(), p.max()});
  }
};

struct EluFunctions {
  static constexpr bool has_gradient = true;
  template <class Use>
  static void with(const caffe::LayerParameter& layer, const Use& use) {
    use(ew::Elu{layer.elu_param().alpha()});
  }
};

/// log(base) of Exp and Log, whose base -1 means e.
static double log_of_base(const caffe::LayerParameter& layer, float base) {
  if (base == -1) return 1;
  if (!(base > 0))
    throw ConfigError("layer '" + layer.name() + "'", "base must be positive, it is " + std::to_string(base),
                      "or -1, which means e");
  return std::log(double{base});
}

struct ExpFunctions {
  static constexpr bool has_gradient = true;
  template <class Use>
  static void with(const caffe::LayerParameter& layer, const Use& use) {
    const auto& p = layer.exp_param();
    const double log_base = log_of_base(layer, p.base());
    use(ew::Exp{static_cast<float>(log_base * double{p.scale()}),
                static_cast<float>(std::exp(log_base * double{p.shift()}))});
  }
};

struct LogFunctions {
  static constexpr bool has_gradient = true;
  template <class Use>
  static void with(const caffe::LayerParameter& layer, const Use& use) {
    const auto& p = layer.log_param();
    const double log_base = log_of_base(layer, p.base());
    if (log_base == 0) throw ConfigError("layer '" + layer.name() + "'", "logarithms to base 1 do not exist");
    use(ew::Log{static_cast<float>(1 / log_base), p.scale(), p.shift()});
  }
};

struct PowerFunctions {
  static constexpr bool has_gradient = true;
  template <class Use>
  static void with(const caffe::LayerParameter& layer, const Use& use) {
    const auto& p = layer.power_param();
    const float scale = p.scale(), shift = p.shift(), power = p.power();
    if (power == 0 || scale == 0)  // a constant, whose slope is 0 everywhere
      use(ew::Affine{0, power == 0 ? 1 : std::pow(shift, power)});
    else if (power == 1)
      use(ew::Affine{scale, shift});
    else if (power == 2)
      use(ew::Square{scale, shift});
    else
      use(ew::Power{power, scale, shift});
  }
};

struct Relu6Functions {
  static constexpr bool has_gradient = true;
  template <class Use>
  static void with(const caffe::LayerParameter&, const Use& use) {
    use(ew::Clip{0, 6});
  }
};

struct SwishFunctions {
  static constexpr bool has_gradient = true;
  template <class Use>
  static void with(const caffe::LayerParameter& layer, const Use& use) {
    use(ew::Swish{layer.swish_param().beta()});
  }
};

struct ThresholdFunctions {
  static constexpr bool has_gradient = false;
  template <class Use>
  static void with(const caffe::LayerParameter& layer, const Use& use) {
    use(ew::Threshold{layer.threshold_param().threshold()});
  }
};

template <class Functions>
bool ElementwiseLayer<Functions>::allows_backward_to(std::size_t /*i*/) const {
  return Functions::has_gradient;
}

template <class Functions>
void ElementwiseLayer<Functions>::setup(const Blobs&, const Blobs&) {
  Functions::with(parameter(), [&](auto) {});
  input_ = std::make_unique<Blob>(group());
}

template <class Functions>
void ElementwiseLayer<Functions>::reshape(const Blobs& bottom, const Blobs& top) {
  top[0]->reshape_like(*bottom[0]);
  if (bottom[0] == top[0]) input_->reshape_like(*bottom[0]);
}

template <class Functions>
void ElementwiseLayer<Functions>::forward(const Blobs& bottom, const Blobs& top) {
  Functions::with(parameter(), [&](auto f) {
    using F = decltype(f);
    const float* const x = bottom[0]->data();
    if (bottom[0] == top[0] && !F::from_output)
      group().copy(input_->mutable_data(), x, static_cast<std::size_t>(bottom[0]->bytes()));
    map(group(), f, x, top[0]->mutable_data(), bottom[0]->count());
  });
}

template <class Functions>
void ElementwiseLayer<Functions>::backward(const Blobs& top, const std::vector<bool>& propagate_down,
                                           const Blobs& bottom) {
  if (!propagate_down[0]) return;
  Functions::with(parameter(), [&](auto f) {
    using F = decltype(f);
    const Blob& input = bottom[0] == top[0] ? *input_ : *bottom[0];
    map_gradient(group(), f, F::from_output ? top[0]->data() : input.data(), top[0]->diff(), bottom[0]->mutable_diff(),
                 bottom[0]->count());
  });
}

template <class Functions>
Layer::Cost ElementwiseLayer<Functions>::cost(const Blobs& bottom, const Blobs&) const {
  const auto n = static_cast<double>(bottom[0]->count());
  return {n, 2 * n, 8 * n, 12 * n};
}

template class ElementwiseLayer<AbsValFunctions>;
template class ElementwiseLayer<BnllFunctions>;
template class ElementwiseLayer<ClipFunctions>;
template class ElementwiseLayer<EluFunctions>;
template class ElementwiseLayer<ExpFunctions>;
template class ElementwiseLayer<LogFunctions>;
template class ElementwiseLayer<PowerFunctions>;
template class ElementwiseLayer<Relu6Functions>;
template class ElementwiseLayer<SigmoidFunctions>;
template class ElementwiseLayer<SwishFunctions>;
template class ElementwiseLayer<TanhFunctions>;
template class ElementwiseLayer<ThresholdFunctions>;

}  // namespace cortado
