#pragma once
#include <string>
#include <vector>

#include "app/record/metrics_file.h"
#include "app/session/session.h"

namespace caffe {
class SolverParameter;
}

namespace cortado {

/// The start of a training: facts that its session does not know.
struct RunStart {
  std::vector<std::string> hosts;  ///< by rank, on rank 0: host and device
  std::string weights, snapshot;   ///< files that it starts from; empty means none
  std::string exchange, codec, allreduce;
};

/// The facts of a training that are known before its net is built: program, libraries, command, environment, ranks,
/// texts of solver and nets, seed, and digests of the data. Rank 0 calls it. It reads data sets. Throws as reading nets
/// does.
OrderedJson describe_run(const Session& session, const caffe::SolverParameter& parameter, const RunStart& start);

/// The variables of the environment that change how a training runs or how fast. Those that may hold a secret, by their
/// names, are left out.
OrderedJson environment_that_matters(char** environment);

}  // namespace cortado
