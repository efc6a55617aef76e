
#include <spdlog/fmt/fmt.h>

#include "app/command_line/shared_flags.h"
#include "app/command_line/verb.h"
#include "app/measure/load_watch.h"
#include "app/measure/memory_fit.h"
#include "app/measure/memory_need.h"
#include "app/record/run_description.h"
#include "app/record/run_record.h"
#include "app/record/watched_sources.h"
#include "app/report/progress_bar.h"
#include "app/report/timeline_file.h"
#include "app/session/backend.h"
#include "app/session/exchange.h"
#include "app/session/net_flags.h"
#include "app/session/session.h"
#include "app/session/session_flags.h"
#include "app/start/environment.h"
#include "app/start/signal_actions.h"
#include "app/start/start_fields.h"
#include "app/tune/tuning.h"
#include "comm/job_team.h"
#include "comm/mpi_shard_exchange.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/formats/caffe.pb.h"
#include "core/formats/prototxt.h"
#include "core/solver/agreement.h"
#include "core/solver/core_groups.h"
#include "core/solver/shared_addition.h"

namespace cortado {
namespace {
/// Logs every rank's host and device. Returns them on rank 0.
std::vector<std::string> log_machines(const Session& session) {
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
  return all;
}

void show(ProgressBar& bar, const SolverOptions::Progress& progress) {
  bar.show(progress.iteration, progress.max_iterations,
           fmt::format("{:.0f} images/s  loss {:.4f}", progress.images_per_second, progress.loss));
}
class Train : public Verb {
 public:
  void add_to(Flags& flags) override;
  int run(const MpiJob& job) override;
  bool handles_signals() const override { return true; }

 private:
  void add_effects(Flags& flags);
  caffe::SolverParameter read() const;
  /// The solver with what the flags change in it.
  caffe::SolverParameter changed() const;
  /// True if a flag stands instead of the solver's own `weights`, as in Caffe. With `auto` the first job starts from
  /// them.
  bool replaces_weights() const { return !weights_.empty() || (!snapshot_.empty() && !goes_on_from_newest()); }
  bool goes_on_from_newest() const { return snapshot_ == "auto"; }
  void train(const SolverOptions& with, const caffe::SolverParameter& parameter) const;
  std::unique_ptr<RunRecord> make_record(const Session& session, const caffe::SolverParameter& parameter,
                                         const std::vector<std::string>& hosts, WatchedSources& sources) const;

