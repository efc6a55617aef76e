#include "app/predict/predict.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>

#include "app/bench/bench.h"
#include "app/measure/layer_times.h"
#include "app/measure/net_sets.h"
#include "app/predict/measured_work.h"
#include "app/predict/prediction_machine.h"
#include "app/predict/published_prediction.h"
#include "app/predict/published_scalednn.h"
#include "app/tune/tuning.h"
#include "comm/collective/collective.h"
#include "comm/predict/speedup.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/formats/caffe.pb.h"

namespace cortado {
namespace {

/// Text and its numbers, as printf.
template <class... Values>
std::string text_of(const char* format, Values... values) {
  char text[320];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

Work measured(const Session& session, const Options& options, const caffe::NetParameter& net) {
  SolverOptions with;
  with.group = &session.group;
  with.layers = &session.layers;
  with.sources = &session.sources;
  const TuningTable tuning = read_tuning(session.group.spec(), options.tuning);
  with.tuning = &tuning;
  Solver solver(solver_around(net, session.precision), with);
  Work work = work_of(solver.net());
  measure_work(solver, session.group, options.predict.iterations, work);
  return work;
}

Work given(const Session& session, const Options& options, const PredictionMachine& machine,
           const caffe::NetParameter& net) {
  caffe::NetParameter empty = net;
  start_with_zeros(empty);
  Work work = work_of(Net(empty, session.net_options()));
  take_times(options.predict.machine, *machine.compute, work);
  return work;
}

/// Seconds by the cost model of an algorithm, on the machine's links.
std::function<double(int, i64)> cost_of(const std::string& name, const Links& links) {
  const Algorithm& algorithm = find_algorithm(allreduce_algorithms(), name);
  return [&algorithm, &links](int devices, i64 values) {
    const Link& link = links.nodes(devices) > 1 ? links.across : links.inside;
    Network network;
    network.latency = network.meeting = link.seconds(0);
    network.byte_inside = network.byte_across = 1 / link.bandwidth;
    network.byte_in_memory = 1 / links.inside.bandwidth;
    const Team defaults;
    return algorithm.cost(network, {devices, devices, std::min(devices, links.devices_per_node)}, 4 * values,
                          defaults.chunk_bytes, defaults.radix);
  };
}

Parallelism parallelism_of(const Options& options, const PredictionMachine& machine, const Codec& codec) {
  const auto& p = options.predict;
  Parallelism how;
  how.fully_connected = p.fully_connected == "model"  ? FullyConnected::model
                        : p.fully_connected == "data" ? FullyConnected::data
                                                      : FullyConnected::whole;
  how.sub_batch = p.sub_batch;
  how.count_one_pass = p.one_pass;
  how.divided_efficiency = machine.divided_efficiency;
  const std::string& exchange = options.exchange;
  if (!exchange.empty() && exchange != "packed" && exchange != "buckets" && exchange != "coded")
    throw ConfigError("exchange '" + exchange + "'", "is not predicted", "there are: packed, buckets, coded");
  how.hidden_behind = exchange.empty() || exchange == "buckets" ? HiddenBehind::next_forward : HiddenBehind::nothing;
  if (options.allreduce.empty()) return how;
  if (codec.name() != "fp32" || exchange == "coded")
    throw ConfigError("codec '" + codec.name() + "'", "is sent in a way of its own, but an allreduce is given",
                      "leave allreduce out");
  how.sum = cost_of(options.allreduce, machine.links);
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

void forecast(const Session& session, const Options& options) {
  const auto& p = options.predict;
  if (options.model.empty()) throw ConfigError("command line", "predict needs --model, or --published");
  if (p.machine.empty())
    throw ConfigError("command line", "predict needs --machine, links between devices",
                      "docs/use/prediction.md has an example; --check measures those of this job");
  const PredictionMachine machine = read_prediction_machine(p.machine);
  for (const int devices : p.devices)
    if (devices > machine.links.devices_per_node && !machine.has_network)
      throw ConfigError(p.machine + ", field 'across'",
                        "is missing: " + std::to_string(devices) + " devices are more than a node's",
                        "describe the network, or ask for fewer --devices");
  const Codec& codec = codec_of(options, options.exchange == "coded" ? "dynamic_tree8" : "fp32");
  const Parallelism how = parallelism_of(options, machine, codec);
  caffe::NetParameter net;
  read_net_for(options, options.model, Phase::train, net);
  const Work work = machine.compute ? given(session, options, machine, net) : measured(session, options, net);
  // Floats are sent as they are, not in a codec's blocks.
  const Coding coding = codec.name() == "fp32" ? Coding() : Coding{&codec, machine.encode, machine.decode};
  if (p.divide) return show_divisions(session, options, work, machine.links, coding, how);

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
                {{"model", options.model},
                 {"machine", p.machine},
                 {"codec", codec.name()},
                 {"fully_connected", p.fully_connected},
                 {"sub_batch", p.sub_batch > 0 ? p.sub_batch : work.batch},
                 {"count_one_pass", p.one_pass},
                 {"compute", machine.compute ? "given" : "measured"}});
  std::string messages;
  nlohmann::json all = nlohmann::json::array();
  for (const int devices : p.devices) {
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
                                           : text_of("Messages on %d devices, of one pass each:\n", devices) +
                                                 messages_of(prediction, session.group.spec()).table();
  }
  report.summarize({{"messages", all}, {"layers", layers_of(work)}});
  if (session.job.rank() != 0) return;
  std::cout << text_of("%s on %s: batch %lld a device, %.2f ms an iteration on one device (%s), messages as %s.\n\n",
                       net.name().c_str(), machine.links.name.empty() ? p.machine.c_str() : machine.links.name.c_str(),
                       static_cast<long long>(work.batch), 1e3 * work.iteration, machine.compute ? "given" : "measured",
                       codec.name().c_str())
            << messages << "\n";
  finish(session, options, report, "\nTimes of gradients and activations are those that no computation hides.\n");
}

/// "table 3, conv11 3->64: MB"
std::string place_of(const PublishedPrediction& entry) { return "table " + entry.table + ", " + entry.entry; }

/// Each reason once, with the values that it is for.
std::string notes_of(const std::vector<PublishedPrediction>& entries) {
  std::vector<std::pair<std::string, std::string>> notes;
  for (const auto& entry : entries) {
    if (entry.note.empty()) continue;
    const auto same = std::find_if(notes.begin(), notes.end(), [&](const auto& n) { return n.first == entry.note; });
    if (same == notes.end())
      notes.emplace_back(entry.note, place_of(entry));
    else
      same->second += "; " + entry.entry;
  }
  std::string text;
  for (const auto& note : notes) text += "- " + note.second + ": " + note.first + ".\n";
  return text;
}

void published(const Session& session, const Options& options) {
  const auto entries = published_predictions();
  Report report({{"place", "value"}, {"ours", "ours", 3}, {"printed", "printed", 3}, {"ratio", "ours/printed", 3}},
                session.group.spec(), {{"predict", "published"}, {"source", source_of_predictions()}});
  i64 follow = 0, all = 0;
  for (const auto& entry : entries) {
    report.add({{"place", place_of(entry)},
                {"table", entry.table},
                {"entry", entry.entry},
                {"ours", entry.ours},
                {"printed", entry.printed},
                {"ratio", entry.ratio()},
                {"follows", entry.follows()},
                {"fitted", entry.fitted},
                {"note", entry.note}});
    if (entry.fitted) continue;
    ++all;
    if (entry.follows()) ++follow;
  }
  finish(session, options, report,
         "\n" + source_of_predictions() + ".\n" +
             text_of("%lld of %lld printed values follow from the printed inputs, to within 3 %%. The others:\n",
                     static_cast<long long>(follow), static_cast<long long>(all)) +
             notes_of(entries));
}

double saved_percent(double now, double before) { return 100 * (1 - now / before); }

nlohmann::json row_of(const ScaleDnn::Run& run) {
  const auto& base = run.baseline;
  return {{"net", run.net},
          {"batch", run.batch},
          {"baseline_ms", 1e3 * base.total},
          {"host_copy_ms", 1e3 * base.host_copy},
          {"scatter_ms", 1e3 * base.scatter},
          {"broadcast_ms", 1e3 * base.broadcast},
          {"compute_ms", 1e3 * base.compute},
          {"reduce_ms", 1e3 * base.reduce},
          {"update_ms", 1e3 * base.update},
          {"preloaded_saved", saved_percent(run.preloaded.total, base.total)},
          {"three_in_one_saved", saved_percent(run.three_in_one.total, base.total)},
          {"bf16_saved", saved_percent(run.bf16.total, base.total)},
          {"movement_saved", saved_percent(run.three_in_one.movement(), base.movement())},
          {"broadcast_saved", saved_percent(run.three_in_one.broadcast, base.broadcast)},
          {"broadcast_saved_bf16", saved_percent(run.bf16.broadcast, base.broadcast)}};
}

void scalednn(const Session& session, const Options& options) {
  const ScaleDnn paper = simulate_scalednn();
  Report report({{"net", "net"},
                 {"batch", "batch"},
                 {"baseline_ms", "baseline ms", 1},
                 {"host_copy_ms", "host copy", 1},
                 {"scatter_ms", "scatter", 1},
                 {"broadcast_ms", "broadcast", 1},
                 {"compute_ms", "compute", 1},
                 {"reduce_ms", "reduce", 1},
                 {"update_ms", "update", 1},
                 {"preloaded_saved", "split+preload %", 1},
                 {"three_in_one_saved", "+3-in-1 %", 1},
                 {"bf16_saved", "+bf16 %", 1},
                 {"movement_saved", "movement %", 1},
                 {"broadcast_saved", "broadcast %", 1},
                 {"broadcast_saved_bf16", "bf16 %", 1}},
                session.group.spec(), {{"predict", "scalednn"}, {"source", paper.source}});
  for (const ScaleDnn::Run& run : paper.runs) report.add(row_of(run));
  Report beside({{"what", "value"}, {"ours", "ours"}, {"printed", "printed"}}, session.group.spec(), {});
  nlohmann::json all = nlohmann::json::array();
  for (const auto& comparison : paper.comparisons) {
    const nlohmann::json row = {{"what", comparison.what}, {"ours", comparison.ours}, {"printed", comparison.printed}};
    beside.add(row);
    all.push_back(row);
  }
  report.summarize({{"comparisons", all}});
  finish(session, options, report,
         "\nTimes are of the baseline on four devices; percentages are saved of its time, and with 3-in-1 of its data\n"
         "movement and its broadcast.\n\n" +
             beside.table() + "\n" + paper.source + ", simulated.\n");
}

}  // namespace

const Codec& codec_of(const Options& options, const std::string& otherwise) {
  const Codec& codec = find_codec(options.codec.empty() ? otherwise : options.codec);
  if (std::isfinite(codec.limit()))
    throw ConfigError("codec '" + codec.name() + "'",
                      "cannot send gradients and activations: it holds sizes below 2 only", "choose another one");
  return codec;
}

int predict(Session& session, const Options& options) {
  if (options.predict.scalednn)
    scalednn(session, options);
  else if (options.predict.published)
    published(session, options);
  else if (options.predict.check)
    check_prediction(session, options);
  else
    forecast(session, options);
  return 0;
}

}  // namespace cortado
