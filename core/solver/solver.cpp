#include "core/solver/solver.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/formats/prototxt.h"
#include "core/solver/agreement.h"
#include "core/solver/core_groups.h"
#include "core/solver/layerwise_update.h"
#include "core/solver/optimizer.h"
#include "core/solver/rate.h"
#include "core/solver/smoothed_loss.h"
#include "core/solver/solver_parameter.h"
#include "core/solver/state_file.h"
#include "core/tuner/tuner.h"

namespace cortado {
namespace {
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Whether something that happens every `period` iterations, 0: never, happens at this one.
bool due(i64 iteration, int period) { return period > 0 && iteration % period == 0; }

/// One zero per element of every output.
std::vector<double> no_sums(const Net& net) {
  i64 count = 0;
  for (const Net::Output& output : net.outputs()) count += output.blob->count();
  return std::vector<double>(static_cast<std::size_t>(count));
}

/// Adds the values of all outputs, element by element, to such sums.
void add_outputs(const Net& net, std::vector<double>& sums) {
  auto sum = sums.begin();
  for (const Net::Output& output : net.outputs())
    for (const float value : output.blob->data_vector()) *sum++ += double{value};
}

std::vector<Solver::Score> scores_of(const Net& net, const double* sums, i64 terms) {
  std::vector<Solver::Score> scores;
  for (const Net::Output& output : net.outputs())
    for (i64 i = 0; i < output.blob->count(); ++i)
      scores.push_back({output.name, *sums++ / static_cast<double>(terms), output.loss_weight});
  return scores;
}

/// Caffe's line for one output value; its log tools read it.
std::string score_line(const char* phase, std::size_t index, const Solver::Score& score) {
  std::ostringstream line;
  line << "    " << phase << " net output #" << index << ": " << score.name << " = " << score.value;
  if (score.loss_weight != 0)
    line << " (* " << score.loss_weight << " = " << score.loss_weight * score.value << " loss)";
  return line.str();
}

/// Makes the prefix's folder; fails now rather than after hours when nothing can be written there.
void probe(const std::string& prefix) {
  const auto folder = std::filesystem::path(prefix).parent_path();
  std::error_code ignored;  // the probe tells
  if (!folder.empty()) std::filesystem::create_directories(folder, ignored);
  const std::string file = prefix + ".probe";
  if (!std::ofstream(file)) throw FileError(prefix, "snapshots cannot be written there", "change snapshot_prefix");
  std::filesystem::remove(file);
}
}  // namespace

struct Solver::State {
  State(const caffe::SolverParameter& given, const SolverOptions& given_options);

  std::unique_ptr<Net> make_net(const caffe::NetParameter& net, const Replicas* net_replicas) const;
  void make_test_nets();

  void step(i64 iterations);
  void iterate(i64 iterations);
  void try_plans(const std::function<void()>& work);
  std::string lane() const { return "core group " + std::to_string(options.group->index()); }
  void forward();
  void backward(const std::function<void(std::size_t)>& finished);
  double forward_backward(std::string& bad_layer);
  struct Merged {
    double loss;  ///< mean
    bool not_finite, snapshot, stop;
  };
  Merged merge(double loss, bool not_finite);
  bool may_update_late() const;
  float exchange_gradients(bool late);
  void update_weights(float factor, bool late);
  void complete_update();
  void share_weights();
  [[noreturn]] void throw_not_finite(const std::string& bad_layer);
  void log_training(Clock::time_point shown, i64 shown_at);
  void tell_progress(double seconds);
  void log_final_loss();

  void test_all();
  void test(std::size_t index);
  static void assist(Net& tested);

  bool writes_hdf5() const { return parameter.snapshot_format() == caffe::SolverParameter::HDF5; }
  std::string file_name(const std::string& extension) const;
  std::string snapshot();
  void describe(const std::string& model_file, caffe::NetParameter& model, caffe::SolverState& state) const;
  void write_snapshot(const std::string& model_file, caffe::NetParameter& model, const std::string& state_file,
                      const caffe::SolverState& state) const;
  void restore(const std::string& state_file);
  std::string residuals_file(const std::string& state_file) const;
  void write_residuals(const std::string& state_file) const;
  void restore_residuals(const std::string& state_file);
  void restore_plans(const caffe::CortadoState& stored);
  void load_weights(const std::string& model_files);

