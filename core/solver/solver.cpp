#include "core/solver/solver.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/log_text.h"
#include "core/net/name_memory.h"
#include "core/solver/agreement.h"
#include "core/solver/core_groups.h"
#include "core/solver/rate.h"
#include "core/solver/solver_parameter.h"
#include "core/solver/solver_state.h"

namespace cortado {
namespace {
/// As Caffe does, but nets within a solver, which are long, are for who looks for a fault.
void log_parameters(const caffe::SolverParameter& parameter) {
  caffe::SolverParameter own = parameter;
  for (caffe::NetParameter* const net : {own.has_net_param() ? own.mutable_net_param() : nullptr,
                                         own.has_train_net_param() ? own.mutable_train_net_param() : nullptr})
    if (net != nullptr) net->clear_layer();
  for (auto& net : *own.mutable_test_net_param()) net.clear_layer();
  log_text(Severity::info, __FILE__, __LINE__, "Initializing solver from parameters:", own.DebugString());
  if (parameter.has_net_param() || parameter.has_train_net_param() || parameter.test_net_param_size() > 0)
    log_text(Severity::debug, __FILE__, __LINE__, "With its nets:", parameter.DebugString());
}
}  // namespace

Solver::State::State(const caffe::SolverParameter& given, const SolverOptions& given_options)
    : parameter(given),
      options(given_options),
      replicas(options.replicas != nullptr ? *options.replicas : alone),
      exchange(options.exchange != nullptr ? *options.exchange : no_exchange),
      smoothed(std::max(1, given.average_loss())) {
  require(options.exchange != nullptr || replicas.size() == 1, "several replicas have a gradient exchange");
  check_solver(parameter);
  if (writes_hdf5()) require_hdf5(options.hdf5, "a snapshot");
  log_parameters(parameter);
  CORTADO_LOG(info) << "Seed: " << seed_of(parameter);
  if (parameter.debug_info()) CORTADO_LOG(warning) << "debug_info has no effect here";
  NamedNet training = training_net(parameter, options.layers);
  divide_batches(training.net, options.core_groups, *options.layers);
  CORTADO_LOG(info) << "Creating training net from " << training.source;
  net = make_net(training.net, &replicas, false);
  if (options.tuning != nullptr) CORTADO_LOG(info) << options.tuning->coverage(*net);
  statistics = std::make_unique<RunningStatistics>(*net, replicas);
  train_sums = OutputSums(*net);
  if (exchange.has_master() && net->end_of_divided() > 0)
    throw ConfigError("layer '" + net->layers()[net->end_of_divided() - 1].layer->name() + "'",
                      "is divided over ranks, but the exchange lets rank 0 alone update",
                      "use another exchange, or leave out `divided`");
  share_weights();
  if (parameter.ema_decay() > 0) {
    CORTADO_LOG(info) << "Tests score the moving average of weights, ema_decay = " << parameter.ema_decay();
    average = std::make_unique<WeightAverage>(*net, *options.group, parameter.ema_decay());
  }
  if (replicas.rank() == 0 || !exchange.has_master()) {
    const auto own = exchange.own_part(*net);
    optimizer = std::make_unique<Optimizer>(parameter, *net, *options.group, own);
    if (own) tell_of_parts(*own);
    update = std::make_unique<LayerwiseUpdate>(*net, *options.group, *optimizer, exchange, options.timeline, lane());
  }
  make_test_nets();
  find_best_output();
  for (const std::string& files : parameter.weights()) load_weights(files);
  CORTADO_LOG(info) << "Solver scaffolding done.";
}

void Solver::State::tell_of_parts(const Net::Range& own) const {
  if (parameter.snapshot_diff())
    throw ConfigError("solver", "snapshot_diff writes gradients, and each rank has those of its own part alone",
                      "use another exchange, or leave it out");
  const auto megabytes = [](i64 floats) { return megabytes_text(4.0 * static_cast<double>(floats)); };
  CORTADO_LOG(info) << "This rank updates " << megabytes(own.count) << " of "
                    << megabytes(net->parameter_arena()->count) << " of weights, and keeps "
                    << megabytes(optimizer->history()->count) << " of " << megabytes(optimizer->values_of_all_parts())
                    << " of history";
}

std::unique_ptr<Net> Solver::State::make_net(const caffe::NetParameter& net_parameter, const Replicas* net_replicas,
                                             bool only_scores) const {
  NetOptions net_options;
  if (options.tuning != nullptr) net_options.layouts = options.tuning->layouts();
  static_cast<Services&>(net_options) = options;
  net_options.writer = replicas.rank();
  net_options.writers = replicas.size();
  net_options.feed = options.feed;
  net_options.replicas = net_replicas;
  net_options.seed = seed_of(parameter);
  net_options.keeps_values = options.keeps_values;
  net_options.only_trains = !options.keeps_values;
  net_options.only_scores = only_scores && !options.keeps_values;
  net_options.without = options.without;
  net_options.recomputed = options.recomputed;
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
    test_nets.push_back(make_net(named.net, nullptr, true));
    test_nets.back()->share_trained(*net);
    test_sums.emplace_back(*test_nets.back());
  }
  scores.resize(test_nets.size());
}

