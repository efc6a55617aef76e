#include <cstdio>
#include <iostream>

#include "app/measure/layer_times.h"
#include "app/measure/load_watch.h"
#include "app/measure/measure.h"
#include "app/report/plan_text.h"
#include "app/report/report.h"
#include "app/session/session.h"
#include "app/start/environment.h"
#include "app/tune/tuning.h"
#include "core/base/error.h"
#include "core/base/log.h"
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
    char name[64];
    std::snprintf(name, sizeof name, "%10s", net.layers()[i].layer->name().c_str());
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

}  // namespace

int time(Session& session, const Options& options) {
  const bool training = options.phase != "TEST";
  caffe::NetParameter parameter;
  read_net_for(options, options.model, training ? Phase::train : Phase::test, parameter);
  const TuningTable tuning = read_tuning(session.group.spec(), options.tuning);
  std::unique_ptr<Solver> solver;  // for whole iterations; a net that is only tested needs none
  std::unique_ptr<Net> tested;
  if (training) {
    SolverOptions with;
    with.group = &session.group;
    with.layers = &session.layers;
    with.sources = &session.sources;
    with.sinks = &session.sinks;
    with.tuning = &tuning;
    solver = std::make_unique<Solver>(solver_around(parameter, session.precision), with);
  } else {
    NetOptions with = session.net_options();
    with.layouts = tuning.layouts();
    tested = std::make_unique<Net>(parameter, with);
    tested->use_plans(tuning.plans_for(*tested));
    CORTADO_LOG(info) << tuning.coverage(*tested);
  }
  Net& net = training ? solver->net() : *tested;
  if (!training) net.run().parameter_version = 1;
  if (!options.weights.empty()) {
    caffe::NetParameter weights;
    read_weights(options.weights, &session.hdf5, weights);
    net.copy_trained(weights);
  }

  CORTADO_LOG(info) << "Performing Forward";
  net.forward();
  if (!options.timing_only) CORTADO_LOG(info) << "Initial loss: " << net.loss();
  if (training) {
    CORTADO_LOG(info) << "Performing Backward";
    net.clear_gradients();
    net.backward();
  }
  session.group.wait();
  const Limits limits = limits_of(session.group);
  CORTADO_LOG(info) << "Threads that wait for work: " << describe_waiting();
  LoadWatch load;
  CORTADO_LOG(info) << "*** Benchmark begins ***";
  CORTADO_LOG(info) << "Testing for " << options.iterations << " iterations.";
  const LayerTimes times = time_layers(net, session.group, options.iterations, training);
  log_times(net, times, options.iterations);
  double whole = 0;
  if (training) {
    const double total = milliseconds(session.group, [&] { solver->step(options.iterations); });
    whole = total / static_cast<double>(options.iterations);
    CORTADO_LOG(info) << "Average iteration with update: " << whole << " ms.";
  } else {
    whole = times.forward_sum / static_cast<double>(options.iterations);
  }
  CORTADO_LOG(info) << "*** Benchmark ends ***";
  load.look(0);

  Report report({{"layer", "layer"},
                 {"type", "type"},
                 {"direction", "direction"},
                 {"ms", "ms", 3},
                 {"gflops", "Gflop/s", 1},
                 {"gbytes_per_s", "GB/s", 1},
                 {"limit_share", "% of limit", 1}},
                session.group.spec(),
                {{"model", options.model},
                 {"iterations", options.iterations},
                 {"limit_gflops", limits.flops / 1e9},
                 {"limit_gbytes_per_s", limits.bandwidth / 1e9}});
  add_rows(report, net, times, options.iterations, training, session.group.spec(), limits);
  const i64 batch = batch_of(net);
  const double rate = whole > 0 ? 1e3 * static_cast<double>(batch) / whole : 0;
  report.add({{"layer", "whole iteration"},
              {"type", net.name()},
              {"direction", training ? "train" : "forward"},
              {"ms", whole},
              {"batch", batch},
              {"images_per_s", rate}});
  if (session.job.rank() != 0) return 0;
  std::cout << report.table();
  if (options.explain) {
    for (const auto& entry : net.layers())
      if (!entry.layer->plans().empty()) std::cout << entry.layer->name() << " uses " << plans_of(*entry.layer) << "\n";
    std::cout << "\n" << reasons_of(net);
  }
  std::printf("limits: %.1f Gflop/s, %.1f GB/s\n", limits.flops / 1e9, limits.bandwidth / 1e9);
  std::printf("%s batch %lld: %.1f images/s\n", net.name().c_str(), static_cast<long long>(batch), rate);
  if (!options.json.empty()) report.write_json(options.json);
  return 0;
}

}  // namespace cortado
