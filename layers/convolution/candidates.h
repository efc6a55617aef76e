#pragma once
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "core/machine/core_group.h"
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
  /// Forward: where packed weights stay, ConvolutionPlan::kept_weights floats; nullptr means nowhere.
  float* kept = nullptr;
  bool are_kept = false;  ///< they lie there since an earlier run
  /// Forward: [partial sum][of outputs, of their squares][oc], ConvolutionPlan::partial_sums of them, to be left while
  /// outputs are made; nullptr means none.
  float* sums = nullptr;
  /// Input gradient of a plan that joins: what dx is added to, `out` or an array like it. The sum counts `slope` times
  /// where x, which is then read, is not positive. nullptr means that dx is made by itself.
  const void* other = nullptr;
  float slope = 1;
  /// Weight gradient of a plan that sets: dw is set.
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
  /// Tells a program's OtherGradient what to join.
  template <class OtherGradient>
  void join_to(OtherGradient& p) const {
    p.values = static_cast<decltype(p.values)>(other), p.x = static_cast<decltype(p.x)>(x), p.slope = slope;
  }
};

/// How a candidate convolves one shape in one direction: its programs with their tiles and bookings. It is made once
/// and run in every iteration.
struct ConvolutionPlan {
  std::string refused;         ///< why the candidate cannot; empty: it can, and what follows holds
  i64 workspace = 0;           ///< floats that `run` wants
  i64 kept_weights = 0;        ///< forward: floats of packed weights that may be kept while the weights stay; 0: none
  i64 partial_sums = 0;        ///< forward: how many partial sums of outputs it can leave; 0: it cannot
  bool joins = false;          ///< input gradient: it can join another one of the same blob
  bool sets = false;           ///< weight gradient: it can set dw as well as add to it
  double estimate = 0;         ///< seconds by the analytic model; 0: there is none
  std::vector<i64> decisions;  ///< the sizes by which variants of a candidate differ
  /// Queues the work.
  std::function<void(CoreGroup&, const ConvolutionArguments&, float* workspace)> run;
};

/// One way to convolve: a row of the table of candidates.
struct ConvolutionCandidate {
  using Planner = std::function<ConvolutionPlan(CoreGroup&, const ConvolutionShape&, ConvolutionDirection)>;
  using Judge = std::function<bool(const MachineSpec&, const ConvolutionShape&, ConvolutionDirection)>;

  std::string name;
  std::string what;             ///< it does, for people
  Planner make;                 ///< called by `plan` alone
  bool takes_blocks = false;    ///< it knows activations in blocks of channels, whatever it refuses else
  Judge pays = {};              ///< whether to take it, where it can run, without having measured; empty: always
  std::string variant_of = {};  ///< the candidate that it is a variant of; empty: none

  /// The plan, which says in `refused` why there is none. A variant that decides what its candidate does is refused.
  ConvolutionPlan plan(CoreGroup& group, const ConvolutionShape& shape, ConvolutionDirection direction) const;
};

/// The table, best first. The first candidate that pays and can run is the default choice. Behind those that are
/// chosen so stand swCaffe's plans as published, to be measured against its tables, and then variants, named
/// CANDIDATE:VARIANT, for tuners.
const std::deque<ConvolutionCandidate>& convolution_candidates();
/// Adds a row at the end, for layers that are shaped afterwards.
void add_convolution_candidate(ConvolutionCandidate candidate);

/// What candidates that know only float in planes answer to other shapes; empty for those.
inline std::string refuse_storage(const ConvolutionShape& shape) {
  if (!shape.in_planes()) return "takes planes, not blocks of channels";
  return shape.precision == Precision::fp32 ? "" : "is for single precision";
}

}  // namespace cortado