  std::string solver_, snapshot_, weights_;
  int snapshot_keep_ = -1;     // below 0: as the solver says
  std::string snapshot_best_;  // empty: as the solver says
  std::string record_;         // empty: beside the snapshots
  std::string sigint_ = "stop", sighup_ = "snapshot", sigterm_ = "stop", sigusr1_ = "snapshot";
  NetState state_;
  SessionFlags session_;
  std::string feed_ = "direct";
  ExchangeOptions exchange_;
  std::string timeline_, tuning_;
  bool choose_plans_ = false;
};

void Train::add_to(Flags& flags) {
  flags.add("--solver", solver_, "Solver prototxt").required().compared_by([this](StartFields& fields) {
    caffe::SolverParameter solver = read();
    if (!weights_.empty() || !snapshot_.empty()) solver.clear_weights();
    add_solver(solver, fields);
  });
  add_strict(flags);
  flags
      .add("--snapshot", snapshot_,
           "Go on from this .solverstate or .solverstate.h5; auto: from the newest whole one of the solver's "
           "snapshot_prefix, or begin where there is none")
      .compared_by([this](StartFields& fields) {
        fields.push_back({"state", "snapshot", content_of(snapshot_)});
      });
  flags.add("--snapshot-keep", snapshot_keep_, "Delete all but so many of this run's newest snapshots; 0: none")
      .not_negative();
  flags.add("--snapshot-best", snapshot_best_,
            "Keep PREFIX_best, the snapshot at the best value of this output of a test net");
  flags.add("--record", record_,
            "Write PREFIX_run.json and PREFIX_metrics.jsonl of this PREFIX; none: neither; default is the solver's "
            "snapshot_prefix, if it writes snapshots");
  add_weights(flags, weights_, "Start from these .caffemodels or .caffemodel.h5s, separated by commas");
  add_effects(flags);
  state_.add_to(flags);
  session_.core_groups = 0;
  session_.add_core_groups(flags);
  flags.add("--feed", feed_, "How batches reach core groups: direct, each from the host; master, through core group 0")
      .shows_default()
      .one_of({"direct", "master"});
  session_.add_devices(flags);
  session_.add_without(flags);
  session_.add_memory(flags);
  add_tuning(flags, tuning_);
  flags.add("--exchange", exchange_.exchange,
            "How ranks agree on gradients: buckets (while backward and the next forward go on), packed, host_sums "
            "(while backward goes on), coded, coded_hops, master (rank 0 updates), zero1 (each a part of the weights), "
            "power_sgd (inner products as narrow matrices); default is the solver's, or buckets where they can be, "
            "else packed");
  flags
      .add("--timeline", timeline_,
           "Write what every iteration spends its time with, for Perfetto or chrome://tracing, and print shares")
      .replaces_json()
      .compared_by([](StartFields&) {});  // all ranks write one or none does
  flags.add("--codec", exchange_.codec,
            "What buckets and coded exchanges send, or master's weights: " + codec_names() +
                "; power_sgd's rank1, rank2, ...; default is the solver's, or fp32; of coded dynamic_tree8");
  flags.add(
      "--allreduce", exchange_.allreduce,
      "The algorithm of packed and buckets: " + algorithm_names("allreduce") + "; auto: what the cost model chooses");
  add_topology(flags, exchange_.topology);
  flags.add_switch("--choose-plans", choose_plans_,
                   "Try two plans of every layer in iterations 1 and 2, keep the faster");
  session_.add_profile(flags);
}

void Train::add_effects(Flags& flags) {
  const auto add = [&](const char* name, std::string& effect, const char* what) {
    flags.add(name, effect, what).shows_default().one_of({"stop", "snapshot", "none"});
  };
  add("--sigint_effect", sigint_, "On SIGINT: stop, snapshot or none");
  add("--sighup_effect", sighup_, "On SIGHUP");
  add("--sigterm_effect", sigterm_, "On SIGTERM");
  add("--sigusr1_effect", sigusr1_, "On SIGUSR1, which batch systems send before the limit");
}

caffe::SolverParameter Train::read() const {
  caffe::SolverParameter solver;
  read_solver_for(state_, solver_, solver);
  return solver;
}

caffe::SolverParameter Train::changed() const {
  caffe::SolverParameter solver = read();
  if (snapshot_keep_ >= 0) solver.set_snapshot_keep(snapshot_keep_);
  if (!snapshot_best_.empty()) solver.set_snapshot_best(snapshot_best_);
  if (!weights_.empty() && !snapshot_.empty() && !goes_on_from_newest())
    throw ConfigError("--weights", "excludes --snapshot FILE", "give one of them, or --snapshot auto");
  return solver;
}

int Train::run(const MpiJob& job) {
  Session session(job, session_);
  const auto hosts = log_machines(session);
  caffe::SolverParameter parameter = changed();
  SignalActions signals({parse_effect("sigint_effect", sigint_), parse_effect("sighup_effect", sighup_),
                         parse_effect("sigterm_effect", sigterm_), parse_effect("sigusr1_effect", sigusr1_)});
  SharedAddition addition;
  JobTeam team(job.replicas().communicator(), session.group, exchange_.topology.places, &addition);
  std::unique_ptr<Timeline> timeline;
  if (!timeline_.empty()) {
    job.replicas().from_root("");  // all begin at once
    timeline = std::make_unique<Timeline>();
  }
  const auto exchange = make_exchange(session, exchange_, parameter, team, timeline.get());
  MpiShardExchange shards(job.replicas().communicator(), session.group, timeline.get());
  const Sources readers(timeline.get());
  WatchedSources sources(readers);
  ProgressBar bar("training");
  LoadWatch load;
  SolverOptions with = session.solver_options();
  with.sources = &sources;
  with.hdf5 = &session.hdf5;
  with.feed = feed_ == "master" ? Feed::master : Feed::direct;
  if (with.feed == Feed::master && session.processor->core_groups() == 1)
    throw ConfigError("feed 'master'", "cannot run with one core group in a process: there is nobody to hand parts to",
                      "give --core-groups, or leave it out");
  with.replicas = &job.replicas();
  with.shards = &shards;
  with.exchange = exchange.get();
  with.host_sums = uses_host_sums(session, exchange_, parameter);
  with.addition = &addition;
  with.timeline = timeline.get();
  const TuningTable tuning = read_tuning(session.group.spec(), tuning_, session.job.replicas());
  with.tuning = &tuning;
  fit_memory(session, parameter, tuning, session_.memory, session.processor->core_groups());
  with.recomputed = session.recomputed;
  with.choose_plans = choose_plans_;
  with.action = [&] { return signals.take(); };
  with.progress = [&](const SolverOptions::Progress& progress) {
    show(bar, progress);
    load.look();
  };
  if (replaces_weights()) parameter.clear_weights();
  const auto record = make_record(session, parameter, hosts, sources);
  with.record = record.get();
  with.core_groups = session.processor->core_groups();
  advising_on_memory([&] { return memory_advice(session, parameter, tuning); },
                     [&] {
                       train_on_core_groups(*session.processor, with,
                                            [&](const SolverOptions& own) { train(own, parameter); });
                     });
  CORTADO_LOG(info) << "Optimization Done.";
  if (timeline) write_timeline(*timeline, job, timeline_);
  return 0;
}

/// nullptr means that nothing is recorded.
std::unique_ptr<RunRecord> Train::make_record(const Session& session, const caffe::SolverParameter& parameter,
                                              const std::vector<std::string>& hosts, WatchedSources& sources) const {
  const bool snapshots =
      parameter.snapshot() > 0 || parameter.snapshot_after_train() || !parameter.snapshot_best().empty();
  if (record_ == "none" || (record_.empty() && !snapshots)) return nullptr;
  RunStart start;
  start.hosts = hosts;
  start.weights = weights_;
  start.snapshot = snapshot_;
  start.exchange = chosen_exchange(session, exchange_, parameter).name;
  start.codec = exchange_.codec;
  start.allreduce = exchange_.allreduce;
  OrderedJson description;
  on_root(session.job.replicas(), [&] { description = describe_run(session, parameter, start); });
  return std::make_unique<RunRecord>(record_.empty() ? parameter.snapshot_prefix() : record_, std::move(description),
                                     [&sources] { return sources.take_seconds(); });
}

void Train::train(const SolverOptions& with, const caffe::SolverParameter& parameter) const {
  Solver solver(parameter, with);
  if (!weights_.empty()) solver.load_weights(weights_);
  if (goes_on_from_newest())
    solver.restore_newest();
  else if (!snapshot_.empty())
    solver.restore(snapshot_);
  CORTADO_LOG(info) << "Starting Optimization";
  solver.solve();
}
}  // namespace

std::unique_ptr<Verb> make_train() { return std::make_unique<Train>(); }

}  // namespace cortado
