#pragma once
#include <vector>

#include "comm/exchange/coded_sum.h"
#include "core/solver/gradient_exchange.h"

namespace cortado {

/// Gradients sent as codes, all at once after backward (CodedSum). Codecs with state keep the errors of gradients and
/// of sums for the next iteration.
class CodedAllreduce : public GradientExchange {
 public:
  using Way = CodedSum::Way;
  /// Borrows all. Throws ConfigError for a codec of weights.
  CodedAllreduce(JobTeam& job, CoreGroup& group, const Codec& codec, Way way)
      : group_(group), sum_(job, group, codec, way), ranks_(job.topology().ranks()) {}
  /// Afterwards the arena holds the sum of decoded values. Returns 1 / ranks.
  float finish(Net& net) override;
  std::vector<float> residuals() const override { return left_out_.read(group_); }
  bool restore_residuals(Net& net, const std::vector<float>& values) override;

 private:
  void make_memory(i64 values);

  CoreGroup& group_;
  CodedSum sum_;
  const int ranks_;
  i64 values_ = 0;
  LeftOut left_out_;
};

}  // namespace cortado
