#include "app/record/run_record.h"

#include <unistd.h>

#include <cstdio>
#include <map>

#include "app/record/run_files.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/net/division.h"
#include "core/net/net.h"

namespace cortado {
namespace {

/// Bytes of this process that lie in memory; 0 where the system does not say.
i64 own_memory() {
  long long pages = 0, resident = 0;
  std::FILE* const file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr) return 0;
  const bool known = std::fscanf(file, "%lld %lld", &pages, &resident) == 2;
  std::fclose(file);
  return known ? resident * ::sysconf(_SC_PAGESIZE) : 0;
}

/// The learned parameters of each layer, and the layers that learn nothing though they have some.
void add_parameters(const Net& net, OrderedJson& record) {
  std::map<std::string, i64> counts;
  std::map<std::string, bool> learns;
  OrderedJson parameters = OrderedJson::object(), frozen = OrderedJson::array();
  for (const Net::Learnable& learnable : net.learnable()) {
    if (learnable.statistic) continue;
    counts[learnable.layer] +=
        learnable.division != nullptr ? count_of(learnable.division->whole()) : learnable.blob->count();
    learns[learnable.layer] = learns[learnable.layer] || learnable.lr_mult != 0;
  }
  for (const auto& [layer, count] : counts) parameters[layer] = count;
  for (const auto& [layer, does] : learns)
    if (!does) frozen.push_back(layer);
  record["parameters"] = parameters;
  record["frozen"] = frozen;
}

OrderedJson shapes_of(const Net& net) {
  OrderedJson shapes = OrderedJson::object();
  for (const std::string& name : net.blob_names()) shapes[name] = net.blob(name)->shape();
  return shapes;
}

/// The starts before this one that count, newest last: those whose first iterations this one does not train again.
OrderedJson earlier_starts(const std::string& file, i64 iteration) {
  OrderedJson starts = OrderedJson::array();
  if (iteration == 0 || !exists(file)) return starts;
  try {
    const OrderedJson before = OrderedJson::parse(read_file(file));
    starts = before.value("earlier", starts);
    OrderedJson last = OrderedJson::object();
    for (const char* key : {"started", "begins_at", "version", "commit", "command", "ranks", "hosts"})
      if (before.contains(key)) last[key] = before[key];
    starts.push_back(last);
    const auto counts = [&](const OrderedJson& start) { return start.value("begins_at", i64{0}) < iteration; };
    OrderedJson counting = OrderedJson::array();
    for (const OrderedJson& start : starts)
      if (counts(start)) counting.push_back(start);
    return counting;
  } catch (const std::exception& error) {
    CORTADO_LOG(warning) << file << " tells nothing of the run so far, and is replaced: " << error.what();
    return OrderedJson::array();
  }
}
}  // namespace

OrderedJson to_json(const std::vector<OutputScore>& outputs) {
  OrderedJson json = OrderedJson::object();
  for (const OutputScore& output : outputs) {
    const double value = shortened(output.value);
    if (!json.contains(output.name)) {
      json[output.name] = value;
      continue;
    }
    OrderedJson& there = json[output.name];
    if (!there.is_array()) there = OrderedJson::array({there});
    there.push_back(value);
  }
  return json;
}

RunRecord::RunRecord(std::string prefix, OrderedJson description, std::function<double()> waited_for_data)
    : prefix_(std::move(prefix)), description_(std::move(description)), waited_for_data_(std::move(waited_for_data)) {}

void RunRecord::begin(const Net& net, i64 iteration) {
  metrics_ = std::make_unique<MetricsFile>(metrics_file(prefix_));
  const std::string file = run_file(prefix_);
  const OrderedJson earlier = earlier_starts(file, iteration);
  description_["begins_at"] = iteration;
  if (!earlier.empty()) description_["earlier"] = earlier;
  add_parameters(net, description_);
  description_["shapes"] = shapes_of(net);
  description_["plans"] = net.plans();
  write_text(file, description_.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n");
  metrics_->add({{"begin", iteration},
                 {"time", now_in_seconds()},
                 {"version", description_.value("version", "")},
                 {"commit", description_.value("commit", "")}});
  waited_for_data_();
  CORTADO_LOG(info) << "Record of the run: " << file << " and " << metrics_file(prefix_);
}

void RunRecord::trained(const Iteration& iteration) {
  OrderedJson line = {{"iteration", iteration.number}, {"time", now_in_seconds()}, {"loss", shortened(iteration.loss)}};
  if (iteration.smoothed_loss != nullptr) line["smoothed_loss"] = shortened(*iteration.smoothed_loss);
  line["rate"] = shortened(iteration.rate);
  if (iteration.images > 0 && iteration.seconds > 0)
    line["images_per_second"] = shortened(iteration.images / iteration.seconds);
  const auto rounded = [](double seconds) { return static_cast<double>(static_cast<i64>(1e6 * seconds)) / 1e6; };
  line["seconds"] = rounded(iteration.seconds);
  line["waits"] = {{"data", rounded(waited_for_data_())},
                   {"ranks", rounded(iteration.waited_for_ranks)},
                   {"exchange", rounded(iteration.exchanged)}};
  line["memory"] = own_memory();
  if (iteration.outputs != nullptr) line["outputs"] = to_json(*iteration.outputs);
  metrics_->add(line);
}

void RunRecord::tested(i64 iteration, std::size_t net, double seconds, const std::vector<OutputScore>& outputs) {
  metrics_->add({{"iteration", iteration},
                 {"time", now_in_seconds()},
                 {"test", net},
                 {"seconds", shortened(seconds)},
                 {"outputs", to_json(outputs)}});
}

void RunRecord::end(i64 iteration, bool early) {
  metrics_->add({{"end", early ? "stopped" : "done"}, {"iteration", iteration}, {"time", now_in_seconds()}});
}

}  // namespace cortado
