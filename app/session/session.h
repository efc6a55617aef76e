#pragma once
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "app/command_line/flags.h"
#include "app/session/shape_sources.h"
#include "comm/job.h"
#include "core/solver/solver.h"
#include "parallel_io/feed/sinks.h"
#include "parallel_io/weights/hdf5_weights.h"

namespace cortado {

/// Flags for the devices of nets, and for building nets.
struct SessionFlags {
  int core_groups = 1;               ///< 0 means as many as the backend finds useful
  std::vector<std::string> devices;  ///< GPUs: numbers, or "all"; empty means the local rank's
  std::string multiply = "auto";     ///< or fp32, tf32: how GPUs multiply floats
  bool timing_only = false;          ///< of the simulator (app/session/backend.h), like the next
  std::string profile;
  std::string simulate;              ///< the machine; empty means the backend's own choice
  bool needs_shapes_only = false;    ///< Zeros stand for data whose source is away.
  std::vector<std::string> shapes;   ///< of their samples (ShapeSources)
  std::string precision = "fp32";    ///< or bf16; of nets that are read without a solver
  std::vector<std::string> without;  ///< passes that do not rewrite nets
  i64 memory = 0;                    ///< bytes that training must fit into; 0: no limit

  void add_core_groups(Flags& flags);
  void add_devices(Flags& flags);
  void add_profile(Flags& flags);    ///< --profile, --simulate
  void add_simulator(Flags& flags);  ///< --timing-only, --profile, --simulate
  void add_simulate(Flags& flags);
  void add_shape(Flags& flags);  ///< A verb with this flag needs shapes only.
  void add_precision(Flags& flags);
  void add_without(Flags& flags);
  void add_memory(Flags& flags);
};

/// The services for verbs that build a net: the job's ranks, this process's processor, the layer table, the readers,
/// the writers.
struct Session {
  /// Throws ConfigError, also where --without has a name that no pass has.
  Session(const MpiJob& job, const SessionFlags& flags);

  const MpiJob& job;
  std::unique_ptr<Processor> processor;
  CoreGroup& group;
  LayerTable layers;
  ShapeSources sources;
  Sinks sinks;
  Hdf5Weights hdf5;
  Precision precision;            ///< of nets that are read without a solver
  std::set<std::string> without;  ///< passes that do not rewrite nets
  /// Segments of the net that is trained which give their memory up (fit_memory).
  std::vector<Segment> recomputed;

  /// For nets and solvers on core group 0, alone.
  NetOptions net_options() const;
  SolverOptions solver_options() const;
  /// Copies weights from a .caffemodel or .caffemodel.h5 to the net. Throws FileError; NumericError for weights that
  /// are not finite.
  void take_weights(Net& net, const std::string& file) const;
};

}  // namespace cortado
