#pragma once
#include <memory>
#include <vector>

#include "app/measure/memory_need.h"

namespace cortado {

/// Dry runs that tell shapes and the memory need of a net with a batch of any size. Planning takes time in proportion
/// to the batch. So a batch above most_planned is run at two smaller ones, and what grows with it is continued in a
/// straight line. A net that cannot be built at these is run as it is.
class DryRuns {
 public:
  static constexpr i64 most_planned = 2048;

  DryRuns(Session& session, const caffe::SolverParameter& parameter, const TuningTable& tuning);
  DryRuns(Session& session, const caffe::NetParameter& parameter, const NetOptions& options, const TuningTable& tuning);

  /// The net, of a batch of planned() where that is not 0.
  const Net& net() const { return run_->net(); }
  i64 planned() const { return smaller_ != nullptr ? batch_ : 0; }
  MemoryNeed need() const;
  /// The shapes of a layer's blobs, by the layer's place in net().layers().
  std::vector<Shape> bottoms(std::size_t layer) const;
  std::vector<Shape> tops(std::size_t layer) const;

 private:
  template <class Build>
  void run_at_smaller(i64 largest, const Build& build);
  i64 continued(i64 value, i64 smaller) const;
  std::vector<Shape> shapes(const Layer::Blobs& blobs, const Layer::Blobs& smaller) const;

  std::unique_ptr<DryRun> run_, smaller_;  // smaller_: nullptr if run_ has the whole batch
  i64 largest_ = 0, batch_ = 0, smaller_batch_ = 0;
};

}  // namespace cortado
