#include <cmath>
#include <optional>

#include "core/base/error.h"
#include "core/formats/caffe.pb.h"
#include "core/net/layer_table.h"
#include "layers/elementwise/map.h"

namespace cortado {
namespace {
namespace ew = functions;

/// The functions that are no rectifiers.
struct NoRectifier {
  static std::optional<Rectify> rectifier(const caffe::LayerParameter& /*layer*/) { return {}; }
};

/// Functions without a choice, made from nothing.
#define CORTADO_PLAIN_FUNCTION(NAME, FUNCTION)                       \
  struct NAME : NoRectifier {                                        \
    static constexpr bool has_gradient = true;                       \
    template <class Use>                                             \
    static void with(const caffe::LayerParameter&, const Use& use) { \
      use(ew::FUNCTION{});                                           \
    }                                                                \
  }
CORTADO_PLAIN_FUNCTION(AbsValFunctions, AbsVal);    // |x|
CORTADO_PLAIN_FUNCTION(BnllFunctions, Bnll);        // log(1 + e^x)
CORTADO_PLAIN_FUNCTION(SigmoidFunctions, Sigmoid);  // 1 / (1 + e^-x)
CORTADO_PLAIN_FUNCTION(TanhFunctions, Tanh);        // hyperbolic tangent
#undef CORTADO_PLAIN_FUNCTION

/// x cut to [min, max].
struct ClipFunctions {
  static constexpr bool has_gradient = true;
  static std::optional<Rectify> rectifier(const caffe::LayerParameter& layer) {
    const auto& p = layer.clip_param();
    if (p.min() != 0 || p.max() <= 0) return {};
    return Rectify{0, p.max(), Rectify::zero_passes};
  }
  template <class Use>
  static void with(const caffe::LayerParameter& layer, const Use& use) {
    const auto& p = layer.clip_param();
    if (p.max() < p.min()) throw ConfigError("layer '" + layer.name() + "'", "clip_param has a max below its min");
    use(ew::Clip{p.min(), p.max()});
  }
};

/// x above 0, alpha (e^x - 1) below.
struct EluFunctions : NoRectifier {
  static constexpr bool has_gradient = true;
  template <class Use>
  static void with(const caffe::LayerParameter& layer, const Use& use) {
    use(ew::Elu{layer.elu_param().alpha()});
  }
};

/// log(base) of Exp and Log, whose base -1 means e.
double log_of_base(const caffe::LayerParameter& layer, float base) {
  if (base == -1) return 1;
  if (!(base > 0))
    throw ConfigError("layer '" + layer.name() + "'", "base must be positive, it is " + std::to_string(base),
                      "or -1, which means e");
  return std::log(double{base});
}

/// base^(scale x + shift); base -1 means e.
struct ExpFunctions : NoRectifier {
  static constexpr bool has_gradient = true;
  template <class Use>
  static void with(const caffe::LayerParameter& layer, const Use& use) {
    const auto& p = layer.exp_param();
    const double log_base = log_of_base(layer, p.base());
    use(ew::Exp{static_cast<float>(log_base * double{p.scale()}),
                static_cast<float>(std::exp(log_base * double{p.shift()}))});
  }
};

/// log_base(scale x + shift); base -1 means e.
struct LogFunctions : NoRectifier {
  static constexpr bool has_gradient = true;
  template <class Use>
  static void with(const caffe::LayerParameter& layer, const Use& use) {
    const auto& p = layer.log_param();
    const double log_base = log_of_base(layer, p.base());
    if (log_base == 0) throw ConfigError("layer '" + layer.name() + "'", "logarithms to base 1 do not exist");
    use(ew::Log{static_cast<float>(1 / log_base), p.scale(), p.shift()});
  }
};

/// (scale x + shift)^power.
struct PowerFunctions : NoRectifier {
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

/// x cut to [0, 6].
struct Relu6Functions {
  static constexpr bool has_gradient = true;
  static std::optional<Rectify> rectifier(const caffe::LayerParameter& /*layer*/) {
    return Rectify{0, 6, Rectify::zero_passes};
  }
  template <class Use>
  static void with(const caffe::LayerParameter&, const Use& use) {
    use(ew::Clip{0, 6});
  }
};

/// x / (1 + e^(-beta x)).
struct SwishFunctions : NoRectifier {
  static constexpr bool has_gradient = true;
  template <class Use>
  static void with(const caffe::LayerParameter& layer, const Use& use) {
    use(ew::Swish{layer.swish_param().beta()});
  }
};

/// 1 above the threshold, 0 elsewhere; has no gradient.
struct ThresholdFunctions : NoRectifier {
  static constexpr bool has_gradient = false;
  template <class Use>
  static void with(const caffe::LayerParameter& layer, const Use& use) {
    use(ew::Threshold{layer.threshold_param().threshold()});
  }
};

/// Caffe's layers that apply a function of one value to every element. They may run in place; if the gradient needs the
/// input, they then keep a copy. `Functions::with(layer's parameter, use)` calls `use` with the function (functions.h),
/// and throws ConfigError for impossible parameters.
template <class Functions>
class ElementwiseLayer : public Layer {
 public:
  using Layer::Layer;
  static bool keeps_bf16(const caffe::LayerParameter& /*parameter*/) { return true; }
  bool can_run_in_place() const override { return true; }
  bool keeps_blocks(const Blobs& /*bottom*/) const override { return true; }
  bool allows_backward_to(std::size_t /*i*/) const override { return Functions::has_gradient; }

