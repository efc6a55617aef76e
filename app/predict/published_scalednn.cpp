#include "app/predict/published_scalednn.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/base/file.h"

namespace cortado {
namespace {
using nlohmann::json;
using Run = ScaleDnn::Run;

constexpr const char* scalednn_file = "models/published/scalednn.json";
constexpr double giga = 1e9, micro = 1e-6, kilo = 1024, mega = 1024 * 1024;

DeviceTree tree_of(const json& machine) {
  DeviceTree tree;
  tree.devices_per_bridge = machine.at("devices_per_bridge");
  tree.device_link = giga * machine.at("device_gbytes_per_s").get<double>();
  tree.bridge_link = giga * machine.at("bridge_gbytes_per_s").get<double>();
  tree.socket_link = giga * machine.at("sockets_gbytes_per_s").get<double>();
  tree.host_copies = giga * machine.at("host_copy_gbytes_per_s").get<double>();
  tree.latency = micro * machine.at("latency_us").get<double>();
  tree.chunk = kilo * machine.at("chunk_kbytes").get<double>();
  tree.memory = giga * machine.at("memory_gbytes_per_s").get<double>();
  tree.launch = micro * machine.at("launch_us").get<double>();
  tree.update_passes = machine.at("update_passes");
  return tree;
}

class Evaluation {
 public:
  explicit Evaluation(const json& paper) : paper_(paper), tree_(tree_of(paper.at("machine"))) {
    for (const json& net : paper.at("nets"))
      for (const json& batch : net.contains("batches") ? net.at("batches") : paper.at("batches"))
        runs_.push_back(run(net, batch));
  }
  ScaleDnn all() const { return {paper_.at("source"), runs_, comparisons()}; }

 private:
  Run run(const json& net, i64 batch) const {
    const json& codecs = paper_.at("codecs");
    const MasterScheme baseline, preloaded{true, 4}, bf16{true, codecs.at("bf16")},
        three_in_one{true, codecs.at("three_in_one")};
    return {net.at("name"),
            batch,
            net.at("large"),
            simulated(net, batch, 4, baseline),
            simulated(net, batch, 4, preloaded),
            simulated(net, batch, 4, bf16),
            simulated(net, batch, 4, three_in_one),
            simulated(net, batch, 1, baseline),
            simulated(net, batch, 2, baseline)};
  }

  MasterIteration simulated(const json& net, i64 batch, int devices, const MasterScheme& scheme) const {
    const auto samples = static_cast<double>(batch);
    MasterWork work;
    work.batch_bytes = samples * (net.contains("sample_bytes") ? net : paper_)
                                     .at(net.contains("sample_bytes") ? "sample_bytes" : "image_bytes")
                                     .get<double>();
    work.compute = samples / devices / net.at("samples_per_s").get<double>();
    work.weight_bytes = mega * net.at("mbytes").get<double>();
    work.blobs = net.at("blobs");
    DeviceTree tree = tree_;
    tree.devices = devices;
    return simulate_master_training(tree, work, scheme);
  }

  using Choice = std::function<bool(const Run&)>;
  using Value = std::function<double(const Run&)>;

  double mean(const Choice& chosen, const Value& value) const {
    double sum = 0;
    int count = 0;
    for (const Run& run : runs_)
      if (chosen(run)) {
        sum += value(run);
        ++count;
      }
    require(count > 0, "a mean is of something");
    return sum / count;
  }
  const Run& find(const std::string& net, i64 batch) const {
    return *std::find_if(runs_.begin(), runs_.end(), [&](const Run& r) { return r.net == net && r.batch == batch; });
  }
  static double saved(double now, double before) { return 100 * (1 - now / before); }
  static double share(double part, const MasterIteration& of) { return 100 * part / of.total; }

