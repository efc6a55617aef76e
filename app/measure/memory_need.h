#pragma once
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "app/measure/dry_group.h"
#include "app/session/session.h"
#include "core/solver/solver.h"

namespace caffe {
class NetParameter;
class SolverParameter;
}  // namespace caffe

namespace cortado {

/// What a training, or a test, needs in each process, in bytes.
struct MemoryNeed {
  i64 program = 0;     ///< libraries, readers, what messages pass through
  i64 parameters = 0;  ///< of the net
  i64 gradients = 0;   ///< of parameters
  i64 history = 0;     ///< the solver's
  i64 blobs = 0;     ///< between layers, with their gradients, test nets, and what layers and plans keep for themselves
  i64 snapshot = 0;  ///< on rank 0, while it is written
  i64 batch = 0;     ///< of the net; 0: it has none

  i64 total() const { return program + parameters + gradients + history + blobs + snapshot; }
  /// The largest batch that fits into so many bytes: memory of blobs is in proportion to it. 0: none.
  i64 batch_within(i64 bytes) const;
};

/// A training, or a forward pass, whose steps are taken without arithmetic and without memory (DryGroup), to see what
/// it needs. Building throws what building and stepping throw: ConfigError, ShapeError, FileError of data that is not
/// there.
class DryRun {
 public:
  /// Two iterations of a solver with its nets.
  DryRun(Session& session, const caffe::SolverParameter& parameter);
  /// A forward pass of a net.
  DryRun(Session& session, const caffe::NetParameter& parameter, const NetOptions& options);

  Net& net() { return solver_ != nullptr ? solver_->net() : *net_; }
  const MemoryNeed& need() const { return need_; }

 private:
  void measure(const caffe::SolverParameter* solver);

  DryGroup group_;
  std::unique_ptr<Solver> solver_;
  std::unique_ptr<Net> net_;
  MemoryNeed need_;
};

/// For people, two lines: what is needed for what, and which batch would fit into what is free.
std::string describe(const MemoryNeed& need);
/// For programs.
nlohmann::json to_json(const MemoryNeed& need);

/// What would fit, where this training ran out of memory; empty: that cannot be found out.
std::string memory_advice(Session& session, const caffe::SolverParameter& parameter);

}  // namespace cortado
