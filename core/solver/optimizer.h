#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/net/net.h"
#include "core/solver/solver_type.h"

namespace caffe {
class SolverParameter;
class SolverState;
}  // namespace caffe

namespace cortado {

/// The factors that make gradients their mean over replicas.
struct GradientScale {
  float arena = 1;   ///< for gradients in the net's arena
  float shards = 1;  ///< for gradients of shards, which are the sum over all ranks' samples

  GradientScale scaled(float by, float over) const { return {arena * by / over, shards * by / over}; }
  float of(const Net::Learnable& learnable) const { return learnable.division != nullptr ? shards : arena; }
};

/// Turns a net's gradients into new weights on the cluster, by the rule of the solver type. It keeps the type's
/// histories (momentum and the like): one or two values per learnable value.
class Optimizer {
 public:
  /// Borrows all three. It updates, and keeps histories of, the part `own` of the arenas, as
  /// GradientExchange::own_part says, and shards. Histories begin with zeros. Throws ConfigError for a solver type that
  /// does not exist, and for parameters that look at all gradients where there are parts.
  Optimizer(const caffe::SolverParameter& parameter, Net& net, CoreGroup& group,
            const std::optional<Net::Range>& own = std::nullopt);

  /// The parameters of one update of all learnable values.
  struct Step {
    i64 iteration = 0;
    GradientScale scale;
    float rate = 0;
    std::vector<float> local_rates;  ///< by learnable
  };
  /// Prepares an update: clipping, division by iter_size (in Caffe's order) and local rates. Logs the rate. It comes
  /// once an update, since LAMB's histories change here. Collective.
  Step begin(i64 iteration, const GradientScale& scale);
  /// True if `begin` reads gradients; all of them must be there then.
  bool looks_at_all_gradients() const;
  /// Applies decay and the rule to one learnable. It does not wait, and it leaves running statistics alone.
  void update(const Step& step, std::size_t learnable);

  /// All histories. Each is laid out as the own part of the net's arenas; histories of shards lie elsewhere.
  const std::shared_ptr<Storage>& history() const { return history_; }
  /// True if each rank has a part of them.
  bool has_parts() const { return has_parts_; }
  /// The number of all parts' values.
  i64 values_of_all_parts() const { return type_.histories * net_.parameter_arena()->count; }

  /// Writes histories in Caffe's order: the first of every learnable blob, in the net's order, then every blob's
  /// second. Waits for the cluster.
  void write_history(caffe::SolverState& state) const;
  /// Reads histories. Throws FileError naming `file` when the number of blobs or a shape differs from the net's and the
  /// solver type's.
  void read_history(const caffe::SolverState& state, const std::string& file);
  /// Spread and collect histories that ranks share, of shards as Net::spread_shards and Net::collect_shards do weights,
  /// and of parts. Rank 0 reads and writes the file. Collective.
  void spread_history(const caffe::SolverState& state);
  void collect_history(caffe::SolverState& state) const;

 private:
  void log_rate(i64 iteration, float rate) const;
  /// The factor that brings the L2 norm of `scale` times all ranks' gradients down to clip_gradients; 1 if it is below.
  float clip(const GradientScale& scale) const;
  /// LARS's factor for each learnable blob's rate (You et al. 2017, equation 6):
  ///   trust_coefficient |w| / (|g| + decay |w|), with g the gradients times `scale`
  /// LAMB's is |w| / |r|, with r the rule's direction (You et al. 2020, algorithm 2), whose histories take the
  /// gradients here. It is 1 for blobs of zeros, which could never leave zero, for statistics, and for other solver
  /// types. Norms are those of whole blobs.
  std::vector<float> local_rates(const Step& step) const;
  std::vector<double> squares_of_directions(const Step& step) const;
  float decay_of(const Net::Learnable& learnable) const;
  /// The update of what this rank has of it, without the local rate.
  BlobUpdate update_of(const Step& step, std::size_t learnable) const;
  /// The values of a learnable that this rank updates: a range of the blob.
  Net::Range own_values(std::size_t learnable) const;
  /// Their k-th history.
  std::shared_ptr<Storage> history(std::size_t learnable, int k) const;
  std::vector<float> on_host(const Storage& history) const;
  void to_cluster(const float* values, const Storage& history) const;
  /// True if several ranks have values of its histories.
  bool is_shared(std::size_t learnable) const;
  /// Calls visit(learnable, its history) in Caffe's order.
  template <class Visit>
  void for_each_history(Visit visit) const;

  const caffe::SolverParameter& parameter_;
  const SolverType& type_;
  Net& net_;
  CoreGroup& group_;
  const bool has_parts_;
  const Net::Range own_;  ///< of the arenas
  i64 pitch_;             ///< floats from a value's first history to its second
  std::shared_ptr<Storage> history_;
  std::map<std::size_t, std::shared_ptr<Storage>> shard_histories_;  ///< by learnable, one history after another
};

}  // namespace cortado
