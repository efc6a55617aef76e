#include "library/trainer.h"

#include "app/tune/tuning.h"
#include "comm/job_team.h"
#include "comm/mpi_shard_exchange.h"
#include "core/base/error.h"
#include "core/formats/caffe.pb.h"

namespace cortado {

struct Trainer::State {
  State(const Session& session, const caffe::SolverParameter& parameter, const TrainerOptions& options)
      : team(session.job.replicas().communicator(), session.group, options.exchange.topology.places),
        exchange(make_exchange(session, options.exchange, parameter, team, nullptr)),
        shards(session.job.replicas().communicator(), session.group),
        tuning(read_tuning(session.group.spec(), options.tuning, session.job.replicas())) {
    SolverOptions with = session.solver_options();
    with.hdf5 = &session.hdf5;
    with.replicas = &session.job.replicas();
    with.shards = &shards;
    with.exchange = exchange.get();
    with.host_sums = uses_host_sums(session, options.exchange, parameter);
    with.tuning = &tuning;
    with.keeps_values = options.keeps_values;
    with.action = options.action;
    with.progress = options.progress;
    solver = std::make_unique<Solver>(parameter, with);
  }

  JobTeam team;
  std::unique_ptr<GradientExchange> exchange;
  MpiShardExchange shards;
  TuningTable tuning;
  std::unique_ptr<Solver> solver;
};

Trainer::Trainer(const Session& session, const caffe::SolverParameter& parameter, const TrainerOptions& options) {
  if (session.processor->core_groups() > 1)
    throw ConfigError("Trainer", "trains on one core group, and the session has several",
                      "start a rank for each, or use train_on_core_groups");
  state_ = std::make_unique<State>(session, parameter, options);
}

Trainer::~Trainer() = default;

Solver& Trainer::solver() { return *state_->solver; }

}  // namespace cortado