  const caffe::SolverParameter parameter;
  const SolverOptions options;
  const Replicas alone;
  const Replicas& replicas;
  NoExchange no_exchange;
  GradientExchange& exchange;
  std::unique_ptr<Net> net;
  std::vector<std::unique_ptr<Net>> test_nets;
  std::unique_ptr<Optimizer> optimizer;     // null on replicas that a master updates
  std::unique_ptr<LayerwiseUpdate> update;  // where there is an optimizer
  std::unique_ptr<Tuner> tuner;
  SmoothedLoss smoothed;
  std::vector<std::vector<Score>> scores;
  i64 iteration = 0;
  i64 tests = 0;  // of nets, so far
  double last_loss = 0;
  double seconds_per_iteration = 0;
  bool stopped = false;
};

Solver::State::State(const caffe::SolverParameter& given, const SolverOptions& given_options)
    : parameter(given),
      options(given_options),
      replicas(options.replicas != nullptr ? *options.replicas : alone),
      exchange(options.exchange != nullptr ? *options.exchange : no_exchange),
      smoothed(std::max(1, given.average_loss())) {
  require(options.exchange != nullptr || replicas.size() == 1, "several replicas have a gradient exchange");
  check_solver(parameter);
  if (writes_hdf5()) require_hdf5(options.hdf5, "a snapshot");
  CORTADO_LOG(info) << "Initializing solver from parameters:\n" << parameter.DebugString();
  if (parameter.debug_info()) CORTADO_LOG(warning) << "debug_info has no effect here";
  NamedNet training = training_net(parameter);
  divide_batches(training.net, options.core_groups);
  CORTADO_LOG(info) << "Creating training net from " << training.source;
  net = make_net(training.net, &replicas);
  if (exchange.has_master() && net->end_of_divided() > 0)
    throw ConfigError("layer '" + net->layers()[net->end_of_divided() - 1].layer->name() + "'",
                      "is divided over ranks, but the exchange lets rank 0 alone update",
                      "use another exchange, or leave out `divided`");
  share_weights();
  if (replicas.rank() == 0 || !exchange.has_master()) {
    optimizer = std::make_unique<Optimizer>(parameter, *net, *options.group);
    update = std::make_unique<LayerwiseUpdate>(*net, *options.group, *optimizer, exchange, options.timeline, lane());
  }
  make_test_nets();
  for (const std::string& files : parameter.weights()) load_weights(files);
  CORTADO_LOG(info) << "Solver scaffolding done.";
}

std::unique_ptr<Net> Solver::State::make_net(const caffe::NetParameter& net_parameter,
                                             const Replicas* net_replicas) const {
  NetOptions net_options;
  if (options.tuning != nullptr) net_options.layouts = options.tuning->layouts();
  net_options.group = options.group;
  net_options.layers = options.layers;
  net_options.sources = options.sources;
  net_options.sinks = options.sinks;
  net_options.writer = replicas.rank();
  net_options.writers = replicas.size();
  net_options.feed = options.feed;
  net_options.replicas = net_replicas;
  net_options.parts = options.parts;
  net_options.seed = parameter.random_seed() >= 0 ? static_cast<std::uint64_t>(parameter.random_seed()) : 1;
  net_options.only_trains = true;
  net_options.loss_scale = parameter.loss_scale();
  net_options.precision = parameter.precision() == caffe::BF16 ? Precision::bf16 : Precision::fp32;
  auto made = std::make_unique<Net>(net_parameter, net_options);
  if (options.tuning != nullptr) made->use_plans(options.tuning->plans_for(*made));
  share_plans(replicas, *made);
  return made;
}

void Solver::State::make_test_nets() {
  for (const NamedNet& named : cortado::test_nets(parameter)) {
    CORTADO_LOG(info) << "Creating test net (#" << test_nets.size() << ") specified by " << named.source;
    // Each rank runs whole passes of its own, so a test net has no replicas: its layers must not meet others, but those
    // whose weights others hold.
    test_nets.push_back(make_net(named.net, nullptr));
    test_nets.back()->share_trained(*net);
  }
  scores.resize(test_nets.size());
}

void Solver::State::step(i64 iterations) {
  iterate(iterations);
  complete_update();
}

void Solver::State::iterate(i64 iterations) {
  const i64 end = iteration + iterations;
  smoothed = SmoothedLoss(parameter.average_loss());
  auto shown = Clock::now();
  i64 shown_at = iteration;
  while (iteration < end) {
    if (due(iteration, parameter.test_interval()) && (iteration > 0 || parameter.test_initialization())) {
      test_all();
      if (stopped) return;
    }
    const auto start = Clock::now();
    std::string bad_layer;
    double loss = 0;
    try_plans([&] { loss = forward_backward(bad_layer); });
    const Merged merged = merge(loss, !std::isfinite(loss));
    if (merged.not_finite) throw_not_finite(bad_layer);
    last_loss = merged.loss;
    smoothed.add(merged.loss);
    if (due(iteration, parameter.display())) {
      log_training(shown, shown_at);
      shown = Clock::now();
      shown_at = iteration;
    }
    const bool late = may_update_late();
    update_weights(exchange_gradients(late), late);
    ++iteration;
    tell_progress(seconds_since(start));
    if (merged.snapshot || due(iteration, parameter.snapshot())) snapshot();
    if (merged.stop) {
      stopped = true;
      return;
    }
  }
}

/// The choice of plans in the first iterations (swCaffe section IV-B): after one that warms memory and caches up, two
/// in which every layer and direction tries its two likeliest candidates; the faster one stays.
void Solver::State::try_plans(const std::function<void()>& work) {
  constexpr i64 first = 1, trials = 2;
  if (!options.choose_plans || iteration < first || iteration >= first + trials ||
      (tuner == nullptr && iteration > first))
    return work();
  complete_update();
  if (tuner == nullptr) tuner = std::make_unique<Tuner>(*net, trials);
  tuner->run(static_cast<std::size_t>(iteration - first), work);
  if (iteration + 1 < first + trials) return;
  net->use_plans(tuner->best());
  share_plans(replicas, *net);
  for (const auto& [where, candidate] : net->plans()) CORTADO_LOG(info) << "Plan of " << where << ": " << candidate;
  tuner.reset();
}

/// With a timeline every layer is waited for, so that its time is its own.
void Solver::State::forward() {
  if (options.timeline == nullptr && (!update || update->is_complete())) return net->forward();
  for (std::size_t i = 0; i < net->layers().size(); ++i) {
    if (update) update->before_layer(i);
    const Net::Entry& entry = net->layers()[i];
    const bool reads = entry.bottom.empty();
    const TimelineSpan span(options.timeline, lane(), entry.layer->name(), reads ? "data" : "forward");
    net->forward(i, i + 1);
    if (options.timeline != nullptr) options.group->wait();
  }
}

void Solver::State::backward(const std::function<void(std::size_t)>& finished) {
  if (options.timeline == nullptr) return net->backward(0, net->layers().size(), finished);
  for (std::size_t i = net->layers().size(); i-- > 0;) {
    std::vector<std::size_t> done;
    {
      const TimelineSpan span(options.timeline, lane(), net->layers()[i].layer->name(), "backward");
      net->backward(i, i + 1, [&](std::size_t layer) { done.push_back(layer); });
      options.group->wait();
    }
    const TimelineSpan span(options.timeline, lane(), "gradients of a layer", "exchange");
    for (const std::size_t layer : done) finished(layer);
  }
}

/// Accumulates the gradients of iter_size passes; returns this rank's mean loss. `bad_layer` becomes the first layer
/// that is not finite, if a loss is not.
double Solver::State::forward_backward(std::string& bad_layer) {
  double sum = 0;
  const int micro_batches = parameter.iter_size();
  for (int micro = 0; micro < micro_batches; ++micro) {
    net->run().pass = iteration * micro_batches + micro;
    forward();
    if (micro == 0) {  // until here the last update may have needed its gradients
      complete_update();
      net->clear_gradients();
    }
    const bool last = micro + 1 == micro_batches;
    backward([&](std::size_t i) {
      if (last) exchange.layer_finished(*net, i);
    });
    const double loss = net->loss();
    if (!std::isfinite(loss) && bad_layer.empty()) bad_layer = net->first_not_finite();
    sum += loss;
  }
  return sum / micro_batches;
}

/// Whether the update may go on in the next forward.
bool Solver::State::may_update_late() const {
  return exchange.comes_in_parts() && !optimizer->looks_at_all_gradients();
}

float Solver::State::exchange_gradients(bool late) {
  const TimelineSpan span(options.timeline, lane(), "exchange", "exchange");
  return late ? exchange.start(*net) : exchange.finish(*net);
}

/// `factor` as GradientExchange::finish returns it.
void Solver::State::update_weights(float factor, bool late) {
  if (optimizer) {
    const TimelineSpan span(options.timeline, lane(), "update", "update");
    exchange.restore_weights(*net);
    const GradientScale mean{factor, 1 / static_cast<float>(replicas.size())};
    update->begin(optimizer->begin(iteration, mean.scaled(1, parameter.loss_scale())));
    if (late) return;
    update->complete();
    if (options.timeline != nullptr) options.group->wait();
  }
  const TimelineSpan span(options.timeline, lane(), "weights", "exchange");
  exchange.share_weights(*net);
}

/// Before weights, histories or gradients are looked at.
void Solver::State::complete_update() {
  if (update) update->complete();
}

/// Rank 0's, in every bit, and then as the exchange hands them out.
void Solver::State::share_weights() {
  share_from_root(replicas, *options.group, *net->parameter_arena());
  exchange.share_weights(*net);
}

/// The one small collective per iteration: everybody's loss and what everybody's signals asked for.
Solver::State::Merged Solver::State::merge(double loss, bool not_finite) {
  const SolverAction action = options.action ? options.action() : SolverAction::none;
  double sums[] = {not_finite ? 0 : loss, not_finite ? 1.0 : 0.0, action == SolverAction::snapshot ? 1.0 : 0.0,
                   action == SolverAction::stop ? 1.0 : 0.0};
  replicas.sum(sums, 4);
  return {sums[0] / replicas.size(), sums[1] > 0, sums[2] > 0, sums[3] > 0};
}

/// All ranks throw the same: the earliest layer that any of them found, on the lowest rank that found it.
void Solver::State::throw_not_finite(const std::string& bad_layer) {
  const auto& layers = net->layers();
  const auto count = static_cast<i64>(layers.size());
  const auto found = std::find_if(layers.begin(), layers.end(),
                                  [&](const Net::Entry& entry) { return entry.layer->name() == bad_layer; });
  // Larger is earlier; count stands for "no layer known", which is what healthy ranks say too.
  const i64 size = replicas.size();
  i64 key = (count - (found - layers.begin())) * size + (size - 1 - replicas.rank());
  replicas.maximum(&key, 1);
  const i64 index = count - key / size, rank = size - 1 - key % size;
  const std::string when =
      " at iteration " + std::to_string(iteration) + (size > 1 ? " on rank " + std::to_string(rank) : "");
  const std::string advice = "lower base_lr, set clip_gradients, or look for bad values in the data";
  if (index == count) throw NumericError("net '" + net->name() + "'", "the loss is NaN or infinite" + when, advice);
  throw NumericError("layer '" + layers[static_cast<std::size_t>(index)].layer->name() + "'",
                     "the loss is NaN or infinite" + when + "; this layer is the first that holds such values", advice);
}

void Solver::State::log_training(Clock::time_point shown, i64 shown_at) {
  const auto lapse = static_cast<float>(seconds_since(shown));
  const float per_second = static_cast<float>(iteration - shown_at) / (lapse > 0 ? lapse : 1);
  CORTADO_LOG(info) << "Iteration " << iteration << " (" << per_second << " iter/s, " << lapse << "s/"
                    << parameter.display() << " iters), loss = " << smoothed.value();
  auto sums = no_sums(*net);
  add_outputs(*net, sums);
  replicas.sum(sums.data(), static_cast<i64>(sums.size()));
  const auto outputs = scores_of(*net, sums.data(), replicas.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) CORTADO_LOG(info) << score_line("Train", i, outputs[i]);
}

void Solver::State::tell_progress(double seconds) {
  // Recent iterations count most: the first ones plan and allocate.
  seconds_per_iteration = seconds_per_iteration > 0 ? 0.9 * seconds_per_iteration + 0.1 * seconds : seconds;
  if (!options.progress || replicas.rank() != 0) return;
  double images = 0;
  const auto& layers = net->layers();
  if (!layers.empty() && !layers[0].top.empty() && layers[0].top[0]->axes() > 0)
    images = static_cast<double>(layers[0].top[0]->dim(0) * parameter.iter_size() * replicas.size());
  options.progress({iteration, parameter.max_iter(), images / seconds_per_iteration, last_loss});
}

/// The loss of the final weights, by one more forward pass, as Caffe shows it.
void Solver::State::log_final_loss() {
  net->run().pass = iteration * parameter.iter_size();
  net->forward();
  double loss = net->loss();
  replicas.sum(&loss, 1);
  smoothed.add(loss / replicas.size());
  CORTADO_LOG(info) << "Iteration " << iteration << ", loss = " << smoothed.value();
}

void Solver::State::test_all() {
  if (test_nets.empty()) return;
  complete_update();
  net->average_statistics();
  for (std::size_t i = 0; i < test_nets.size() && !stopped; ++i) test(i);
}

/// For other ranks' passes, in which this one has none: what divided layers need. Layers that only take, like those
/// that write files, are left out.
void Solver::State::assist(Net& tested) {
  for (std::size_t i = 0; i < tested.end_of_divided(); ++i)
    if (!tested.layers()[i].top.empty()) tested.forward(i, i + 1);
}

void Solver::State::test(std::size_t index) {
  CORTADO_LOG(info) << "Iteration " << iteration << ", Testing net (#" << index << ")";
  Net& tested = *test_nets[index];
  const int passes = parameter.test_iter(static_cast<int>(index));
  double loss = 0;
  auto sums = no_sums(tested);
  tested.run().parameter_version = ++tests;
  for (int first = 0; first < passes; first += replicas.size()) {
    const Merged merged = merge(0, false);
    if (merged.snapshot) snapshot();
    if (merged.stop) {
      stopped = true;
      CORTADO_LOG(info) << "Test interrupted.";
      return;
    }
    tested.run().pass = first + replicas.rank();
    if (tested.run().pass >= passes) {
      assist(tested);
      continue;
    }
    tested.forward();
    if (parameter.test_compute_loss()) loss += tested.loss();
    add_outputs(tested, sums);
  }
  sums.push_back(loss);
  replicas.sum(sums.data(), static_cast<i64>(sums.size()));
  if (parameter.test_compute_loss()) CORTADO_LOG(info) << "Test loss: " << sums.back() / passes;
  scores[index] = scores_of(tested, sums.data(), passes);
  for (std::size_t i = 0; i < scores[index].size(); ++i) CORTADO_LOG(info) << score_line("Test", i, scores[index][i]);
}

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
    std::filesystem::remove(residuals_file(state_file));
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
  if (std::filesystem::exists(name)) {
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

Solver::Solver(const caffe::SolverParameter& parameter, const SolverOptions& options)
    : state_(std::make_unique<State>(parameter, options)) {}
Solver::~Solver() = default;

void Solver::solve() {
  State& s = *state_;
  CORTADO_LOG(info) << "Solving " << s.net->name();
  CORTADO_LOG(info) << "Learning Rate Policy: " << s.parameter.lr_policy();
  s.stopped = false;
  if (s.parameter.snapshot() > 0 || s.parameter.snapshot_after_train()) {
    const std::string file = s.file_name("");
    on_root(s.replicas, [&] { probe(file); });
  }
  s.step(s.parameter.max_iter() - s.iteration);
  for (const auto& entry : s.net->layers()) {
    const std::string told = entry.layer->statistics();
    if (!told.empty()) CORTADO_LOG(info) << entry.layer->name() << ": " << told;
  }
  if (s.parameter.snapshot_after_train() && !due(s.iteration, s.parameter.snapshot())) s.snapshot();
  if (s.stopped) {
    CORTADO_LOG(info) << "Optimization stopped early.";
    return;
  }
  if (due(s.iteration, s.parameter.display())) s.log_final_loss();
  if (due(s.iteration, s.parameter.test_interval())) s.test_all();
  CORTADO_LOG(info) << "Optimization Done.";
}

void Solver::step(i64 iterations) { state_->step(iterations); }
void Solver::test() { state_->test_all(); }
const std::vector<std::vector<Solver::Score>>& Solver::scores() const { return state_->scores; }
void Solver::restore(const std::string& state_file) { state_->restore(state_file); }
void Solver::load_weights(const std::string& model_files) { state_->load_weights(model_files); }
std::string Solver::snapshot() { return state_->snapshot(); }
Net& Solver::net() { return *state_->net; }
i64 Solver::iteration() const { return state_->iteration; }
double Solver::last_loss() const { return state_->last_loss; }
float Solver::learning_rate() const { return cortado::learning_rate(state_->parameter, state_->iteration); }
bool Solver::stopped_early() const { return state_->stopped; }

}  // namespace cortado
