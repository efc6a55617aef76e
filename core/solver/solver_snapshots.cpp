#include <algorithm>
#include <cmath>
#include <filesystem>
#include <sstream>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/formats/prototxt.h"
#include "core/machine/free_memory.h"
#include "core/net/name_memory.h"
#include "core/solver/agreement.h"
#include "core/solver/rate.h"
#include "core/solver/snapshot_files.h"
#include "core/solver/solver_state.h"
#include "core/solver/state_file.h"

namespace cortado {

const std::string& Solver::State::prefix() const {
  if (parameter.snapshot_prefix().empty())
    throw ConfigError("solver", "a snapshot is due but there is no 'snapshot_prefix'",
                      "give one, or set snapshot_after_train: false");
  return parameter.snapshot_prefix();
}

Solver::State::HeldPrefix::HeldPrefix(State& solver) : solver_(solver) {
  const std::string prefix = solver.prefix();
  if (solver.holding_prefix == 0) on_root(solver.replicas, [&] { solver.lock = std::make_unique<PrefixLock>(prefix); });
  ++solver.holding_prefix;
}

Solver::State::HeldPrefix::~HeldPrefix() {
  if (--solver_.holding_prefix > 0) return;
  solver_.writer.join();
  solver_.lock.reset();
}

std::string Solver::State::snapshot() {
  finish_snapshots();
  const std::string name = snapshot_name(prefix(), iteration);
  const std::string state_file = name + state_extension();
  if (parameter.snapshot_keep() > 0) {
    kept.erase(std::remove(kept.begin(), kept.end(), state_file), kept.end());
    kept.push_back(state_file);
  }
  write_pair(name);
  return state_file;
}

void Solver::State::finish_snapshots() {
  on_root(replicas, [&] { writer.wait(); });
  while (parameter.snapshot_keep() > 0 && static_cast<int>(kept.size()) > parameter.snapshot_keep()) {
    delete_snapshot(kept.front(), replicas.rank());
    kept.erase(kept.begin());
  }
}

/// Snapshots when the score that snapshot_best names is better than ever.
void Solver::State::snapshot_best() {
  if (best_output.name.empty()) return;
  const Score& score = scores[best_output.net][best_output.index];
  const double sign = score.loss_weight != 0 ? -1 : 1;
  if (!std::isfinite(score.value) || (best && sign * score.value <= sign * *best)) return;
  best = score.value;
  CORTADO_LOG(info) << "Iteration " << iteration << ": the best " << score.name << " so far, " << score.value;
  finish_snapshots();
  write_pair(best_name(prefix()));
}

/// NAME.caffemodel and NAME.solverstate of the present iteration, or all that the writer needs for them.
void Solver::State::write_pair(const std::string& name) {
  const HeldPrefix held(*this);
  const auto megabytes = [](const Storage& of) { return megabytes_text(4.0 * static_cast<double>(of.count)); };
  naming_memory(
      "snapshot '" + name + "'", [&] { write_held_pair(name); },
      [&] {
        return ", copies of weights, " + megabytes(*net->parameter_arena()) +
               (optimizer ? ", or history, " + megabytes(*optimizer->history()) : "");
      });
  if (!writer.works_beside()) finish_snapshots();
}

/// When all other memory of training is there, a snapshot that will not fit is told, before hours of work hang on it.
void Solver::State::foresee_snapshot() {
  if (foresaw_snapshot || holding_prefix == 0 || !optimizer || replicas.rank() != 0) return;
  foresaw_snapshot = true;
  i64 largest = 0;
  for (const auto& learnable : net->learnable()) largest = std::max(largest, learnable.blob->bytes());
  const i64 weights = net->parameter_arena()->count, histories = optimizer->values_of_all_parts();
  const i64 copy = 4 * (writer.works_beside() ? (average ? 2 : 1) * weights + histories : std::max(weights, histories));
  const i64 need = copy + largest, free = free_host_memory();
  if (need > free)
    CORTADO_LOG(warning) << "A snapshot will need " << megabytes_text(static_cast<double>(need)) << ", and "
                         << megabytes_text(static_cast<double>(free))
                         << " are free: it may fail, and the training with it (cortado check says what needs what)";
}

void Solver::State::write_held_pair(const std::string& name) {
  const std::string model_file = name + model_extension(), state_file = name + state_extension();
  complete_update();
  const auto model = std::make_shared<caffe::NetParameter>();  // both on rank 0 only
  const auto state = std::make_shared<caffe::SolverState>();
  write_average(state_file, *state->mutable_cortado());
  const RunningStatistics::Averaged averaged(*statistics);
  exchange.restore_weights(*net);
  on_root(replicas, [&] { describe(model_file, *model, *state); });
  exchange.share_weights(*net);
  net->collect_shards(*model, parameter.snapshot_diff());
  statistics->write(*state->mutable_cortado()->mutable_statistics());
  on_root(replicas, [&] {
    state->mutable_cortado()->set_weights_digest(weights_digest(*net, *model, model_file));
    write_model(model_file, model);
    optimizer->write_history(*state);
  });
  if (optimizer) optimizer->collect_history(*state);
  write_residuals(state_file, replicas.from_root(state->cortado().weights_digest()));
  double all = 1;
  replicas.sum(&all, 1);  // the state comes last: where it is, everything is
  on_root(replicas, [&] {
    writer.add([this, state_file, state] { write_state(state_file, *state); });
    writer.start();
  });
}

/// The average of weights and of running statistics, if there is one, as weights that any command reads.
void Solver::State::write_average(const std::string& state_file, caffe::CortadoState& state) {
  const std::string file = average_file(state_file);
  if (!average) {  // that of an earlier run that wrote a snapshot of this name is not of this one
    std::error_code none;
    if (replicas.rank() == 0) std::filesystem::remove(file, none);
    return;
  }
  const Scored scored(*this);
  const auto model = std::make_shared<caffe::NetParameter>();
  on_root(replicas, [&] { net->to_proto(*model); });
  net->collect_shards(*model);
  statistics->write(*state.mutable_averaged_statistics());
  on_root(replicas, [&] {
    state.set_averaged_digest(weights_digest(*net, *model, file));
    write_model(file, model);
  });
}

/// States without an average are of runs without one.
void Solver::State::restore_average(const SnapshotPair& pair, const caffe::CortadoState& stored,
                                    const std::string& state_file) {
  if (!average) return;
  if (!stored.has_averaged_digest()) {
    CORTADO_LOG(warning) << state_file << " has no average of weights: it begins as the weights";
    return average->begin();
  }
  const WeightAverage::Shown shown(*average);
  on_root(replicas, [&] { net->copy_trained(pair.average); });
  share_from_root(replicas, *options.group, *net->parameter_arena());
  net->spread_shards(pair.average);
  statistics->restore(pair.state.cortado().averaged_statistics(), state_file);
}

/// Each rank's own, beside the state: at a thousand ranks they are many times as large as the weights.
void Solver::State::write_residuals(const std::string& state_file, const std::string& digest) const {
  const std::vector<float> values = exchange.residuals();
  const std::string name = residuals_file(state_file, replicas.rank());
  if (values.empty()) {  // those of an earlier run that wrote a snapshot of this name are not of this one
    std::error_code none;
    std::filesystem::remove(name, none);
    return;
  }
  caffe::SolverState file;
  file.set_iter(static_cast<int>(iteration));
  file.mutable_cortado()->set_weights_digest(digest);
  file.add_history()->mutable_data()->Add(values.begin(), values.end());
  write_binary(name, file);
}

/// Residuals that are missing or do not fit make the first iterations a little less exact, no more: a warning.
void Solver::State::restore_residuals(const std::string& state_file, const std::string& digest) {
  const std::string name = residuals_file(state_file, replicas.rank());
  std::vector<float> values;
  if (exists(name)) {
    caffe::SolverState file;
    read_binary(name, file);
    if (file.iter() == iteration && file.cortado().weights_digest() == digest && file.history_size() == 1)
      values.assign(file.history(0).data().begin(), file.history(0).data().end());
  }
  if (!exchange.restore_residuals(*net, values))
    CORTADO_LOG(warning) << name << " is missing or of another run: what the gradients' codes had left out before this "
                         << "snapshot is lost, and the run does not go on bit for bit";
}

void Solver::State::describe(const std::string& model_file, caffe::NetParameter& model,
                             caffe::SolverState& state) const {
  net->to_proto(model, parameter.snapshot_diff());
  state.set_iter(static_cast<int>(iteration));
  state.set_learned_net(model_file);
  // Before iteration 0 no step can have been: a stepvalue of 0 does not count there.
  state.set_current_step(static_cast<int>(std::min<i64>(rate_step(parameter, iteration), iteration)));
  auto& own = *state.mutable_cortado();
  store_plans(net->plans(), own);
  own.set_ranks(replicas.size());
  own.set_threads(options.group->spec().cpes);
  for (const std::string& file : kept) own.add_kept(file);
  if (best) own.set_best(*best);
}

/// Leaves `model` empty: its memory is free for what is written next.
void Solver::State::write_model(const std::string& file, const std::shared_ptr<caffe::NetParameter>& model) {
  if (writes_hdf5()) keep_owners(*net, *model);
  writer.add([this, file, model] {
    CORTADO_LOG(info) << "Snapshotting to " << kind_of_files() << file;
    if (writes_hdf5())
      options.hdf5->write_weights(file, *model);
    else
      write_binary(file, *model);
    caffe::NetParameter().Swap(model.get());
  });
}

void Solver::State::write_state(const std::string& file, const caffe::SolverState& state) const {
  CORTADO_LOG(info) << "Snapshotting solver state to " << kind_of_files() << file;
  if (writes_hdf5())
    options.hdf5->write_state(file, state);
  else
    write_binary(file, state);
}

void Solver::State::restore(const std::string& state_file) {
  CORTADO_LOG(info) << "Restoring previous solver status from " << state_file;
  SnapshotPair pair;  // on rank 0 only
  naming_memory(state_file, [&] {
    on_root(replicas, [&] { pair = read_pair(state_file, *net, options.hdf5, average != nullptr); });
    go_on_from(pair, state_file);
  });
}

/// Rank 0's files count: where another rank sees newer ones, a run would go back without a word.
void Solver::State::require_newest_at_root(const std::string& of) const {
  std::vector<double> newest(static_cast<std::size_t>(replicas.size()));
  newest[static_cast<std::size_t>(replicas.rank())] = static_cast<double>(newest_iteration(of));
  replicas.sum(newest.data(), replicas.size());
  const auto highest = std::max_element(newest.begin(), newest.end());
  if (*highest <= newest[0]) return;
  const auto at = [&](double iteration) { return snapshot_name(of, static_cast<long>(iteration)) + state_extension(); };
  throw ConfigError("rank " + std::to_string(highest - newest.begin()),
                    "sees the snapshot " + at(*highest) + ", and rank 0 " +
                        (newest[0] < 0 ? "none" : "none newer than " + at(newest[0])),
                    "let snapshot_prefix name a folder that all ranks see, or copy the pair to rank 0's node");
}

/// Pairs that are not whole are passed over. Those of another net are not: then the user has to decide.
bool Solver::State::restore_newest() {
  const std::string of = prefix();
  require_newest_at_root(of);
  SnapshotPair pair;  // on rank 0 only
  std::string file;
  const auto take = [&](const std::string& state_file) {
    try {
      pair = read_pair(state_file, *net, options.hdf5, average != nullptr);
      file = state_file;
    } catch (const FileError& error) {
      CORTADO_LOG(warning) << "Passing over a snapshot that is not whole: " << error.what();
    }
    return !file.empty();
  };
  on_root(replicas, [&] {
    const auto states = states_of(of);
    if (std::none_of(states.begin(), states.end(), take)) pair = {};
  });
  file = replicas.from_root(file);
  if (file.empty()) {
    CORTADO_LOG(info) << "No snapshot of " << of << " is there: beginning at iteration 0";
    return false;
  }
  CORTADO_LOG(info) << "Restoring previous solver status from the newest snapshot, " << file;
  go_on_from(pair, file);
  return true;
}

void Solver::State::go_on_from(const SnapshotPair& pair, const std::string& state_file) {
  caffe::SolverState header;
  header.set_iter(pair.state.iter());
  *header.mutable_cortado() = pair.state.cortado();
  header.mutable_cortado()->clear_statistics();
  header.mutable_cortado()->clear_averaged_statistics();
  require(header.ParseFromString(replicas.from_root(header.SerializeAsString())), "rank 0 sent the state");

  restore_plans(header.cortado());
  exchange.restore_weights(*net);
  on_root(replicas, [&] {
    net->copy_trained(pair.weights);
    optimizer->read_history(pair.state, state_file);
  });
  share_weights();
  if (!exchange.has_master() && !optimizer->has_parts())
    share_from_root(replicas, *options.group, *optimizer->history());
  net->spread_shards(pair.weights);
  if (optimizer) optimizer->spread_history(pair.state);
  statistics->restore(pair.state.cortado().statistics(), state_file);
  restore_average(pair, header.cortado(), state_file);
  iteration = header.iter();
  go_on_keeping(header.cortado(), state_file);
  restore_residuals(state_file, header.cortado().weights_digest());
}

/// Takes over the facts about the run before the snapshot that rotation and the best score need.
void Solver::State::go_on_keeping(const caffe::CortadoState& stored, const std::string& state_file) {
  best.reset();
  if (stored.has_best() && !best_output.name.empty()) best = stored.best();
  caffe::CortadoState own;
  if (replicas.rank() == 0 && !parameter.snapshot_prefix().empty())
    for (const std::string& file : own_states({stored.kept().begin(), stored.kept().end()}, state_file, prefix()))
      own.add_kept(file);
  require(own.ParseFromString(replicas.from_root(own.SerializeAsString())), "rank 0 sent its list");
  kept.assign(own.kept().begin(), own.kept().end());
}

/// Other candidates, ranks or threads sum in another order: then the run goes on, but not bit for bit.
void Solver::State::restore_plans(const caffe::CortadoState& stored) {
  const auto differs = [](const char* what, int then, int now) {
    if (then != 0 && then != now)
      CORTADO_LOG(warning) << "The snapshot was written with " << then << " " << what << ", this run has " << now
                           << ": it goes on, but not bit for bit.";
  };
  differs("ranks", stored.ranks(), replicas.size());
  differs("threads", stored.threads(), options.group->spec().cpes);
  const PlanBook own = net->plans();
  try {
    net->use_plans(plans_of(stored));
  } catch (const PlanError& error) {
    CORTADO_LOG(warning) << "The snapshot's plans do not fit here, so the run does not go on bit for bit: "
                         << error.what();
    net->use_plans(own);
  }
}

void Solver::State::load_weights(const std::string& model_files) {
  exchange.restore_weights(*net);
  std::istringstream list(model_files);
  std::string file;
  while (std::getline(list, file, ',')) {
    file.erase(0, file.find_first_not_of(" \t"));
    file.erase(file.find_last_not_of(" \t") + 1);
    CORTADO_LOG(info) << "Finetuning from " << file;
    naming_memory(file, [&] {
      caffe::NetParameter trained;  // on rank 0 only
      on_root(replicas, [&] {
        read_weights(file, options.hdf5, trained);
        net->copy_trained(trained);
      });
      net->spread_shards(trained);
    });
  }
  share_weights();
  if (average) average->begin();
}

}  // namespace cortado
