#pragma once
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/formats/caffe.pb.h"
#include "core/net/output_sums.h"
#include "core/solver/layerwise_update.h"
#include "core/solver/optimizer.h"
#include "core/solver/prefix_lock.h"
#include "core/solver/running_statistics.h"
#include "core/solver/smoothed_loss.h"
#include "core/solver/snapshot_writer.h"
#include "core/solver/solver.h"
#include "core/solver/state_file.h"
#include "core/solver/weight_average.h"
#include "core/tuner/tuner.h"

namespace cortado {

/// A Solver's members. solver.cpp builds it, solver_training.cpp iterates, solver_testing.cpp runs test nets,
/// solver_snapshots.cpp writes and restores.
struct Solver::State {
  State(const caffe::SolverParameter& given, const SolverOptions& given_options);

  std::unique_ptr<Net> make_net(const caffe::NetParameter& net, const Replicas* net_replicas, bool only_scores) const;
  /// Throws ConfigError where the parameter does not go with parts.
  void tell_of_parts(const Net::Range& own) const;
  void make_test_nets();

  void step(i64 iterations);
  void iterate(i64 iterations);
  void try_plans(const std::function<void()>& work);
  std::string lane() const { return "core group " + std::to_string(options.group->index()); }
  void forward();
  void backward(const std::function<void(std::size_t)>& finished);
  double forward_backward(std::string& bad_layer);
  struct Merged {
    double loss;  ///< mean
    bool not_finite, snapshot, stop;
  };
  Merged merge(double loss, bool not_finite);
  bool may_update_late() const;
  float exchange_gradients(bool late);
  void update_weights(float factor, bool late);
  void update_by_gradients();
  void tell_of_start();
  void tell_of_gradients();
  void offer_gradients();
  void complete_update();
  void share_weights();
  [[noreturn]] void throw_not_finite(const std::string& bad_layer);
  void log_training(std::chrono::steady_clock::time_point shown, i64 shown_at);
  double images_per_iteration() const;
  void tell_progress(double seconds);
  /// Begins the record; iterations and tests while it lives are in it. Collective.
  class Recording {
   public:
    explicit Recording(State& solver);
    ~Recording() { solver_.recording = false; }
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;

   private:
    State& solver_;
  };
  bool keeps_record() const { return options.record != nullptr && recording && replicas.rank() == 0; }
  void record_iteration(double seconds, bool displays);
  void log_final_loss();

  void test_all();
  /// While it lives, test nets have what tests score: the average of weights, if there is one, and the running
  /// statistics' mean over ranks. Collective.
  struct Scored {
    explicit Scored(State& solver)
        : average(solver.average ? std::make_unique<WeightAverage::Shown>(*solver.average) : nullptr),
          statistics(*solver.statistics) {}
    const std::unique_ptr<WeightAverage::Shown> average;
    const RunningStatistics::Averaged statistics;
  };
  void test(std::size_t index, std::unique_ptr<Scored>& scored);
  static void assist(Net& tested);

  bool writes_hdf5() const { return parameter.snapshot_format() == caffe::SolverParameter::HDF5; }
  std::string model_extension() const { return writes_hdf5() ? ".caffemodel.h5" : ".caffemodel"; }
  std::string state_extension() const { return writes_hdf5() ? ".solverstate.h5" : ".solverstate"; }
  const std::string& prefix() const;
  /// The prefix is this job's while one lives, within another or not. Collective.
  class HeldPrefix {
   public:
    explicit HeldPrefix(State& solver);
    ~HeldPrefix();
    HeldPrefix(const HeldPrefix&) = delete;
    HeldPrefix& operator=(const HeldPrefix&) = delete;

   private:
    State& solver_;
  };
  std::string snapshot();
  /// Afterwards all files of snapshots are written, and what snapshot_keep leaves no room for is deleted. Collective.
  void finish_snapshots();
  void find_best_output();
  void snapshot_best();
  void write_pair(const std::string& name);
  void write_held_pair(const std::string& name);
  void write_average(const std::string& state_file, caffe::CortadoState& state);
  void foresee_snapshot();
  void describe(const std::string& model_file, caffe::NetParameter& model, caffe::SolverState& state) const;
  const char* kind_of_files() const { return writes_hdf5() ? "HDF5 file " : "binary proto file "; }
  void write_model(const std::string& file, const std::shared_ptr<caffe::NetParameter>& model);
  void write_state(const std::string& file, const caffe::SolverState& state) const;
  void restore(const std::string& state_file);
  bool restore_newest();
  void require_newest_at_root(const std::string& of) const;
  void go_on_keeping(const caffe::CortadoState& stored, const std::string& state_file);
  void go_on_from(const SnapshotPair& pair, const std::string& state_file);
  void write_residuals(const std::string& state_file, const std::string& digest) const;
  void restore_residuals(const std::string& state_file, const std::string& digest);
  void restore_average(const SnapshotPair& pair, const caffe::CortadoState& stored, const std::string& state_file);
  void restore_plans(const caffe::CortadoState& stored);
  void load_weights(const std::string& model_files);

  const caffe::SolverParameter parameter;
  const SolverOptions options;
  const Replicas alone;
  const Replicas& replicas;
  NoExchange no_exchange;
  GradientExchange& exchange;
  std::unique_ptr<Net> net;
  OutputSums train_sums;
  std::vector<std::unique_ptr<Net>> test_nets;
  std::vector<OutputSums> test_sums;        // by test net
  std::unique_ptr<Optimizer> optimizer;     // null on replicas that a master updates
  std::unique_ptr<LayerwiseUpdate> update;  // where there is an optimizer
  std::unique_ptr<Tuner> tuner;
  std::unique_ptr<RunningStatistics> statistics;
  std::unique_ptr<WeightAverage> average;  // where ema_decay says so
  std::deque<Callback> callbacks;          // which stay where they are as others are added
  bool calls_back = false;                 // in this iteration
  SmoothedLoss smoothed;
  std::vector<std::vector<Score>> scores;
  struct BestOutput {
    std::string name;  // empty: nobody asks
    std::size_t net = 0, index = 0;
  } best_output;
  std::optional<double> best;     // its value so far
  std::vector<std::string> kept;  // states of this run, oldest first, where it deletes old ones
  bool foresaw_snapshot = false;
  int holding_prefix = 0;            // so many HeldPrefix live
  std::unique_ptr<PrefixLock> lock;  // meanwhile; rank 0's
  i64 iteration = 0;
  i64 tests = 0;  // of nets, so far
  double last_loss = 0;
  bool recording = false;                      // within solve
  std::vector<Score> displayed;                // outputs that the log showed last
  double waited_for_ranks = 0, exchanged = 0;  // seconds of this iteration
  double seconds_per_iteration = 0;
  bool stopped = false;
  SnapshotWriter writer{parameter.snapshot_async()};  // goes first: what it writes belongs to the others
};

/// True if something that happens every `period` iterations (0 means never) happens at this one.
inline bool due(i64 iteration, int period) { return period > 0 && iteration % period == 0; }

/// Means over so many passes; warns of outputs that have none.
std::vector<Solver::Score> scores_of(const OutputSums& sums, const Net& net, i64 passes);
/// Caffe's line for one output value; its log tools read it.
std::string score_line(const char* phase, std::size_t index, const Solver::Score& score);

}  // namespace cortado
