#include "app/predict/published_prediction.h"

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "comm/predict/speedup.h"
#include "core/base/error.h"
#include "core/base/file.h"

namespace cortado {
namespace {
using nlohmann::json;

constexpr const char* predictions_file = "models/published/predictions.json";
constexpr double kib = 1024, mib = kib * kib;  // the paper's

json read() {
  if (!exists(predictions_file))
    throw FileError(predictions_file, "is not there", "run this in Cortado's folder, where models/ lies");
  return json::parse(read_file(predictions_file));
}

LayerWork layer_of(const json& from, const char* times) {
  LayerWork layer;
  layer.name = from.at("name");
  const json& ms = from.at(times);
  layer.forward = ms.at(0), layer.backward = ms.at(1), layer.update = ms.at(2);
  return layer;
}

/// Computes in milliseconds, as the paper prints them; tables in the paper's order.
class Tables {
 public:
  explicit Tables(const json& paper) : paper_(paper), node_(paper.at("node")), cluster_(paper.at("cluster")) {
    for (const json& note : paper.at("notes")) notes_[{note.at("table"), note.at("entry")}] = note.at("note");
    links_.devices_per_node = devices();
    links_.switch_messages = node_.at("switch_messages");
    links_.inside.bandwidth = 1e9 * node_.at("gbytes_per_s").get<double>();
  }

  std::vector<PublishedPrediction> all() {
    speedups("1", "");
    table3();
    table4();
    table5();
    table6();
    speedups("7", "");
    speedups("7", "convnet2_");
    return std::move(entries_);
  }

 private:
  void add(const std::string& table, const std::string& entry, double ours, const json& printed, bool fitted = false) {
    const auto note = notes_.find({table, entry});
    entries_.push_back({table, entry, ours, printed, note != notes_.end() ? note->second : "", fitted});
  }
  int devices() const { return node_.at("devices"); }
  double batch() const { return paper_.at("batch"); }
  double times(const char* key) const { return node_.at(key); }

  /// The milliseconds of all devices' values; the printed size is one device's part.
  double sync_ms(const json& of, double mbytes_to_bytes) const {
    return 1e3 * links_.to_all(devices(), of.at("mbytes").get<double>() * mbytes_to_bytes * devices());
  }
  void activation(const json& of) {
    const std::string name = of.at("name");
    add("3", name + ": MB", batch() * of.at("outputs").get<double>() * 4 / devices() / mib, of.at("mbytes"));
    add("3", name + ": sync ms", sync_ms(of, mib), of.at("sync_ms"));
    const double numbers = of.at("mbytes").get<double>() * mib / 4;
    const double coding = 1e-6 * numbers * (times("encode_ns") + times("decode_ns"));
    add("3", name + ": sync ms, 8 bits", sync_ms(of, mib / 4) + coding, of.at("sync8_ms"));
  }
  void table3() {
    for (const json& of : node_.at("convolutions")) {
      const std::string name = of.at("name");
      add("3", name + ": MB", of.at("parameters").get<double>() * 4 / devices() / mib, of.at("mbytes"));
      add("3", name + ": sync ms", 2 * sync_ms(of, mib), of.at("sync_ms"));  // gradients, then their sums
    }
    activation(node_.at("activations"));
    for (const json& of : node_.at("fully_connected")) activation(of);
  }

  double sum_of(const char* layers, const char* ms) const {
    double sum = 0;
    for (const json& of : node_.at(layers)) sum += layer_of(of, ms).seconds();
    return sum;
  }
  /// Section 5.1.2, from tables 3 and 4.
  double penalty(const char* sync) const {
    std::vector<LayerWork> layers;
    std::vector<double> messages = {node_.at("activations").at(sync)};
    for (const json& of : node_.at("fully_connected")) {
      layers.push_back(layer_of(of, "parallel_ms"));
      messages.push_back(of.at(sync));
    }
    return remainders_of(layers, messages).sum() + (devices() + 1) * messages[0];
  }
  double node_speedup(const char* total, const char* sync) const {
    return speedup_of(devices(), times(total), times("fc_ms"), times("convolution_penalty_ms"), devices(),
                      times("parallel_fc_ms"), penalty(sync));
  }
  void table4() {
    const double fc = sum_of("fully_connected", "ms");
    add("4", "fc layers: ms", fc, node_.at("fc_ms"));
    add("4", "fc layers, parallel: ms", sum_of("fully_connected", "parallel_ms"), node_.at("parallel_fc_ms"));
    add("4", "all layers: ms", sum_of("convolutions", "ms") + fc, node_.at("total_ms"));
    add("4", "fc penalty: ms", penalty("sync_ms"), node_.at("penalty_ms"));
    add("4", "fc penalty: ms, 8 bits", penalty("sync8_ms"), node_.at("penalty8_ms"));
    add("4", "4 devices", node_speedup("total_ms", "sync_ms"), node_.at("speedup"));
    add("4", "4 devices, 8 bits", node_speedup("total_ms", "sync8_ms"), node_.at("speedup8"));
    add("4", "4 devices, convnet2", node_speedup("convnet2_total_ms", "sync_ms"), node_.at("convnet2_speedup"));
    add("4", "4 devices, convnet2, 8 bits", node_speedup("convnet2_total_ms", "sync8_ms"),
        node_.at("convnet2_speedup8"));
  }

