#pragma once
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "app/session/session_options.h"
#include "app/session/shape_sources.h"
#include "comm/job.h"
#include "core/solver/solver.h"
#include "parallel_io/feed/sinks.h"
#include "parallel_io/weights/hdf5_weights.h"

namespace cortado {

/// The services for those who build nets: the job's ranks, this process's processor, the layer table, the readers,
/// the writers.
struct Session {
  /// Throws ConfigError, also where `without` has a name that no pass has. Collective.
  Session(const MpiJob& job, const SessionOptions& options);

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
