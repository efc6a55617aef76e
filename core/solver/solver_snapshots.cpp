#include <filesystem>
#include <sstream>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/formats/prototxt.h"
#include "core/solver/agreement.h"
#include "core/solver/rate.h"
#include "core/solver/solver_state.h"
#include "core/solver/state_file.h"

namespace cortado {

std::string Solver::State::file_name(const std::string& extension) const {
  if (parameter.snapshot_prefix().empty())
    throw ConfigError("solver", "a snapshot is due but there is no 'snapshot_prefix'",
                      "give one, or set snapshot_after_train: false");
  return parameter.snapshot_prefix() + "_iter_" + std::to_string(iteration) + extension;
}

std::string Solver::State::snapshot() {
  const std::string end = writes_hdf5() ? ".h5" : "";
  const std::string model_file = file_name(".caffemodel" + end), state_file = file_name(".solverstate" + end);
  complete_update();
  net->average_statistics();
  exchange.restore_weights(*net);
  caffe::NetParameter model;  // both on rank 0 only
  caffe::SolverState state;
  on_root(replicas, [&] { describe(model_file, model, state); });
  exchange.share_weights(*net);
  net->collect_parts(model, parameter.snapshot_diff());
  if (optimizer) optimizer->collect_parts(state);
  on_root(replicas, [&] { write_snapshot(model_file, model, state_file, state); });
  write_residuals(state_file);
  return state_file;
}

/// Each rank's own, beside the state: at a thousand ranks they are many times as large as the weights.
std::string Solver::State::residuals_file(const std::string& state_file) const {
  return state_file + ".residuals." + std::to_string(replicas.rank());
}

void Solver::State::write_residuals(const std::string& state_file) const {
  const std::vector<float> values = exchange.residuals();
  if (values.empty()) {  // those of an earlier run that wrote a snapshot of this name are not of this one
    std::error_code none;
    std::filesystem::remove(residuals_file(state_file), none);
    return;
  }
  caffe::SolverState file;
  file.set_iter(static_cast<int>(iteration));
  file.add_history()->mutable_data()->Add(values.begin(), values.end());
  write_binary(residuals_file(state_file), file);
}

/// Residuals that are missing or do not fit make the first iterations a little less exact, no more: a warning.
void Solver::State::restore_residuals(const std::string& state_file) {
  const std::string name = residuals_file(state_file);
  std::vector<float> values;
  if (exists(name)) {
    caffe::SolverState file;
    read_binary(name, file);
    if (file.iter() == iteration && file.history_size() == 1)
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
  state.set_current_step(rate_step(parameter, iteration));
  optimizer->write_history(state);
  auto& own = *state.mutable_cortado();
  store_plans(net->plans(), own);
  own.set_ranks(replicas.size());
  own.set_threads(options.group->spec().cpes);
}

void Solver::State::write_snapshot(const std::string& model_file, caffe::NetParameter& model,
                                   const std::string& state_file, const caffe::SolverState& state) const {
  const char* const kind = writes_hdf5() ? "HDF5 file " : "binary proto file ";
  CORTADO_LOG(info) << "Snapshotting to " << kind << model_file;
  if (writes_hdf5()) {
    keep_owners(*net, model);
    options.hdf5->write_weights(model_file, model);
  } else {
    write_binary(model_file, model);
  }

  CORTADO_LOG(info) << "Snapshotting solver state to " << kind << state_file;
  if (writes_hdf5())
    options.hdf5->write_state(state_file, state);
  else
    write_binary(state_file, state);
}

void Solver::State::restore(const std::string& state_file) {
  CORTADO_LOG(info) << "Restoring previous solver status from " << state_file;
  caffe::SolverState state;  // with its history on rank 0 only
  on_root(replicas, [&] { read_state(state_file, options.hdf5, state); });
  caffe::SolverState header;
  header.set_iter(state.iter());
  *header.mutable_cortado() = state.cortado();
  require(header.ParseFromString(replicas.from_root(header.SerializeAsString())), "rank 0 sent the state");

  restore_plans(header.cortado());
  exchange.restore_weights(*net);
  caffe::NetParameter trained;  // on rank 0 only
  on_root(replicas, [&] {
    const std::string weights = weights_of(state, state_file);
    read_weights(weights, options.hdf5, trained);
    check_complete(trained, *net, weights);
    net->copy_trained(trained);
    optimizer->read_history(state, state_file);
  });
  share_weights();
  if (!exchange.has_master()) share_from_root(replicas, *options.group, *optimizer->history());
  net->spread_parts(trained);
  if (optimizer) optimizer->spread_parts(state);
  iteration = header.iter();
  restore_residuals(state_file);
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
    caffe::NetParameter trained;  // on rank 0 only
    on_root(replicas, [&] {
      read_weights(file, options.hdf5, trained);
      net->copy_trained(trained);
    });
    net->spread_parts(trained);
  }
  share_weights();
}

}  // namespace cortado