  static std::string samples_of(const json& row) { return std::to_string(row.at("samples").get<i64>()); }
  int others() const { return cluster_.at("nodes").get<int>() - 1; }
  double per_node(double values) const { return values * 4 / cluster_.at("nodes").get<double>() / kib; }
  void sizes(const std::string& entry, double kbytes, const json& of) {
    add("5", entry + ": kB", kbytes, of.at("kbytes"));
    add("5", entry + ": kB, 8 bits", kbytes / 4, of.at("kbytes8"));
  }
  void table5() {
    const json& gradients = cluster_.at("gradients");
    sizes(gradients.at("name"), per_node(gradients.at("parameters").get<double>()), gradients);
    const double all = batch() * cluster_.at("devices").get<double>();
    for (const json& row : cluster_.at("sub_batches")) {
      const auto samples = row.at("samples").get<double>();
      add("5", samples_of(row) + ": passes", all / samples, row.at("passes"));
      sizes(samples_of(row), per_node(samples * node_.at("activations").at("outputs").get<double>()), row);
    }
    for (const json& row : cluster_.at("outputs"))
      sizes(row.at("name"), per_node(row.at("sub_batch").get<double>() * row.at("outputs").get<double>()), row);
    // The latency that the paper reads off charts is a message's whole time here, and is not in Table 6.
    Links links;
    links.devices_per_node = cluster_.at("devices_per_node");
    links.inside.bandwidth = 1e9 * cluster_.at("inside_gbytes_per_s").get<double>();
    links.across = {{{0, 1e-3 * gradients.at("latency_ms").get<double>()}}, HUGE_VAL};
    const Coding floats;
    add("5", "conv3 384->256: sync ms",
        1e3 * sum_seconds(links, floats, cluster_.at("devices"), gradients.at("parameters")), gradients.at("sync_ms"));
  }

  double message_ms(const json& row, const std::string& bits, const char* rate) const {
    const Link link{{{0, 1e-3 * row.at("latency" + bits + "_ms").get<double>()}},
                    1e9 * cluster_.at(rate).get<double>()};
    return 1e3 * link.seconds(kib * row.at("kbytes" + bits).get<double>());
  }
  /// The milliseconds of a full pass. A single pass has no other one to hide behind. The paper takes that into account
  /// for 32 bits only.
  double full_pass(const json& row, const std::string& bits) const {
    const bool hides = row.at("passes") != 1 || !bits.empty();
    return full_pass_of(row.at("sync" + bits + "_ms"), hides ? cluster_.at("hidden_ms").get<double>() : 0, others());
  }
  void table6() {
    for (const json& row : cluster_.at("sub_batches")) {
      const std::string samples = samples_of(row);
      add("6", samples + ": forward ms", row.at("passes").get<double>() * times("fc_ms"), row.at("forward_ms"));
      for (const std::string bits : {"", "8"}) {
        const std::string with = bits.empty() ? "" : ", 8 bits";
        const json& printed = row.at("sync" + bits + "_ms");
        add("6", samples + ": sync ms" + with, others() * message_ms(row, bits, "gbytes_per_s"), printed);
        add("6", samples + ": sync ms at 4.5 GB/s" + with, others() * message_ms(row, bits, "fitted_gbytes_per_s"),
            printed, true);
        add("6", samples + ": full pass ms" + with, full_pass(row, bits), row.at("total" + bits + "_ms"));
      }
    }
  }

  /// From tables 3, 4 and 6.
  void speedups(const std::string& table, const std::string& kernels) {
    if (table == "1")
      for (const char* bits : {"", "8"})
        add(table, std::string("4 devices") + (*bits != 0 ? ", 8 bits" : ""),
            node_speedup("total_ms", *bits != 0 ? "sync8_ms" : "sync_ms"), node_.at(std::string("speedup") + bits));
    const double total = node_.at(kernels + "total_ms");
    for (const json& row : cluster_.at("sub_batches"))
      for (const std::string bits : {"", "8"}) {
        const double ours = speedup_of(cluster_.at("devices"), total, times("fc_ms"), 0, row.at("passes"),
                                       times("fc_ms"), full_pass(row, bits));
        add(table,
            "96 devices, " + samples_of(row) + (kernels.empty() ? "" : ", convnet2") + (bits.empty() ? "" : ", 8 bits"),
            ours, row.at(kernels + "speedup" + bits));
      }
  }

  const json& paper_;
  const json &node_, &cluster_;
  std::map<std::pair<std::string, std::string>, std::string> notes_;
  Links links_;
  std::vector<PublishedPrediction> entries_;
};

}  // namespace

bool PublishedPrediction::follows() const { return note.empty() && std::abs(ratio() - 1) <= 0.03; }

std::vector<PublishedPrediction> published_predictions() {
  try {
    const json paper = read();
    return Tables(paper).all();
  } catch (const json::exception& error) { throw FileError(predictions_file, error.what()); }
}

std::string source_of_predictions() {
  try {
    return read().at("source");
  } catch (const json::exception& error) { throw FileError(predictions_file, error.what()); }
}

}  // namespace cortado
