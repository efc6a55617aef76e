#include "app/tune/layout_tuner.h"

#include <algorithm>
#include <limits>
#include <set>

#include "app/measure/layer_times.h"

namespace cortado {
namespace {

std::string key_of(const Blob& blob) { return blob.axes() == 4 ? layout_key(blob.shape(), blob.precision()) : ""; }

/// The shapes of blobs whose layout is a choice.
std::set<std::string> choices_of(const Net& net) {
  std::set<std::string> keys;
  for (const auto& entry : net.layers())
    if (entry.layer->plans().count(layout_direction) != 0)
      for (const Blob* top : entry.top)
        if (top->axes() == 4) keys.insert(key_of(*top));
  return keys;
}

/// Seconds of every layer, the least of all rounds.
class Stopwatch {
 public:
  Stopwatch(Net& net, CoreGroup& group) : net_(net), group_(group) {
    time_layers(net_, group_, 1, true);  // memory comes with the first iteration
  }
  void round() {
    const LayerTimes times = time_layers(net_, group_, 1, true);
    least_.resize(net_.layers().size(), std::numeric_limits<double>::infinity());
    for (std::size_t i = 0; i < least_.size(); ++i)
      least_[i] = std::min(least_[i], (times.forward[i] + times.backward[i]) / 1e3);
  }
  double whole() const {
    double sum = 0;
    for (const double seconds : least_) sum += seconds;
    return sum;
  }
  /// The seconds of layers that touch such blobs, in shares, by shape.
  std::map<std::string, double> by_shape(const std::set<std::string>& choices) const {
    std::map<std::string, double> seconds;
    for (std::size_t i = 0; i < least_.size(); ++i) {
      std::set<std::string> keys;
      for (const auto* blobs : {&net_.layers()[i].bottom, &net_.layers()[i].top})
        for (const Blob* blob : *blobs)
          if (const std::string key = key_of(*blob); choices.count(key) != 0) keys.insert(key);
      for (const auto& key : keys) seconds[key] += least_[i] / static_cast<double>(keys.size());
    }
    return seconds;
  }

 private:
  Net& net_;
  CoreGroup& group_;
  std::vector<double> least_;
};

NetOptions options_of(const Session& session) {
  NetOptions options = session.net_options();
  options.only_trains = true;
  return options;
}

}  // namespace

bool has_blocks(const Net& net) {
  const auto plans = net.plans();
  return std::any_of(plans.begin(), plans.end(),
                     [](const auto& plan) { return plan.second == to_string(Layout::nchw16c); });
}

std::unique_ptr<Net> net_in(const Session& session, const caffe::NetParameter& parameter, Layout layout) {
  NetOptions options = options_of(session);
  for (const std::string& key : choices_of(Net(parameter, options))) options.layouts[key] = layout;
  return std::make_unique<Net>(parameter, options);
}

LayoutTimes tune_layouts(const Session& session, const caffe::NetParameter& parameter, Net& planes, Net& blocks,
                         i64 rounds, TuningTable& table) {
  LayoutTimes result;
  const auto choices = choices_of(planes);
  Stopwatch of_planes(planes, session.group), of_blocks(blocks, session.group);
  for (i64 round = 0; round < rounds; ++round) {
    of_planes.round();
    of_blocks.round();
  }
  result.planes = of_planes.whole(), result.blocks = of_blocks.whole();
  auto planes_by_shape = of_planes.by_shape(choices), blocks_by_shape = of_blocks.by_shape(choices);
  NetOptions options = options_of(session);
  for (const auto& key : choices) {
    const double a = planes_by_shape[key], b = blocks_by_shape[key];
    options.layouts[key] = b < a ? Layout::nchw16c : Layout::nchw;
    result.rows.push_back({key, a, b, options.layouts[key]});
  }
  const double best = std::min(result.planes, result.blocks);
  const auto differs = [&](const auto& row) { return row.chosen != result.rows.front().chosen; };
  bool keeps_mixed = false;
  if (std::any_of(result.rows.begin(), result.rows.end(), differs)) {
    Net net(parameter, options);
    net.use_plans(table.plans_for(net));
    Stopwatch of_mixed(net, session.group);
    for (i64 round = 0; round < rounds; ++round) of_mixed.round();
    result.mixed = of_mixed.whole();
    keeps_mixed = result.mixed < best;
  }
  for (auto& row : result.rows) {
    if (!keeps_mixed) row.chosen = result.blocks < result.planes ? Layout::nchw16c : Layout::nchw;
    table.set({layout_direction, row.shape, to_string(row.chosen), "", 0},
              row.chosen == Layout::nchw ? row.planes : row.blocks);
  }
  return result;
}

}  // namespace cortado