  std::vector<ScaleDnn::Comparison> comparisons() const {
    std::vector<ScaleDnn::Comparison> all;
    const json& printed = paper_.at("printed");
    const Choice any = [](const Run&) { return true; }, large = [](const Run&r) { return r.is_large; },
                 small = [](const Run&r) { return !r.is_large; };
    const Value total = [](const Run& r) { return saved(r.three_in_one.total, r.baseline.total); };
    const Value preloading = [](const Run& r) { return saved(r.preloaded.total, r.baseline.total); };
    const Value coding = [&](const Run& r) { return total(r) - preloading(r); };
    all.push_back({"time saved, mean %", mean(any, total), printed.at("total_saved")});
    double most = 0;
    for (const Run& run : runs_) most = std::max(most, total(run));
    all.push_back({"time saved, most %", most, printed.at("total_saved_most")});
    all.push_back({"time saved by split and pre-load, small nets %", mean(small, preloading),
                   printed.at("split_preload_saved_small")});
    all.push_back({"time saved by split and pre-load, large nets %", mean(large, preloading),
                   printed.at("split_preload_saved_large")});
    all.push_back(
        {"time saved more by 3-in-1, small nets %", mean(small, coding), printed.at("three_in_one_saved_more_small")});
    all.push_back(
        {"time saved more by 3-in-1, large nets %", mean(large, coding), printed.at("three_in_one_saved_more_large")});
    all.push_back({"data movement saved, mean %",
                   mean(any, [](const Run& r) { return saved(r.three_in_one.movement(), r.baseline.movement()); }),
                   printed.at("movement_saved")});
    all.push_back({"broadcast saved by 3-in-1, large nets %",
                   mean(large, [](const Run& r) { return saved(r.three_in_one.broadcast, r.baseline.broadcast); }),
                   printed.at("broadcast_saved_three_in_one")});
    all.push_back({"broadcast saved by bf16, large nets %",
                   mean(large, [](const Run& r) { return saved(r.bf16.broadcast, r.baseline.broadcast); }),
                   printed.at("broadcast_saved_bf16")});
    add_shares(all, printed, any, large);
    add_single_runs(all, printed);
    return all;
  }

  /// Adds shares of the baseline's time (section III-B).
  void add_shares(std::vector<ScaleDnn::Comparison>& all, const json& printed, const Choice& any,
                  const Choice& large) const {
    const std::pair<const char*, std::function<const MasterIteration&(const Run&)>> devices[] = {
        {"1", [](const Run& r) -> const MasterIteration& { return r.one_device; }},
        {"2", [](const Run& r) -> const MasterIteration& { return r.two_devices; }},
        {"4", [](const Run& r) -> const MasterIteration& { return r.baseline; }}};
    for (const auto& [number, of] : devices) {
      const auto add = [&, number = number](const char* what, const char* key, const Choice& chosen,
                                            const Value& value) {
        if (printed.at(key).contains(number))
          all.push_back(
              {std::string(what) + ", baseline on " + number + " %", mean(chosen, value), printed.at(key).at(number)});
      };
      const auto& iteration = of;
      add("share of data movement", "movement_share", any,
          [&](const Run& r) { return share(iteration(r).movement(), iteration(r)); });
      add("share of copies from the host", "host_copy_share", any,
          [&](const Run& r) { return share(iteration(r).host_copy, iteration(r)); });
      add("share of broadcast and reduce, large nets", "collectives_share_large", large,
          [&](const Run& r) { return share(iteration(r).broadcast + iteration(r).reduce, iteration(r)); });
    }
  }

  void add_single_runs(std::vector<ScaleDnn::Comparison>& all, const json& printed) const {
    const Run &resnet34 = find("ResNet34", 256), &resnet50 = find("ResNet50", 256), &vgg19 = find("VGG19", 128);
    all.push_back({"ResNet34, batch 256: four devices over one", resnet34.one_device.total / resnet34.baseline.total,
                   printed.at("speedup_resnet34_256")});
    all.push_back({"VGG19, batch 128: baseline, s", vgg19.baseline.total, printed.at("seconds_vgg19_128")});
    all.push_back(
        {"VGG19, batch 128: ScaleDNN, s", vgg19.three_in_one.total, printed.at("seconds_vgg19_128_scalednn")});
    all.push_back({"ResNet50, batch 256: baseline, s", resnet50.baseline.total, printed.at("seconds_resnet50_256")});
    all.push_back({"ResNet50, batch 256: waiting, baseline %", share(resnet50.baseline.movement(), resnet50.baseline),
                   printed.at("waiting_resnet50_256")});
  }

  const json& paper_;
  const DeviceTree tree_;
  std::vector<Run> runs_;
};

}  // namespace

ScaleDnn simulate_scalednn() {
  if (!exists(scalednn_file))
    throw FileError(scalednn_file, "is not there", "run this in Cortado's folder, where models/ lies");
  try {
    const json paper = json::parse(read_file(scalednn_file));
    return Evaluation(paper).all();
  } catch (const json::exception& error) { throw FileError(scalednn_file, error.what()); }
}

}  // namespace cortado
