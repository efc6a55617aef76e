#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/net/net.h"
#include "core/solver/gradient_exchange.h"

namespace caffe {
class SolverParameter;
}

namespace cortado {

/// What a signal asked for between two iterations (Caffe's SolverAction).
enum class SolverAction { none, stop, snapshot };

/// What a solver is built on and with. Everything is borrowed and must outlive it.
struct SolverOptions {
  CoreGroup* group = nullptr;
  const LayerTable* layers = nullptr;
  const SourceOpener* sources = nullptr;
  const Replicas* replicas = nullptr;
  GradientExchange* exchange = nullptr;
  std::function<SolverAction()> action;  ///< asked once per iteration on every rank; the ranks' answers are merged
  struct Progress {
    i64 iteration, max_iterations;
    double images_per_second, loss;
  };
  std::function<void(const Progress&)> progress;  ///< told once per iteration on rank 0; may be empty
};

/// Trains a net (Caffe's Solver with its rate policies): SGD with momentum, L1/L2 decay, clipping, iter_size.
/// The log carries Caffe's lines, from rank 0.
class Solver {
 public:
  /// Throws ConfigError, FileError, ShapeError. Paths inside `parameter` are used as they are.
  Solver(const caffe::SolverParameter& parameter, const SolverOptions& options);
  ~Solver();

  /// Trains until max_iter or until an action stops it; snapshots as the parameter says. Throws NumericError when
  /// the loss is not finite, naming the first layer that has one.
  void solve();
  /// `iterations` more iterations.
  void step(i64 iterations);

  /// Goes on from a .solverstate (and the .caffemodel it names). Throws FileError.
  void restore(const std::string& state_file);
  /// Starts from weights of a .caffemodel.
  void load_weights(const std::string& model_file);
  /// Writes PREFIX_iter_N.caffemodel and .solverstate beside their final names and renames them. Rank 0 writes,
  /// every rank returns when they are complete. Returns the state file's name.
  std::string snapshot();

  Net& net();
  i64 iteration() const;
  double last_loss() const;      ///< mean over ranks, of the last iteration (not smoothed)
  double learning_rate() const;  ///< of the next iteration
  bool stopped_early() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cortado
