#include <cstdio>

#include "app/measure/load_watch.h"
#include "app/measure/memory_need.h"
#include "app/report/progress_bar.h"
#include "app/report/timeline_file.h"
#include "app/session/backend.h"
#include "app/session/exchange.h"
#include "app/session/session.h"
#include "app/start/environment.h"
#include "app/start/signal_actions.h"
#include "app/tune/tuning.h"
#include "comm/job_team.h"
#include "comm/mpi_part_exchange.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/memory_error.h"
#include "core/formats/caffe.pb.h"
#include "core/formats/prototxt.h"
#include "core/solver/core_groups.h"

namespace cortado {
namespace {
void log_machines(const Session& session) {
  std::string own = session.job.host() + ": " + session.group.spec().description;
  for (int i = 1; i < session.processor->core_groups(); ++i) {  // where each has a device
    const std::string& other = session.processor->group(i).spec().description;
    if (other != session.group.spec().description) own += "; " + other;
  }
  const auto all = session.job.gather(own);
  for (std::size_t rank = 0; rank < all.size(); ++rank) CORTADO_LOG(info) << "Rank " << rank << " on " << all[rank];
  CORTADO_LOG(info) << "Threads that wait for work: " << describe_waiting();
  if (MatrixLibrary* const library = session.group.library())
    CORTADO_LOG(info) << "Matrix products: " << library->name();
  for (const auto& [name, version] : backend_software()) CORTADO_LOG(info) << name << " " << version;
}

void show(ProgressBar& bar, const SolverOptions::Progress& progress) {
  char note[64];
  std::snprintf(note, sizeof note, "%.0f images/s  loss %.4f", progress.images_per_second, progress.loss);
  bar.show(progress.iteration, progress.max_iterations, note);
}
}  // namespace

int train(Session& session, const Options& options) {
  log_machines(session);
  caffe::SolverParameter parameter;
  read_solver_for(options, parameter);

  if (options.snapshot_keep >= 0) parameter.set_snapshot_keep(options.snapshot_keep);
  if (!options.snapshot_best.empty()) parameter.set_snapshot_best(options.snapshot_best);
  if (!options.weights.empty() && !options.snapshot.empty() && options.snapshot != "auto")
    throw ConfigError("--weights", "excludes --snapshot FILE", "give one of them, or --snapshot auto");

  SignalActions signals(
      {parse_effect("sigint_effect", options.sigint_effect), parse_effect("sighup_effect", options.sighup_effect),
       parse_effect("sigterm_effect", options.sigterm_effect), parse_effect("sigusr1_effect", options.sigusr1_effect)});
  JobTeam team(session.job.replicas().communicator(), session.group, {options.topology, options.nodes_per_supernode});
  std::unique_ptr<Timeline> timeline;
  if (!options.timeline.empty()) {
    session.job.replicas().from_root("");  // all begin at once
    timeline = std::make_unique<Timeline>();
  }
  const auto exchange = make_exchange(session, options, parameter, team, timeline.get());
  MpiPartExchange parts(session.job.replicas().communicator(), session.group, timeline.get());
  const Sources sources(timeline.get());
  ProgressBar bar("training");
  LoadWatch load;
  SolverOptions with;
  with.group = &session.group;  // of core group 0
  with.layers = &session.layers;
  with.sources = &sources;
  with.sinks = &session.sinks;
  with.hdf5 = &session.hdf5;
  with.feed = options.feed == "master" ? Feed::master : Feed::direct;
  if (with.feed == Feed::master && session.processor->core_groups() == 1)
    throw ConfigError("feed 'master'", "cannot run with one core group in a process: there is nobody to hand parts to",
                      "give --core-groups, or leave it out");
  with.replicas = &session.job.replicas();
  with.parts = &parts;
  with.exchange = exchange.get();
  with.host_sums = uses_host_sums(session, options, parameter);
  with.timeline = timeline.get();
  const TuningTable tuning = read_tuning(session.group.spec(), options.tuning);
  with.tuning = &tuning;
  with.choose_plans = options.choose_plans;
  with.action = [&] { return signals.take(); };
  with.progress = [&](const SolverOptions::Progress& progress) {
    show(bar, progress);
    load.look();
  };

  // As in Caffe, either flag stands instead of the solver's own `weights`. With `auto` the first job starts from them.
  const bool newest = options.snapshot == "auto";
  if (!options.weights.empty() || (!options.snapshot.empty() && !newest)) parameter.clear_weights();
  with.core_groups = session.processor->core_groups();
  const auto work = [&] {
    train_on_core_groups(*session.processor, with, [&](const SolverOptions& own) {
      Solver solver(parameter, own);
      if (!options.weights.empty()) solver.load_weights(options.weights);
      if (newest)
        solver.restore_newest();
      else if (!options.snapshot.empty())
        solver.restore(options.snapshot);
      CORTADO_LOG(info) << "Starting Optimization";
      solver.solve();
    });
  };
  try {
    work();
  } catch (const MemoryError& error) { throw MemoryError("", error.what(), memory_advice(session, parameter)); }
  CORTADO_LOG(info) << "Optimization Done.";
  if (timeline) write_timeline(*timeline, session.job, options.timeline);
  return 0;
}

}  // namespace cortado