Solver::State::Recording::Recording(State& solver) : solver_(solver) {
  if (solver.options.record == nullptr) return;
  on_root(solver.replicas, [&] { solver.options.record->begin(*solver.net, solver.iteration); });
  solver.recording = true;
}

Solver::Solver(const caffe::SolverParameter& parameter, const SolverOptions& options)
    : state_(std::make_unique<State>(parameter, options)) {}
Solver::~Solver() = default;

void Solver::solve() {
  State& s = *state_;
  CORTADO_LOG(info) << "Solving " << s.net->name();
  CORTADO_LOG(info) << "Learning Rate Policy: " << s.parameter.lr_policy();
  s.stopped = false;
  const bool writes = s.parameter.snapshot() > 0 || s.parameter.snapshot_after_train() || !s.best_output.name.empty();
  // Fails at once, rather than after hours, where nothing can be written.
  const auto held = writes ? std::make_unique<State::HeldPrefix>(s) : nullptr;
  const State::Recording recording(s);
  s.step(s.parameter.max_iter() - s.iteration);
  for (const auto& entry : s.net->layers()) {
    const std::string told = entry.layer->statistics();
    if (!told.empty()) CORTADO_LOG(info) << entry.layer->name() << ": " << told;
  }
  if (s.parameter.snapshot_after_train() && !due(s.iteration, s.parameter.snapshot())) s.snapshot();
  const bool early = s.stopped;
  if (!early && due(s.iteration, s.parameter.display())) s.log_final_loss();
  if (!early && due(s.iteration, s.parameter.test_interval())) s.test_all();
  s.finish_snapshots();
  if (s.keeps_record()) s.options.record->end(s.iteration, early);
  CORTADO_LOG(info) << (early ? "Optimization stopped early." : "Optimization Done.");
}

void Solver::step(i64 iterations) {
  state_->stopped = false;
  state_->step(iterations);
}
void Solver::test() {
  state_->stopped = false;
  state_->test_all();
}
const std::vector<std::vector<Solver::Score>>& Solver::scores() const { return state_->scores; }
void Solver::restore(const std::string& state_file) { state_->restore(state_file); }
bool Solver::restore_newest() { return state_->restore_newest(); }
void Solver::load_weights(const std::string& model_files) { state_->load_weights(model_files); }
std::string Solver::snapshot() {
  std::string state_file = state_->snapshot();
  state_->finish_snapshots();
  return state_file;
}
void Solver::update() { state_->update_by_gradients(); }
void Solver::add_callback(Callback callback) { state_->callbacks.push_back(std::move(callback)); }
Net& Solver::net() { return *state_->net; }
std::size_t Solver::test_nets() const { return state_->test_nets.size(); }
Net& Solver::test_net(std::size_t i) { return *state_->test_nets.at(i); }
i64 Solver::iteration() const { return state_->iteration; }
double Solver::last_loss() const { return state_->last_loss; }
float Solver::learning_rate() const { return cortado::learning_rate(state_->parameter, state_->iteration); }
bool Solver::stopped_early() const { return state_->stopped; }

}  // namespace cortado
