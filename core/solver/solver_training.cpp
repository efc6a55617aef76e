#include <algorithm>
#include <chrono>
#include <cmath>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/solver/agreement.h"
#include "core/solver/finite.h"
#include "core/solver/rate.h"
#include "core/solver/solver_state.h"

namespace cortado {
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
    tell_of_start();
    const auto start = Clock::now();
    std::string bad_layer;
    double loss = 0;
    try_plans([&] { loss = forward_backward(bad_layer); });
    const auto done = Clock::now();
    const Merged merged = merge(loss, !std::isfinite(loss));
    waited_for_ranks = seconds_since(done);
    if (merged.not_finite) throw_not_finite(bad_layer);
    last_loss = merged.loss;
    smoothed.add(merged.loss);
    const bool displays = due(iteration, parameter.display());
    if (displays) {
      log_training(shown, shown_at);
      shown = Clock::now();
      shown_at = iteration;
    }
    tell_of_gradients();
    const bool late = may_update_late();
    update_weights(exchange_gradients(late), late);
    record_iteration(seconds_since(start), displays);
    ++iteration;
    tell_progress(seconds_since(start));
    foresee_snapshot();
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

/// Runs forward. If there is a timeline, every layer is waited for, so that its time is its own.
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
      if (last && !calls_back) exchange.layer_finished(*net, i);
    });
    const double loss = net->loss();
    if (!std::isfinite(loss) && bad_layer.empty()) bad_layer = net->first_not_finite();
    sum += loss;
  }
  return sum / micro_batches;
}

/// True if the update may go on in the next forward. That changes running statistics, which the average takes before.
bool Solver::State::may_update_late() const {
  return exchange.comes_in_parts() && !optimizer->looks_at_all_gradients() && !average;
}

float Solver::State::exchange_gradients(bool late) {
  const TimelineSpan span(options.timeline, lane(), "exchange", "exchange");
  const auto begin = Clock::now();
  const float factor = late ? exchange.start(*net) : exchange.finish(*net);
  exchanged = seconds_since(begin);
  return factor;
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
  {
    const TimelineSpan span(options.timeline, lane(), "weights", "exchange");
    exchange.share_weights(*net);
  }
  if (average) average->take();
}

void Solver::State::tell_of_start() {
  calls_back = !callbacks.empty();
  if (!calls_back) return;
  complete_update();
  for (std::size_t i = 0; i < callbacks.size(); ++i) callbacks[i].start();  // which may add others
}

/// The exchange gets the gradients behind it, so that it has what the callbacks leave.
void Solver::State::tell_of_gradients() {
  if (!calls_back) return;
  for (std::size_t i = 0; i < callbacks.size(); ++i) callbacks[i].gradients_ready();
  offer_gradients();
}

void Solver::State::offer_gradients() {
  for (std::size_t i = net->layers().size(); i-- > 0;) exchange.layer_finished(*net, i);
}

void Solver::State::update_by_gradients() {
  complete_update();
  offer_gradients();
  update_weights(exchange_gradients(false), false);
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

/// The one small collective per iteration: everybody's loss, what everybody's signals asked for, and whether a snapshot
/// could not be written.
Solver::State::Merged Solver::State::merge(double loss, bool not_finite) {
  const SolverAction action = options.action ? options.action() : SolverAction::none;
  double sums[] = {not_finite ? 0 : loss, not_finite ? 1.0 : 0.0, action == SolverAction::snapshot ? 1.0 : 0.0,
                   action == SolverAction::stop ? 1.0 : 0.0, writer.has_failed() ? 1.0 : 0.0};
  replicas.sum(sums, 5);
  if (sums[4] > 0) finish_snapshots();  // which throws on all ranks
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
  throw NumericError(makers_of(*net, layers[static_cast<std::size_t>(index)].layer->name()),
                     "the loss is NaN or infinite" + when + "; nothing before it holds such values", advice);
}

void Solver::State::log_training(Clock::time_point shown, i64 shown_at) {
  const auto lapse = static_cast<float>(seconds_since(shown));
  const float per_second = static_cast<float>(iteration - shown_at) / (lapse > 0 ? lapse : 1);
  CORTADO_LOG(info) << "Iteration " << iteration << " (" << per_second << " iter/s, " << lapse << "s/"
                    << parameter.display() << " iters), loss = " << smoothed.value();
  train_sums.clear();
  train_sums.add(*net);
  train_sums.merge(replicas);
  displayed = scores_of(train_sums, *net, replicas.size());
  for (std::size_t i = 0; i < displayed.size(); ++i) CORTADO_LOG(info) << score_line("Train", i, displayed[i]);
}

/// Of all ranks; 0 where the net has no batch.
double Solver::State::images_per_iteration() const {
  const auto& layers = net->layers();
  if (layers.empty() || layers[0].top.empty() || layers[0].top[0]->axes() == 0) return 0;
  return static_cast<double>(layers[0].top[0]->dim(0) * parameter.iter_size() * replicas.size());
}

void Solver::State::record_iteration(double seconds, bool displays) {
  if (!keeps_record()) return;
  const double shown = smoothed.value();
  options.record->trained({iteration, last_loss, cortado::learning_rate(parameter, iteration), images_per_iteration(),
                           seconds, waited_for_ranks, exchanged + (update ? update->take_waited() : 0),
                           displays ? &shown : nullptr, displays ? &displayed : nullptr});
}

void Solver::State::tell_progress(double seconds) {
  // Recent iterations count most: the first ones plan and allocate.
  seconds_per_iteration = seconds_per_iteration > 0 ? 0.9 * seconds_per_iteration + 0.1 * seconds : seconds;
  if (!options.progress || replicas.rank() != 0) return;
  options.progress({iteration, parameter.max_iter(), images_per_iteration() / seconds_per_iteration, last_loss});
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

}  // namespace cortado
