#pragma once
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "app/measure/dry_group.h"
#include "app/session/net_flags.h"
#include "app/session/session.h"
#include "core/solver/solver.h"
#include "core/tuner/tuning_table.h"

namespace cortado {

/// The memory need of a training, or a test, in each process, in bytes.
struct MemoryNeed {
  i64 program = 0;     ///< libraries, readers, memory of messages
  i64 parameters = 0;  ///< of the net
  i64 gradients = 0;   ///< of parameters
  i64 history = 0;     ///< the solver's
  i64 average = 0;     ///< of weights
  /// Blobs between layers, with their gradients, test nets, and memory that layers and plans keep for themselves.
  i64 blobs = 0;
  i64 snapshot = 0;  ///< on rank 0, while it is written
  i64 batch = 0;     ///< of the net; 0 means none

  i64 total() const { return program + parameters + gradients + history + average + blobs + snapshot; }
  /// The largest batch that fits into `bytes`, since the memory of blobs is in proportion to it; 0 means none.
  i64 batch_within(i64 bytes) const;
};

/// Takes what nets write nowhere.
const SinkOpener& no_sinks();

/// A training, or a forward pass, without arithmetic, values or memory (DryGroup), which finds the memory need. It
/// reads the shapes of data sets and writes no files. Building throws as building and stepping do: ConfigError,
/// ShapeError, FileError of absent data.
class DryRun {
 public:
  /// Takes two iterations of a solver with its nets, by the plans of `tuning`.
  DryRun(Session& session, const caffe::SolverParameter& parameter, const TuningTable& tuning);
  /// Takes a forward pass of a net.
  DryRun(Session& session, const caffe::NetParameter& parameter, const NetOptions& options, const TuningTable& tuning);

  const Net& net() const { return solver_ != nullptr ? solver_->net() : *net_; }
  const MemoryNeed& need() const { return need_; }

 private:
  void measure(const caffe::SolverParameter* solver);

  DryGroup group_;
  const ShapeSources sources_;
  std::unique_ptr<Solver> solver_;
  std::unique_ptr<Net> net_;
  MemoryNeed need_;
};

/// Two lines for people: the parts of the need, and the batch that fits into free memory.
std::string describe(const MemoryNeed& need);
/// The need for programs.
nlohmann::json to_json(const MemoryNeed& need);

/// Advice on what fits, where this training, or net, ran out of memory; empty means that it cannot be found out.
std::string memory_advice(Session& session, const caffe::SolverParameter& parameter, const TuningTable& tuning);
std::string memory_advice(Session& session, const caffe::NetParameter& parameter, const NetOptions& options,
                          const TuningTable& tuning);

/// Runs `work`; where memory runs out, throws a MemoryError with the advice.
void advising_on_memory(const std::function<std::string()>& advice, const std::function<void()>& work);

/// Builds the net that the flags name, untuned, and runs `work` on it, advising on memory.
void with_net(Session& session, const NetFlags& flags, const std::function<void(Net&)>& work);

}  // namespace cortado
