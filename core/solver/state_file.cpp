#include "core/solver/state_file.h"

#include <filesystem>
#include <set>

#include "core/base/error.h"

namespace cortado {

void store_plans(const PlanBook& plans, caffe::CortadoState& state) {
  for (const auto& [direction, candidate] : plans) {
    auto& choice = *state.add_plan();
    choice.set_direction(direction);
    choice.set_candidate(candidate);
  }
}

PlanBook plans_of(const caffe::CortadoState& state) {
  PlanBook plans;
  for (const auto& choice : state.plan()) plans[choice.direction()] = choice.candidate();
  return plans;
}

namespace {
/// What weights are called beside a state: X.caffemodel for X.solverstate, with .h5 behind both or neither.
std::string named_like(const std::filesystem::path& state_file) {
  const bool hdf5 = state_file.extension() == ".h5";
  const std::filesystem::path stem =
      (hdf5 ? state_file.stem() : state_file).filename().replace_extension(".caffemodel");
  return stem.string() + (hdf5 ? ".h5" : "");
}
}  // namespace

void keep_owners(const Net& net, caffe::NetParameter& weights) {
  std::set<std::pair<std::string, int>> owners;
  for (const Net::Learnable& learnable : net.learnable()) owners.emplace(learnable.layer, learnable.index);
  for (auto& layer : *weights.mutable_layer())
    for (int i = 0; i < layer.blobs_size(); ++i)
      if (owners.count({layer.name(), i}) == 0) layer.mutable_blobs(i)->clear_data();
}

std::string weights_of(const caffe::SolverState& state, const std::string& state_file) {
  namespace fs = std::filesystem;
  const fs::path named = state.learned_net(), beside = state_file;
  if (named.empty()) throw FileError(state_file, "names no .caffemodel", "it is truncated, or not a .solverstate");
  for (const fs::path& candidate :
       {named, beside.parent_path() / named.filename(), beside.parent_path() / named_like(beside)})
    if (fs::exists(candidate)) return candidate.string();
  throw FileError(state_file, "its weights, " + named.string() + ", are neither there nor beside it",
                  "keep a .solverstate and its .caffemodel together");
}

void check_complete(const caffe::NetParameter& weights, const Net& net, const std::string& file) {
  std::set<std::string> present;
  for (const auto& layer : weights.layer()) present.insert(layer.name());
  for (const Net::Learnable& learnable : net.learnable())
    if (present.count(learnable.layer) == 0)
      throw FileError(file, "holds no weights of layer '" + learnable.layer + "'",
                      "it is truncated, or of another net");
}

}  // namespace cortado
