#pragma once
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "core/machine/core_group.h"
#include "layers/channels/channel_map.h"
#include "layers/convolution/shape.h"

namespace cortado {

/// The three products of a convolution layer, in oneDNN's sense of direction.
enum class ConvolutionDirection { forward, weight_gradient, input_gradient };
constexpr ConvolutionDirection convolution_directions[] = {
    ConvolutionDirection::forward, ConvolutionDirection::weight_gradient, ConvolutionDirection::input_gradient};
/// "forward", "weight_gradient" or "input_gradient", the keys of plan books.
const char* to_string(ConvolutionDirection direction);

/// Operands in cluster memory. Weights and their gradients are float; the others have the shape's precision. Forward
/// writes y. The weight gradient adds to dw or sets it. The input gradient writes dx.
struct ConvolutionArguments {
  const void* x = nullptr;   ///< src; the input gradient reads it only if it joins another gradient
  const float* w = nullptr;  ///< weights; the weight gradient does not read them
  const void* dy = nullptr;  ///< diff_dst; forward does not read it
  void* out = nullptr;       ///< y, dw or dx
  /// Forward: memory for packed weights, ConvolutionPlan::kept_weights floats; nullptr means that they are not kept.
  float* kept = nullptr;
  bool are_kept = false;  ///< `kept` holds the packed weights of an earlier run
  /// Forward writes ConvolutionPlan::partial_sums partial sums here, in order [partial sum][2][oc]: of outputs, of
  /// their squares. nullptr means no sums.
  float* sums = nullptr;
  /// Input gradient of a plan that joins: the gradient to which dx is added, `out` itself or an array like it. The sum
  /// counts `slope` times where x is not positive. nullptr means that dx alone is written.
  const void* other = nullptr;
  float slope = 1;
  /// Forward of a plan that maps: y is `map` of the sums. Without a map they are y.
  ChannelMap map = {};
  /// Weight gradient of a plan that sets: true sets dw, false adds to it.
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
  T* out_as() const {
    return static_cast<T*>(out);
  }
  /// Fills a program's map, from channel `first` on.
  void map_by(ChannelMap& to, i64 first = 0) const {
    if (!map.is_there()) return;
    to.scale = map.scale + first, to.bias = map.bias + first, to.channels = map.channels - first,
    to.rectify = map.rectify;
  }
  /// Fills a program's OtherGradient.
  template <class OtherGradient>
  void join_to(OtherGradient& p) const {
    p.values = static_cast<decltype(p.values)>(other), p.x = static_cast<decltype(p.x)>(x), p.slope = slope;
  }
};

/// A candidate's work for one shape in one direction: its programs with their tiles and bookings. A layer makes it once
/// and runs it in every iteration.
struct ConvolutionPlan {
  std::string refused;   ///< why the candidate cannot do it; empty means that it can, and that the other members hold
  i64 workspace = 0;     ///< floats that `run` needs
  i64 kept_weights = 0;  ///< forward: floats of packed weights that may be kept while the weights stay; 0 means none
  i64 partial_sums = 0;  ///< forward: the number of partial sums of outputs that `run` can write; 0 means none
  bool maps = false;     ///< forward: `run` can write a map of its sums
  bool joins = false;    ///< input gradient: `run` can add to another gradient of the same blob
  bool sets = false;     ///< weight gradient: `run` can set dw as well as add to it
  double estimate = 0;   ///< seconds by the analytic model; 0 means that there is no estimate
  std::vector<i64> decisions;  ///< the sizes by which variants of a candidate differ
  /// Queues the work.
  std::function<void(CoreGroup&, const ConvolutionArguments&, float* workspace)> run;
};

/// One way to convolve: a row of the table of candidates.
struct ConvolutionCandidate {
  /// Blocks of channels in which activations may lie: none, those of one group each, or also those that groups share.
  /// For candidates of blocks `of_a_group`, groups that share a block, or few channels, are merged (merged/README.md).
  enum class Blocks { none, of_a_group, of_groups };

  using Planner = std::function<ConvolutionPlan(CoreGroup&, const ConvolutionShape&, ConvolutionDirection)>;
  using Judge = std::function<bool(const MachineSpec&, const ConvolutionShape&, ConvolutionDirection)>;

  std::string name;
  std::string what;              ///< what it does, for people
  Planner make;                  ///< only `plan` calls it
  Blocks blocks = Blocks::none;  ///< blocks that it works on, though it may refuse a shape
  Judge pays = {};               ///< true if it pays to take it without a measurement; empty means always
  std::string variant_of = {};   ///< the candidate of which it is a variant; empty means none

  /// The plan; its `refused` says why there is none. A variant that decides the same sizes as its candidate is refused,
  /// and so are blocks that the candidate does not know.
  ConvolutionPlan plan(CoreGroup& group, const ConvolutionShape& shape, ConvolutionDirection direction) const;
};

/// The table, best first. The first candidate that pays and can run is the default choice. Behind those stand swCaffe's
/// plans as published, to measure them against its tables. Variants, named CANDIDATE:VARIANT, come last, for tuners.
const std::deque<ConvolutionCandidate>& convolution_candidates();
/// Adds a row at the end. Layers that are shaped afterwards see it.
void add_convolution_candidate(ConvolutionCandidate candidate);

/// The refusal of candidates that work only on floats in planes; empty for such shapes.
inline std::string refuse_storage(const ConvolutionShape& shape) {
  if (!shape.in_planes()) return "takes planes, not blocks of channels";
  return shape.precision == Precision::fp32 ? "" : "is for single precision";
}

}  // namespace cortado
