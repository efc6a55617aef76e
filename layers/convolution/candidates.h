#pragma once
#include <memory>
#include <string>
#include <vector>

#include "core/machine/core_group.h"
#include "layers/channels/block_programs.h"
#include "layers/convolution/set_or_add.h"
#include "layers/convolution/shape.h"

namespace cortado {

/// The three products of a convolution layer, in oneDNN's sense of direction.
enum class ConvolutionDirection { forward, weight_gradient, input_gradient };
constexpr ConvolutionDirection convolution_directions[] = {
    ConvolutionDirection::forward, ConvolutionDirection::weight_gradient, ConvolutionDirection::input_gradient};
/// "forward", "weight_gradient", "input_gradient": as plan books name them.
const char* to_string(ConvolutionDirection direction);

/// Operands in cluster memory, of the shape's precision but for weights and their gradients, which are float. forward
/// writes y; the weight gradient adds to dw or sets it; the input gradient writes dx.
struct ConvolutionArguments {
  const void* x = nullptr;   ///< src; not read by the input gradient, unless it joins another one
  const float* w = nullptr;  ///< weights; not read by the weight gradient
  const void* dy = nullptr;  ///< diff_dst; not read by forward
  void* out = nullptr;       ///< y, dw or dx
  /// Forward: where packed weights stay, `kept_weights` floats; null: nowhere.
  float* kept = nullptr;
  bool are_kept = false;  ///< they lie there since an earlier run
  /// Forward: [part][of outputs, of their squares][oc] to leave sums in, `sum_parts` parts; null: they are not wanted.
  float* sums = nullptr;
  /// Input gradient, of candidates that join another one (joins): what dx is to be added to, `out` or an array like it,
  /// where the sum counts `slope` times if x is not positive, which is then read; null: dx is made by itself.
  const void* other = nullptr;
  float slope = 1;
  /// Weight gradient, of candidates that can (sets_weights): dw is set.
  bool sets = false;

  template <class T>
  const T* x_as() const {
    return static_cast<const T*>(x);
  }
  template <class T>
  const T* dy_as() const {
    return static_cast<const T*>(dy);
  }
  template <class T>
  OtherGradient<T> other_as() const {
    return {static_cast<const T*>(other), x_as<T>(), slope, {}, {}};
  }
  template <class T>
  T* out_as() const {
    return static_cast<T*>(out);
  }
};

/// Lines for joining another gradient in runs of up to `pixels` pixels.
template <class T>
void book(OtherGradient<T>& p, i64 pixels, PlanBuilder& builder) {
  p.values_buf = builder.line("other gradient", 4 * pixels * block_channels, Depth::two);
  p.x_buf = builder.line("what was rectified", 4 * pixels * block_channels, Depth::two);
}

/// For lines of up to `weights` weights.
inline void book(SetOrAdd& p, i64 weights, PlanBuilder& builder) {
  p.set_buf = builder.tile("gradients of weights", 4 * weights, 1);
  p.add_buf = builder.line("gradients of weights", 4 * weights, 1);
}

/// One way to convolve. Stateless but for its name; accepts a shape or says why not.
class ConvolutionCandidate {
 public:
  virtual ~ConvolutionCandidate() = default;
  virtual std::string name() const = 0;
  /// Empty if this candidate can run the shape on the group; else the reason.
  virtual std::string refuse(CoreGroup& group, const ConvolutionShape& shape, ConvolutionDirection direction) const = 0;
  /// Whether to take it, where it can run, without having measured.
  virtual bool pays(const MachineSpec& /*spec*/, const ConvolutionShape& /*shape*/,
                    ConvolutionDirection /*direction*/) const {
    return true;
  }
  /// Whether it knows activations in blocks of channels, whatever it refuses else.
  virtual bool takes_blocks() const { return false; }
  /// Floats of workspace that `run` wants.
  virtual i64 workspace(CoreGroup& group, const ConvolutionShape& shape, ConvolutionDirection direction) const = 0;
  /// Floats of weights as forward packs them, which may be kept where the weights stay the same; 0: it does not pack.
  virtual i64 kept_weights(CoreGroup& /*group*/, const ConvolutionShape& /*shape*/) const { return 0; }
  /// How many parts of the outputs forward can leave sums of while it makes them; 0: it cannot.
  virtual i64 sum_parts(CoreGroup& /*group*/, const ConvolutionShape& /*shape*/) const { return 0; }
  /// Whether the input gradient, which it takes, can join another one of the same blob (ConvolutionArguments::other).
  virtual bool joins(CoreGroup& /*group*/, const ConvolutionShape& /*shape*/) const { return false; }
  /// Whether the weight gradient, which it takes, can set dw as well as add to it (ConvolutionArguments::sets).
  virtual bool sets_weights(const ConvolutionShape& /*shape*/) const { return false; }
  /// Seconds by the analytic model, 0 where there is none; only for accepted shapes.
  virtual double estimate(CoreGroup& /*group*/, const ConvolutionShape& /*shape*/,
                          ConvolutionDirection /*direction*/) const {
    return 0;
  }
  /// Queues the work. Only for accepted shapes.
  virtual void run(CoreGroup& group, const ConvolutionShape& shape, ConvolutionDirection direction,
                   const ConvolutionArguments& arguments, float* workspace) const = 0;
};

/// All candidates, best first: winograd (3 x 3 to 5 x 5 kernels with fewer products), strassen (kernels of one pixel
/// with fewer products), direct (tile program, vectors along output channels), winograd_2x2 (3 x 3; saves fewer
/// products, but rounds as plain sums do), explicit (im2col and the library's product), explicit_tile (im2col and the
/// tile program), implicit (tile program without columns, vectors along pixels); then swCaffe's plans as published,
/// explicit_paper and implicit_paper, to be measured against its tables; then variants, named PLAN:VARIANT, of direct
/// and winograd with other tile sizes or another split over cores, for tuners. The first that accepts and pays is the
/// default choice.
const std::vector<std::unique_ptr<ConvolutionCandidate>>& convolution_candidates();

/// What candidates that know only float in planes answer to other shapes; empty for those.
inline std::string refuse_storage(const ConvolutionShape& shape) {
  if (!shape.in_planes()) return "takes planes, not blocks of channels";
  return shape.precision == Precision::fp32 ? "" : "is for single precision";
}

/// The plan itself first, then its variants.
std::vector<std::unique_ptr<ConvolutionCandidate>> make_direct_convolutions();
std::vector<std::unique_ptr<ConvolutionCandidate>> make_winograd_convolutions();
std::unique_ptr<ConvolutionCandidate> make_strassen_convolution();
std::unique_ptr<ConvolutionCandidate> make_small_winograd_convolution();
std::unique_ptr<ConvolutionCandidate> make_explicit_convolution();
std::unique_ptr<ConvolutionCandidate> make_explicit_tile_convolution();
std::unique_ptr<ConvolutionCandidate> make_implicit_convolution();
std::unique_ptr<ConvolutionCandidate> make_published_explicit_convolution();
std::unique_ptr<ConvolutionCandidate> make_published_implicit_convolution();

}  // namespace cortado
