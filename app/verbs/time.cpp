#include <spdlog/fmt/fmt.h>

#include <iostream>

#include "app/command_line/shared_flags.h"
#include "app/command_line/verb.h"
#include "app/measure/layer_times.h"
#include "app/measure/load_watch.h"
#include "app/measure/measure.h"
#include "app/measure/memory_fit.h"
#include "app/measure/memory_need.h"
#include "app/report/plan_text.h"
#include "app/report/report.h"
#include "app/session/net_flags.h"
#include "app/session/session.h"
#include "app/session/session_flags.h"
#include "app/start/environment.h"
#include "app/tune/tuning.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/printable.h"
#include "core/formats/caffe.pb.h"
#include "core/formats/prototxt.h"
#include "core/solver/solver.h"

namespace cortado {
namespace {

/// Caffe's lines, which its users' scripts read.
void log_times(const Net& net, const LayerTimes& times, i64 iterations) {
  const auto n = static_cast<double>(iterations);
  CORTADO_LOG(info) << "Average time per layer: ";
  for (std::size_t i = 0; i < net.layers().size(); ++i) {
    const std::string name = fmt::format("{:>10}", net.layers()[i].layer->name());
    CORTADO_LOG(info) << name << "\tforward: " << times.forward[i] / n << " ms.";
    CORTADO_LOG(info) << name << "\tbackward: " << times.backward[i] / n << " ms.";
  }
  CORTADO_LOG(info) << "Average Forward pass: " << times.forward_sum / n << " ms.";
  CORTADO_LOG(info) << "Average Backward pass: " << times.backward_sum / n << " ms.";
  CORTADO_LOG(info) << "Average Forward-Backward: " << (times.forward_sum + times.backward_sum) / n << " ms.";
  CORTADO_LOG(info) << "Total Time: " << times.forward_sum + times.backward_sum << " ms.";
}

/// Time over the time that the machine's limits allow, in percent: the longer of arithmetic, at the rate of the layer's
/// precision, and of traffic beyond what the last cache can keep. Fewer multiplications than counted (Winograd) do no
/// better than the limit.
double share_of_limit(const Net::Entry& entry, const MachineSpec& spec, double flops, double bytes, double ms,
                      const Limits& limits) {
  const bool is_bf16 = !entry.bottom.empty() && entry.bottom[0]->precision() == Precision::bf16;
  const double rate = limits.flops * (is_bf16 ? spec.bf16_speed : 1);
  const double from_memory = std::max(0.0, bytes - static_cast<double>(spec.cache_bytes));
  return std::min(100.0, 100 * roofline_share({rate, limits.bandwidth}, flops, from_memory, ms / 1e3));
}

/// "BatchNorm+Scale+ReLU" where a layer does others' work too.
std::string type_of(const Net& net, const Net::Entry& entry) {
  std::string type = entry.type;
  for (const std::size_t i : entry.absorbed) type += "+" + net.layers()[i].type;
  return type;
}

void add_rows(Report& report, const Net& net, const LayerTimes& times, i64 iterations, bool with_backward,
              const MachineSpec& spec, const Limits& limits) {
  for (std::size_t i = 0; i < net.layers().size(); ++i) {
    const auto& entry = net.layers()[i];
    if (entry.is_absorbed) continue;
    const auto cost = entry.layer->cost(entry.bottom, entry.top);
    const auto row = [&](const char* direction, double total_ms, double flops, double bytes) {
      const double ms = total_ms / static_cast<double>(iterations);
      report.add({{"layer", entry.layer->name()},
                  {"type", type_of(net, entry)},
                  {"direction", direction},
                  {"ms", ms},
                  {"gflops", ms > 0 ? flops / ms / 1e6 : 0},
                  {"gbytes_per_s", ms > 0 ? bytes / ms / 1e6 : 0},
                  {"limit_share", share_of_limit(entry, spec, flops, bytes, ms, limits)}});
    };
    row("forward", times.forward[i], cost.forward_flops, cost.forward_bytes);
    if (with_backward && entry.need_backward)
      row("backward", times.backward[i], cost.backward_flops, cost.backward_bytes);
  }
}

/// The net that is timed: a solver's, for whole iterations, or one that is only tested and needs no solver.
struct TimedNet {
  std::unique_ptr<Solver> solver;
  std::unique_ptr<Net> tested;
  Net& net() const { return solver ? solver->net() : *tested; }
};

class Time : public Verb {
 public:
  void add_to(Flags& flags) override;
  int run(const MpiJob& job) override;

 private:
  bool trains() const { return net_.phase() == Phase::train; }
  void measure(const Session& session, const caffe::NetParameter& parameter, const TuningTable& tuning) const;
  TimedNet build(const Session& session, const TuningTable& tuning, const caffe::NetParameter& parameter) const;
  void warm_up(Net& net, CoreGroup& group) const;
  /// Milliseconds of an iteration; with the update, if the net is trained.
  double time_whole(const TimedNet& timed, const LayerTimes& times, CoreGroup& group) const;
  void report(const Session& session, const Net& net, const LayerTimes& times, const Limits& limits,
              double whole) const;