  void setup(const Blobs&, const Blobs&) override {
    Functions::with(parameter(), [&](auto) {});
    input_ = std::make_unique<Blob>(group());
  }

  void reshape(const Blobs& bottom, const Blobs& top) override {
    top[0]->reshape_like(*bottom[0]);
    if (bottom[0] == top[0]) input_->reshape_like(*bottom[0]);
  }

  void forward(const Blobs& bottom, const Blobs& top) override {
    with_function(*bottom[0], [&](auto f, auto element) {
      using F = decltype(f);
      using T = decltype(element);
      const T* const x = bottom[0]->data<T>();
      if (bottom[0] == top[0] && !F::from_output)
        group().copy(input_->mutable_data<T>(), x, static_cast<std::size_t>(bottom[0]->bytes()));
      map(group(), f, x, top[0]->mutable_data<T>(), bottom[0]->count());
    });
  }

  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override {
    if (!propagate_down[0]) return;
    with_function(*bottom[0], [&](auto f, auto element) {
      using F = decltype(f);
      using T = decltype(element);
      const Blob& input = bottom[0] == top[0] ? *input_ : *bottom[0];
      map_gradient(group(), f, F::from_output ? top[0]->data<T>() : input.data<T>(), top[0]->diff<T>(),
                   bottom[0]->mutable_diff<T>(), bottom[0]->count());
    });
  }

  Cost cost(const Blobs& bottom, const Blobs&) const override {
    const auto n = static_cast<double>(bottom[0]->count());
    return {n, 2 * n, 8 * n, 12 * n};
  }

  Traits traits() override {
    Traits traits;
    traits.rectifier = Functions::rectifier(parameter());
    return traits;
  }

 private:
  /// Calls use(the function, an element of the blob's precision).
  template <class Use>
  void with_function(const Blob& blob, const Use& use) const {
    Functions::with(parameter(),
                    [&](auto f) { with_element(blob.precision(), [&](auto element) { use(f, element); }); });
  }

  std::unique_ptr<Blob> input_;  // of a run in place, where the gradient needs it
};

}  // namespace

void add_elementwise(LayerTable& table) {
  table.add<ElementwiseLayer<AbsValFunctions>>("AbsVal");
  table.add<ElementwiseLayer<BnllFunctions>>("BNLL");
  table.add<ElementwiseLayer<ClipFunctions>>("Clip");
  table.add<ElementwiseLayer<EluFunctions>>("ELU");
  table.add<ElementwiseLayer<ExpFunctions>>("Exp");
  table.add<ElementwiseLayer<LogFunctions>>("Log");
  table.add<ElementwiseLayer<PowerFunctions>>("Power");
  table.add<ElementwiseLayer<Relu6Functions>>("ReLU6");
  table.add<ElementwiseLayer<SigmoidFunctions>>("Sigmoid");
  table.add<ElementwiseLayer<SwishFunctions>>("Swish");
  table.add<ElementwiseLayer<TanhFunctions>>("TanH");
  table.add<ElementwiseLayer<ThresholdFunctions>>("Threshold");
}

}  // namespace cortado
