#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/formats/caffe.pb.h"
#include "core/solver/layerwise_update.h"
#include "core/solver/optimizer.h"
#include "core/solver/smoothed_loss.h"
#include "core/solver/solver.h"
#include "core/tuner/tuner.h"

namespace cortado {

/// What a Solver is inside. solver.cpp builds it, solver_training.cpp iterates, solver_testing.cpp runs test nets,
/// solver_snapshots.cpp writes and restores.
struct Solver::State {
  State(const caffe::SolverParameter& given, const SolverOptions& given_options);

  std::unique_ptr<Net> make_net(const caffe::NetParameter& net, const Replicas* net_replicas) const;
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
  void complete_update();
  void share_weights();
  [[noreturn]] void throw_not_finite(const std::string& bad_layer);
  void log_training(std::chrono::steady_clock::time_point shown, i64 shown_at);
  void tell_progress(double seconds);
  void log_final_loss();

  void test_all();
  void test(std::size_t index);
  static void assist(Net& tested);

  bool writes_hdf5() const { return parameter.snapshot_format() == caffe::SolverParameter::HDF5; }
  std::string file_name(const std::string& extension) const;
  std::string snapshot();
  void describe(const std::string& model_file, caffe::NetParameter& model, caffe::SolverState& state) const;
  void write_snapshot(const std::string& model_file, caffe::NetParameter& model, const std::string& state_file,
                      const caffe::SolverState& state) const;
  void restore(const std::string& state_file);
  std::string residuals_file(const std::string& state_file) const;
  void write_residuals(const std::string& state_file) const;
  void restore_residuals(const std::string& state_file);
  void restore_plans(const caffe::CortadoState& stored);
  void load_weights(const std::string& model_files);

  const caffe::SolverParameter parameter;
  const SolverOptions options;
  const Replicas alone;
  const Replicas& replicas;
  NoExchange no_exchange;
  GradientExchange& exchange;
  std::unique_ptr<Net> net;
  std::vector<std::unique_ptr<Net>> test_nets;
  std::unique_ptr<Optimizer> optimizer;     // null on replicas that a master updates
  std::unique_ptr<LayerwiseUpdate> update;  // where there is an optimizer
  std::unique_ptr<Tuner> tuner;
  SmoothedLoss smoothed;
  std::vector<std::vector<Score>> scores;
  i64 iteration = 0;
  i64 tests = 0;  // of nets, so far
  double last_loss = 0;
  double seconds_per_iteration = 0;
  bool stopped = false;
};

/// Whether something that happens every `period` iterations, 0: never, happens at this one.
inline bool due(i64 iteration, int period) { return period > 0 && iteration % period == 0; }

// Values of a net's outputs, element by element.

/// One zero per element of every output.
std::vector<double> no_sums(const Net& net);
/// Adds the values of all outputs to such sums.
void add_outputs(const Net& net, std::vector<double>& sums);
std::vector<Solver::Score> scores_of(const Net& net, const double* sums, i64 terms);
/// Caffe's line for one output value; its log tools read it.
std::string score_line(const char* phase, std::size_t index, const Solver::Score& score);

}  // namespace cortado