  NetFlags net_;
  SessionFlags session_;
  std::string weights_, tuning_, json_;
  i64 iterations_ = 50;
  bool explain_ = false;
};

void Time::add_to(Flags& flags) {
  net_.add_model(flags).required();
  add_weights(flags, weights_, "Start from this .caffemodel or .caffemodel.h5");
  flags.add("--iterations", iterations_, "Iterations to average over").shows_default().positive();
  add_tuning(flags, tuning_);
  flags.add_switch("--explain", explain_, "Also show every layer's plans, those passed over, and why");
  net_.add_phase(flags, "");
  add_json(flags, json_);
  session_.add_devices(flags);
  session_.add_shape(flags);
  net_.add_state(flags);
  session_.add_precision(flags);
  session_.add_without(flags);
  session_.add_memory(flags);
  session_.add_simulator(flags);
}

TimedNet Time::build(const Session& session, const TuningTable& tuning, const caffe::NetParameter& parameter) const {
  TimedNet timed;
  if (trains()) {
    SolverOptions with = session.solver_options();
    with.tuning = &tuning;
    timed.solver = std::make_unique<Solver>(solver_around(parameter, session.precision), with);
  } else {
    NetOptions with = session.net_options();
    with.layouts = tuning.layouts();
    with.only_scores = true;
    timed.tested = std::make_unique<Net>(parameter, with);
    timed.tested->use_plans(tuning.plans_for(*timed.tested));
    CORTADO_LOG(info) << tuning.coverage(*timed.tested);
    timed.tested->run().parameter_version = 1;
  }
  if (!weights_.empty()) session.take_weights(timed.net(), weights_);
  return timed;
}

void Time::warm_up(Net& net, CoreGroup& group) const {
  CORTADO_LOG(info) << "Performing Forward";
  net.forward();
  if (!session_.timing_only) CORTADO_LOG(info) << "Initial loss: " << net.loss();
  if (trains()) {
    CORTADO_LOG(info) << "Performing Backward";
    net.clear_gradients();
    net.backward();
  }
  group.wait();
}

double Time::time_whole(const TimedNet& timed, const LayerTimes& times, CoreGroup& group) const {
  if (!trains()) return times.forward_sum / static_cast<double>(iterations_);
  const double total = milliseconds(group, [&] { timed.solver->step(iterations_); });
  const double whole = total / static_cast<double>(iterations_);
  CORTADO_LOG(info) << "Average iteration with update: " << whole << " ms.";
  return whole;
}

int Time::run(const MpiJob& job) {
  Session session(job, session_);
  caffe::NetParameter parameter;
  net_.read(parameter);
  const TuningTable tuning = read_tuning(session.group.spec(), tuning_, session.job.replicas());
  if (session_.memory > 0 && !trains())
    throw ConfigError("--memory", "is for training: nothing is made again where there is no backward", "leave it out");
  fit_memory(session, solver_around(parameter, session.precision), tuning, session_.memory);
  advising_on_memory(
      [&] {
        return trains() ? memory_advice(session, solver_around(parameter, session.precision), tuning)
                        : memory_advice(session, parameter, session.net_options(), tuning);
      },
      [&] { measure(session, parameter, tuning); });
  return 0;
}

void Time::measure(const Session& session, const caffe::NetParameter& parameter, const TuningTable& tuning) const {
  const TimedNet timed = build(session, tuning, parameter);
  session.sources.settle_shapes();
  Net& net = timed.net();
  warm_up(net, session.group);
  const Limits limits = limits_of(session.group);
  CORTADO_LOG(info) << "Threads that wait for work: " << describe_waiting();
  LoadWatch load;
  CORTADO_LOG(info) << "*** Benchmark begins ***";
  CORTADO_LOG(info) << "Testing for " << iterations_ << " iterations.";
  const LayerTimes times = time_layers(net, session.group, iterations_, trains());
  log_times(net, times, iterations_);
  const double whole = time_whole(timed, times, session.group);
  CORTADO_LOG(info) << "*** Benchmark ends ***";
  load.look(0);
  report(session, net, times, limits, whole);
}

void Time::report(const Session& session, const Net& net, const LayerTimes& times, const Limits& limits,
                  double whole) const {
  Report report({{"layer", "layer"},
                 {"type", "type"},
                 {"direction", "direction"},
                 {"ms", "ms", 3},
                 {"gflops", "Gflop/s", 1},
                 {"gbytes_per_s", "GB/s", 1},
                 {"limit_share", "% of limit", 1}},
                session.group.spec(),
                {{"model", net_.model()},
                 {"iterations", iterations_},
                 {"limit_gflops", limits.flops / 1e9},
                 {"limit_gbytes_per_s", limits.bandwidth / 1e9}});
  add_rows(report, net, times, iterations_, trains(), session.group.spec(), limits);
  const i64 batch = batch_of(net);
  const double rate = whole > 0 ? 1e3 * static_cast<double>(batch) / whole : 0;
  report.add({{"layer", "whole iteration"},
              {"type", net.name()},
              {"direction", trains() ? "train" : "forward"},
              {"ms", whole},
              {"batch", batch},
              {"images_per_s", rate}});
  if (session.job.rank() != 0) return;
  std::cout << report.table();
  if (explain_) {
    for (const auto& entry : net.layers())
      if (!entry.layer->plans().empty())
        std::cout << printable(entry.layer->name()) << " uses " << plans_of(*entry.layer) << "\n";
    std::cout << "\n" << reasons_of(net);
  }
  std::cout << fmt::format("limits: {:.1f} Gflop/s, {:.1f} GB/s\n", limits.flops / 1e9, limits.bandwidth / 1e9)
            << fmt::format("{} batch {}: {:.1f} images/s\n", printable(net.name()), batch, rate);
  if (!json_.empty()) report.write_json(json_);
}

}  // namespace

std::unique_ptr<Verb> make_time() { return std::make_unique<Time>(); }

}  // namespace cortado
