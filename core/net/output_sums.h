#pragma once
#include <string>
#include <vector>

#include "core/net/net.h"

namespace cortado {

/// Sums of a net's outputs over passes, element by element. Outputs whose size changes from pass to pass, such as
/// images of their own sizes, are left out.
class OutputSums {
 public:
  OutputSums() = default;
  /// All ranks must have nets of equal shapes at this moment.
  explicit OutputSums(const Net& net);
  /// Adds the values of the last pass. Waits for the cluster.
  void add(const Net& net);
  /// Adds up all ranks' sums. Collective.
  void merge(const Replicas& replicas);
  void clear() { sums_.clear(); }

  struct Mean {
    std::string name;  ///< of the output
    double value, loss_weight;
  };
  /// The mean of each element over `passes` passes; none before add or merge.
  std::vector<Mean> means(const Net& net, i64 passes) const;
  /// Names of the outputs that were left out.
  std::vector<std::string> left_out(const Net& net) const;

 private:
  void make_room();

  std::vector<i64> counts_;   // by output
  std::vector<double> sums_;  // empty until it is needed; sums of all elements; behind them, by output, the passes in
                              // which it had another size
};

}  // namespace cortado
