#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/net/net.h"
#include "core/solver/solver_type.h"

namespace caffe {
class SolverParameter;
class SolverState;
}  // namespace caffe

namespace cortado {

/// What makes gradients their mean over replicas.
struct GradientScale {
  float arena = 1;  ///< of those in the net's arena
  float parts = 1;  ///< of parts', which hold the sum over all ranks' samples

  GradientScale scaled(float by, float over) const { return {arena * by / over, parts * by / over}; }
  float of(const Net::Learnable& learnable) const { return learnable.division != nullptr ? parts : arena; }
};

/// Turns a net's gradients into new weights on the cluster, by the rule of the parameter's solver type, and keeps that
/// type's histories (momentum and the like): one or two values per learnable value.
class Optimizer {
 public:
  /// Borrows all three. Histories begin with zeros. Throws ConfigError for a solver type that does not exist.
  Optimizer(const caffe::SolverParameter& parameter, Net& net, CoreGroup& group);

  /// What one update does to all learnable values.
  struct Step {
    i64 iteration = 0;
    GradientScale scale;
    float rate = 0;
    std::vector<float> local_rates;  ///< by learnable
  };
  /// Clipping, division by iter_size (in this order in Caffe) and local rates are found out here. Collective. Logs the
  /// rate.
  Step begin(i64 iteration, const GradientScale& scale);
  /// Whether `begin` looks at gradients: then all have to be there.
  bool looks_at_all_gradients() const;
  /// Decay and the rule; waits for nothing. Running statistics are left alone.
  void update(const Step& step, std::size_t learnable);

  /// All histories, each laid out as the net's arenas; those of parts lie elsewhere.
  const std::shared_ptr<Storage>& history() const { return history_; }

  /// As Caffe stores it: the first history of every learnable blob, in the net's order, then every blob's second.
  /// Waits.
  void write_history(caffe::SolverState& state) const;
  /// Throws FileError naming `file` when the number of blobs or a shape is not that of the net and solver type.
  void read_history(const caffe::SolverState& state, const std::string& file);
  /// As Net::spread_parts and Net::collect_parts, of the histories that rank 0 read or writes.
  void spread_parts(const caffe::SolverState& state);
  void collect_parts(caffe::SolverState& state) const;

 private:
  void log_rate(i64 iteration, float rate) const;
  /// Factor that brings the L2 norm of `scale` times all ranks' gradients down to clip_gradients, 1 if it is below.
  float clip(const GradientScale& scale) const;
  /// What LARS multiplies each learnable blob's rate with (You et al. 2017, equation 6):
  ///   trust_coefficient |w| / (|g| + decay |w|), with g the gradients times `scale`
  /// 1 for a blob of zeros, which could never leave them, for statistics, and for other solver types. Norms are those
  /// of whole blobs.
  std::vector<float> local_rates(const GradientScale& scale) const;
  float decay_of(const Net::Learnable& learnable) const;
  BlobUpdate update_of(std::size_t learnable) const;
  /// The k-th history of a learnable.
  std::shared_ptr<Storage> history(std::size_t learnable, int k) const;
  /// Calls visit(learnable, its history) in Caffe's order.
  template <class Visit>
  void for_each_history(Visit visit) const;

  const caffe::SolverParameter& parameter_;
  const SolverType& type_;
  Net& net_;
  CoreGroup& group_;
  i64 pitch_;  ///< from one history of a value to the next
  std::shared_ptr<Storage> history_;
  std::map<std::size_t, std::shared_ptr<Storage>> part_histories_;  ///< by learnable; one after another
};

}  // namespace cortado
