#include "core/solver/state_file.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/formats/blob_proto.h"
#include "core/formats/digest.h"

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
/// The name of weights beside a state: X and the extension for X.solverstate, with .h5 behind both or neither.
std::string named_like(const std::filesystem::path& state_file, const char* extension = ".caffemodel") {
  const bool hdf5 = state_file.extension() == ".h5";
  const std::filesystem::path stem = (hdf5 ? state_file.stem() : state_file).filename().replace_extension(extension);
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

namespace {
/// Calls visit(learnable, its whole values) for what `weights` hold of a net.
template <class Visit>
void for_each_learnable(const Net& net, const caffe::NetParameter& weights, const std::string& file, Visit visit) {
  std::map<std::string, const caffe::LayerParameter*> layers;
  for (const auto& layer : weights.layer()) layers.emplace(layer.name(), &layer);
  for (const Net::Learnable& learnable : net.learnable()) {
    const auto layer = layers.find(learnable.layer);
    if (layer == layers.end() || learnable.index >= layer->second->blobs_size())
      throw FileError(file, "holds no weights of layer '" + learnable.layer + "'",
                      "it is truncated, or of another net");
    visit(learnable, values_of(layer->second->blobs(learnable.index), file + ", layer '" + learnable.layer + "'"));
  }
}

bool is_finite(double value) { return std::isfinite(value); }
}  // namespace

std::string weights_digest(const Net& net, const caffe::NetParameter& weights, const std::string& file) {
  Digest digest;
  for_each_learnable(net, weights, file, [&](const Net::Learnable& learnable, const std::vector<float>& values) {
    digest.add(learnable.layer);
    digest.add(values.data(), values.size() * sizeof(float));
  });
  return digest.text();
}

std::vector<std::string> places_of_weights(const caffe::SolverState& state, const std::string& state_file) {
  namespace fs = std::filesystem;
  const fs::path named = state.learned_net(), folder = fs::path(state_file).parent_path();
  std::vector<std::string> places = {(folder / named_like(state_file)).string()};
  if (named.empty()) return places;
  std::error_code none;
  const auto whole = [&](const fs::path& place) { return fs::absolute(place, none).lexically_normal(); };
  for (const fs::path& place : {folder / named.filename(), named})
    if (std::none_of(places.begin(), places.end(), [&](const auto& other) { return whole(other) == whole(place); }))
      places.push_back(place.string());
  return places;
}

std::string average_file(const std::string& state_file) {
  return (std::filesystem::path(state_file).parent_path() / named_like(state_file, ".ema.caffemodel")).string();
}

namespace {
constexpr const char* diverged = "it is damaged, or its run had diverged; use an earlier snapshot";

/// Checks the fields of a state that do not depend on the net. Throws FileError.
void check_state(const caffe::SolverState& state, const std::string& file) {
  if (!state.has_iter() || !state.has_current_step())
    throw FileError(file, std::string("has no ") + (state.has_iter() ? "current_step" : "iter"),
                    "every solver state has one: it is damaged, or no solver state");
  if (state.iter() < 0) throw FileError(file, "iter is " + std::to_string(state.iter()), "it is damaged");
  if (state.current_step() < 0 || state.current_step() > state.iter())
    throw FileError(
        file,
        "current_step is " + std::to_string(state.current_step()) + " at iteration " + std::to_string(state.iter()),
        "it counts the steps of the learning rate until then: the file is damaged");
  for (int i = 0; i < state.history_size(); ++i) {
    const auto& values = state.history(i).data();
    const auto& doubles = state.history(i).double_data();
    if (!std::all_of(values.begin(), values.end(), is_finite) ||
        !std::all_of(doubles.begin(), doubles.end(), is_finite))
      throw FileError(file, "history " + std::to_string(i) + " holds NaN or infinite values", diverged);
  }
}

void check_finite(const Net& net, const caffe::NetParameter& weights, const std::string& file) {
  for_each_learnable(net, weights, file, [&](const Net::Learnable& learnable, const std::vector<float>& values) {
    if (!std::all_of(values.begin(), values.end(), is_finite))
      throw FileError(file, "layer '" + learnable.layer + "' holds NaN or infinite values", diverged);
  });
}

std::string listed(const std::vector<std::string>& files) {
  std::string text;
  for (const std::string& file : files) text += (text.empty() ? "" : ", ") + file;
  return text;
}
}  // namespace

namespace {
void read_average(const std::string& state_file, const Net& net, const Hdf5Files* hdf5, SnapshotPair& pair) {
  const std::string file = average_file(state_file);
  if (!exists(file))
    throw FileError(state_file, "its average of weights is missing: there is no " + file,
                    "keep it beside the .solverstate, or go on without ema_decay");
  read_weights(file, hdf5, pair.average);
  if (weights_digest(net, pair.average, file) != pair.state.cortado().averaged_digest())
    throw FileError(state_file, "belongs to another average of weights than that in " + file,
                    "go on from another snapshot, or without ema_decay");
  check_finite(net, pair.average, file);
}
}  // namespace

SnapshotPair read_pair(const std::string& state_file, const Net& net, const Hdf5Files* hdf5, bool with_average) {
  SnapshotPair pair;
  read_state(state_file, hdf5, pair.state);
  check_state(pair.state, state_file);
  if (with_average && pair.state.cortado().has_averaged_digest()) read_average(state_file, net, hdf5, pair);
  const std::string& digest = pair.state.cortado().weights_digest();
  const auto places = places_of_weights(pair.state, state_file);
  std::vector<std::string> others;  // weights, but not the state's
  std::string failure;
  for (const std::string& place : places) {
    if (!exists(place)) continue;
    pair.weights_file = place;
    std::string found;
    try {
      read_weights(place, hdf5, pair.weights);
      found = weights_digest(net, pair.weights, place);
    } catch (const FileError& error) {
      if (digest.empty()) throw;
      failure = error.what();
      continue;
    }
    if (digest.empty())
      CORTADO_LOG(info) << state_file << " does not say which weights are its own, as states of Caffe and of older "
                        << "versions do not: taking " << place;
    if (digest.empty() || found == digest) {
      check_finite(net, pair.weights, place);
      return pair;
    }
    others.push_back(place);
  }
  if (!others.empty())
    throw FileError(state_file, "belongs to other weights than those in " + listed(others),
                    "two runs wrote there, or one was killed between the two files: go on from another snapshot, or "
                    "begin anew from the weights with -weights");
  if (!failure.empty()) throw FileError(state_file, "its weights are damaged: " + failure);
  throw FileError(state_file, "its weights are missing: there is no " + listed(places),
                  "keep a .solverstate and its .caffemodel together");
}

}  // namespace cortado
