#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iostream>

#include "app/measure/layer_times.h"
#include "app/measure/net_sets.h"
#include "app/predict/measured_work.h"
#include "app/predict/predict.h"
#include "app/predict/prediction_machine.h"
#include "app/report/report.h"
#include "app/tune/tuning.h"
#include "comm/collective/choice.h"
#include "comm/exchange/default_exchange.h"
#include "core/base/error.h"
#include "core/base/printable.h"
#include "core/formats/caffe.pb.h"

namespace cortado {
namespace {

Work measured(const Session& session, const PredictFlags& flags, const caffe::NetParameter& net) {
  SolverOptions with = session.solver_options();
  const TuningTable tuning = read_tuning(session.group.spec(), flags.tuning, session.job.replicas());
  with.tuning = &tuning;
  Solver solver(solver_around(net, session.precision), with);
  Work work = work_of(solver.net());
  measure_work(solver, session.group, flags.iterations, work);
  return work;
}

Work given(const Session& session, const PredictFlags& flags, const PredictionMachine& machine,
           const caffe::NetParameter& net) {
  caffe::NetParameter empty = net;
  start_with_zeros(empty);
  Work work = work_of(Net(empty, session.net_options()));
  take_times(flags.machine, *machine.compute, work);
  return work;
}

/// Seconds by the cost model of an algorithm, on the machine's links.
std::function<double(int, i64)> cost_of(const std::string& name, const Links& links) {
  const Algorithm& algorithm = find_algorithm(allreduce_algorithms(), name);
  return [&algorithm, &links](int devices, i64 values) {
    const Link& link = links.nodes(devices) > 1 ? links.across : links.inside;
    Network network;
    network.meeting = link.seconds(0);
    network.in_node = network.inside = network.across = link;
    network.byte_in_memory = 1 / links.inside.bandwidth;
    const JobShape job{devices, devices, std::min(devices, links.devices_per_node)};
    return with_settings(algorithm, network, job, 4 * values).cost(network, job, 4 * values);
  };
}

Parallelism parallelism_of(const PredictFlags& flags, const PredictionMachine& machine, const Codec& codec) {
  Parallelism how;
  how.fully_connected = flags.fully_connected == "model"  ? FullyConnected::model
                        : flags.fully_connected == "data" ? FullyConnected::data
                                                          : FullyConnected::whole;
  how.sub_batch = flags.sub_batch;
  how.count_one_pass = flags.one_pass;
  how.divided_efficiency = machine.divided_efficiency;
  const std::string exchange = flags.exchange.exchange.empty() ? default_exchange(2, "").name : flags.exchange.exchange;
  if (exchange != "packed" && exchange != "buckets" && exchange != "coded")
    throw ConfigError("exchange '" + exchange + "'", "is not predicted", "there are: packed, buckets, coded");
  how.hidden_behind = exchange == "buckets" ? HiddenBehind::next_forward : HiddenBehind::nothing;
  if (flags.exchange.allreduce.empty()) return how;
  if (codec.name() != "fp32" || exchange == "coded")
    throw ConfigError("codec '" + codec.name() + "'", "is sent in a way of its own, but an allreduce is given",
                      "leave allreduce out");
  how.sum = cost_of(flags.exchange.allreduce, machine.links);
  return how;
}

std::string state_of(const LayerMessages& message, double all) {
  if (message.exposed < 1e-9) return "hidden";
  return message.exposed < 0.999 * all ? "partly" : "exposed";
}

nlohmann::json layers_of(const Work& work) {
  nlohmann::json rows = nlohmann::json::array();
  for (const LayerWork& layer : work.layers)
    rows.push_back({{"layer", layer.name},
                    {"fully_connected", layer.fully_connected},
                    {"parameters", layer.parameters},
                    {"inputs", layer.inputs},
                    {"outputs", layer.outputs},
                    {"forward_ms", 1e3 * layer.forward},
                    {"backward_ms", 1e3 * layer.backward},
                    {"update_ms", 1e3 * layer.update}});
  return rows;
}

/// The messages of one number of devices, as a table.
Report messages_of(const Prediction& of, const MachineSpec& spec) {
  Report report({{"layer", "layer"},
                 {"what", "message"},
                 {"kbytes", "kB", 1},
                 {"ms", "ms", 3},
                 {"exposed_ms", "exposed ms", 3},
                 {"state", "behind work"}},
                spec, {});
  for (const LayerMessages& m : of.messages) {
    const double times = m.what == "gradients" ? 1 : static_cast<double>(of.passes);
    report.add({{"layer", m.name},
                {"what", m.what},
                {"kbytes", m.bytes / 1e3},
                {"ms", 1e3 * m.seconds},
                {"exposed_ms", 1e3 * m.exposed},
                {"state", state_of(m, times * m.seconds)}});
  }
  return report;
}

nlohmann::json row_of(const Prediction& p) {
  return {{"devices", p.devices},
          {"passes", p.passes},
          {"data_parallel_ms", 1e3 * p.data_parallel},
          {"fully_connected_ms", 1e3 * p.fully_connected},
          {"gradients_ms", 1e3 * p.exposed_gradients},
          {"activations_ms", 1e3 * p.exposed_activations},
          {"iteration_ms", 1e3 * p.iteration},
          {"speedup", p.speedup},
          {"efficiency", 100 * p.efficiency()}};
}

}  // namespace

void forecast(const Session& session, const PredictFlags& flags) {
  if (flags.net.model().empty()) throw ConfigError("command line", "predict needs --model, or --published");
  if (flags.machine.empty())
    throw ConfigError("command line", "predict needs --machine, links between devices",
                      "docs/use/prediction.md has an example; --check measures those of this job");
  const PredictionMachine machine = read_prediction_machine(flags.machine);
  for (const int devices : flags.devices)
    if (devices > machine.links.devices_per_node && !machine.has_network)
      throw ConfigError(flags.machine + ", field 'across'",
                        "is missing: " + std::to_string(devices) + " devices are more than a node's",
                        "describe the network, or ask for fewer --devices");
  const Codec& codec = codec_of(flags, flags.exchange.exchange == "coded" ? "dynamic_tree8" : "fp32");
  const Parallelism how = parallelism_of(flags, machine, codec);
  caffe::NetParameter net;
  flags.net.read(net);
  const Work work = machine.compute ? given(session, flags, machine, net) : measured(session, flags, net);
  // Floats are sent as they are, not in a codec's blocks.
  const Coding coding = codec.name() == "fp32" ? Coding() : Coding{&codec, machine.encode, machine.decode};
  if (flags.divide) return show_divisions(session, flags, work, machine.links, coding, how);

  Report report({{"devices", "devices"},
                 {"passes", "passes"},
                 {"data_parallel_ms", "data parallel ms"},
                 {"fully_connected_ms", "fully connected ms"},
                 {"gradients_ms", "gradients ms"},
                 {"activations_ms", "activations ms"},
                 {"iteration_ms", "iteration ms"},
                 {"speedup", "speed-up"},
                 {"efficiency", "efficiency %", 1}},
                session.group.spec(),
                {{"model", flags.net.model()},
                 {"machine", flags.machine},
                 {"codec", codec.name()},
                 {"fully_connected", flags.fully_connected},
                 {"sub_batch", flags.sub_batch > 0 ? flags.sub_batch : work.batch},
                 {"count_one_pass", flags.one_pass},
                 {"compute", machine.compute ? "given" : "measured"}});
  std::string messages;
  nlohmann::json all = nlohmann::json::array();
  for (const int devices : flags.devices) {
    const Prediction prediction = predict(work, machine.links, coding, how, devices);
    report.add(row_of(prediction));
    for (const LayerMessages& m : prediction.messages)
      all.push_back({{"devices", devices},
                     {"layer", m.name},
                     {"what", m.what},
                     {"bytes", m.bytes},
                     {"ms", 1e3 * m.seconds},
                     {"exposed_ms", 1e3 * m.exposed}});
    messages = prediction.messages.empty() ? "One device sends nothing.\n"
                                           : fmt::format("Messages on {} devices, of one pass each:\n", devices) +
                                                 messages_of(prediction, session.group.spec()).table();
  }
  report.summarize({{"messages", all}, {"layers", layers_of(work)}});
  if (session.job.rank() != 0) return;
  std::cout << fmt::format(
                   "{} on {}: batch {} a device, {:.2f} ms an iteration on one device ({}), messages as {}.\n\n",
                   printable(net.name()), printable(machine.links.name.empty() ? flags.machine : machine.links.name),
                   work.batch, 1e3 * work.iteration, machine.compute ? "given" : "measured", codec.name())
            << messages << "\n";
  show(report, session.job, "\nTimes of gradients and activations are those that no computation hides.\n", flags.json);
}

const Codec& codec_of(const PredictFlags& flags, const std::string& otherwise) {
  const Codec& codec = find_codec(flags.exchange.codec.empty() ? otherwise : flags.exchange.codec);
  if (std::isfinite(codec.limit()))
    throw ConfigError("codec '" + codec.name() + "'",
                      "cannot send gradients and activations: it holds sizes below 2 only", "choose another one");
  return codec;
}

}  // namespace cortado
