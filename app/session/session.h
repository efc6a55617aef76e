#pragma once
#include <memory>
#include <string>

#include "app/command_line/command_line.h"
#include "app/session/shape_sources.h"
#include "comm/job.h"
#include "core/net/net.h"
#include "parallel_io/feed/sinks.h"
#include "parallel_io/weights/hdf5_weights.h"

namespace caffe {
class SolverParameter;
}

namespace cortado {

/// What every verb that builds a net needs: the job's ranks, this process's processor, the layer table, the readers,
/// the writers.
struct Session {
  Session(const MpiJob& job, const Options& options);

  const MpiJob& job;
  std::unique_ptr<Processor> processor;
  CoreGroup& group;
  LayerTable layers;
  ShapeSources sources;
  Sinks sinks;
  Hdf5Weights hdf5;
  Precision precision;  ///< of nets that are read without a solver

  NetOptions net_options() const;
};

/// Reads a net and sets its state from -phase, -level and -stage.
void read_net_for(const Options& options, const std::string& file, Phase phase, caffe::NetParameter& net);

/// Reads the solver and sets its state likewise.
void read_solver_for(const Options& options, caffe::SolverParameter& solver);

/// The verbs. Each returns the exit code and throws Error for what it cannot do.
int train(Session& session, const Options& options);
int test(Session& session, const Options& options);
int time(Session& session, const Options& options);
int check(Session& session, const Options& options);
int classify(Session& session, const Options& options);
int device_query(Session& session, const Options& options);
int bench(Session& session, const Options& options);
int tune(Session& session, const Options& options);
int predict(Session& session, const Options& options);
int extract(Session& session, const Options& options);
int draw(Session& session, const Options& options);
int compare(Session& session, const Options& options);
int convert(const MpiJob& job, const Options& options);
int upgrade(const MpiJob& job, const Options& options);

}  // namespace cortado
