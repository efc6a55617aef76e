#pragma once
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/base/timeline.h"
#include "core/formats/weight_files.h"
#include "core/net/net.h"
#include "core/solver/gradient_exchange.h"
#include "core/solver/training_record.h"
#include "core/tuner/tuning_table.h"

namespace caffe {
class SolverParameter;
}

namespace cortado {

class SharedAddition;

/// The request of a signal, which is met between two iterations (Caffe's SolverAction).
enum class SolverAction { none, stop, snapshot };

/// A solver's services, and how it trains. Everything is borrowed and must outlive it.
struct SolverOptions : Services {
  const Hdf5Files* hdf5 = nullptr;       ///< nullptr means neither weights nor states in HDF5
  Feed feed = Feed::direct;              ///< of the training net
  i64 core_groups = 1;                   ///< of the process, among which its training batch is divided
  GradientExchange* exchange = nullptr;  ///< may be null where there is one replica
  const TuningTable* tuning = nullptr;   ///< plans found out before; null: layers' own order
  bool choose_plans = false;             ///< try candidates in iterations 1 and 2 of a run, and keep the fastest
  /// Values between the layers of its nets can be read and written (NetOptions::keeps_values).
  bool keeps_values = false;
  bool host_sums = false;                ///< of core groups: see train_on_core_groups
  SharedAddition* addition = nullptr;    ///< by which core groups help the exchange to add; may be null
  std::set<std::string> without;         ///< passes that do not run: see NetOptions
  std::vector<Segment> recomputed;       ///< segments of the training net: see NetOptions
  Timeline* timeline = nullptr;          ///< gets what every iteration spends its time with, layer by layer
  std::function<SolverAction()> action;  ///< asked once per iteration on every rank; the ranks' answers are merged
  struct Progress {
    i64 iteration, max_iterations;
    double images_per_second;  ///< of all ranks, over the last iterations; 0 where the net has no batch
    double loss;               ///< of the last iteration, mean over ranks
  };
  std::function<void(const Progress&)> progress;  ///< told once per iteration on rank 0; may be empty
  TrainingRecord* record = nullptr;               ///< on all ranks or none; rank 0's takes notes
};

/// Trains a net (Caffe's Solver with its rate policies): every solver type of Caffe's and LARS, warm-up, L1/L2 decay,
/// clipping, iter_size.
/// The log carries Caffe's lines; open_log silences all ranks but 0. With several replicas every member function is
/// collective, and all ranks throw when one finds a mistake that they share.
///
/// Iteration i's micro-batch m is pass i * iter_size + m of the training net, and test pass t is pass t of the test
/// net, whatever ran before: so a run that stops and goes on sees the samples and dropout masks of one that did not.
class Solver {
 public:
  /// Throws ConfigError, FileError, ShapeError. Paths inside `parameter` are used as they are. A random_seed below 0,
  /// Caffe's "any", means 1: runs are reproducible unless asked otherwise.
  Solver(const caffe::SolverParameter& parameter, const SolverOptions& options);
  ~Solver();
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;

  /// Trains until max_iter or until an action stops it; tests and snapshots as the parameter says. Throws
  /// NumericError on every rank when the loss is not finite, naming the first layer that is not.
  void solve();
  /// `iterations` more iterations, as part of `solve`.
  void step(i64 iterations);
  /// Runs every test net for its test_iter passes, which the ranks divide among themselves.
  void test();

  using Score = OutputScore;
  /// Results of the last test that ran to its end, per test net; empty before.
  const std::vector<std::vector<Score>>& scores() const;

  /// Goes on from a .solverstate[.h5] and the .caffemodel[.h5] that belongs to it, beside it or as it names it. Rank 0
  /// reads.
  /// Throws FileError, and ShapeError for the weights of another net. Bit for bit what an uninterrupted run would do,
  /// on the same build, ranks and threads.
  void restore(const std::string& state_file);
  /// Goes on from the newest whole pair of the solver's snapshot_prefix; false where there is none, and nothing
  /// changes. Pairs that are damaged or do not belong together are passed over with a warning. Throws ConfigError
  /// without a prefix, ShapeError as restore.
  bool restore_newest();
  /// Starts from weights of .caffemodel[.h5] files (a list with commas, as in Caffe), matched by layer name. Rank 0
  /// reads.
  void load_weights(const std::string& model_files);
  /// Writes PREFIX_iter_N.caffemodel and .solverstate, or the same with .h5 as snapshot_format says, beside their final
  /// names and renames them. Rank 0 writes, every rank returns when they are complete. Deletes the run's older ones as
  /// snapshot_keep says. Throws FileError where another job writes snapshots of the prefix. Returns the state file's
  /// name.
  std::string snapshot();

  /// Updates the weights by the gradients that lie in the net, as the end of an iteration does. Counts no iteration.
  void update();

  /// Functions that each iteration calls (Caffe's Solver::Callback), on every rank for itself.
  struct Callback {
    std::function<void()> start;  ///< before the first forward, behind tests; the last update is complete
    /// Before the update. The net has this rank's gradients: sums over iter_size, times loss_scale. What is written
    /// over them counts. Ranks exchange them behind it, so nothing is sent beside backward.
    std::function<void()> gradients_ready;
  };
  /// Called behind those that are there already. Neither function may be empty.
  void add_callback(Callback callback);

  Net& net();
  std::size_t test_nets() const;
  /// They share the training net's weights.
  Net& test_net(std::size_t i);
  i64 iteration() const;
  double last_loss() const;     ///< mean over ranks, of the last iteration (not smoothed)
  float learning_rate() const;  ///< of the next iteration
  bool stopped_early() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cortado
