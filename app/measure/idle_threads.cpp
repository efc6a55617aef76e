#include "app/measure/idle_threads.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "app/measure/dry_group.h"
#include "app/measure/memory_need.h"
#include "core/base/log.h"

namespace cortado {
namespace {
constexpr double least_share = 0.01, least_seconds = 20e-6, flops_of_thread = 50e9, bytes_of_thread = 5e9;

/// Whether a layer's pass forward, and backward, has enough work.
struct Matters {
  bool forward, backward;
};

std::vector<Matters> find_what_matters(const Net& net, int threads) {
  std::vector<Layer::Cost> costs;
  Layer::Cost all;
  for (const auto& entry : net.layers()) {
    const Layer::Cost cost = entry.is_absorbed ? Layer::Cost{} : entry.layer->cost(entry.bottom, entry.top);
    costs.push_back(cost);
    all.forward_flops += cost.forward_flops, all.backward_flops += cost.backward_flops;
    all.forward_bytes += cost.forward_bytes, all.backward_bytes += cost.backward_bytes;
  }
  const auto matters = [&](double flops, double bytes) {
    const bool has_share = flops > least_share * (all.forward_flops + all.backward_flops) ||
                           bytes > least_share * (all.forward_bytes + all.backward_bytes);
    return has_share && std::max(flops / flops_of_thread, bytes / bytes_of_thread) >= least_seconds * threads;
  };
  std::vector<Matters> layers;
  for (const Layer::Cost& cost : costs)
    layers.push_back(
        {matters(cost.forward_flops, cost.forward_bytes), matters(cost.backward_flops, cost.backward_bytes)});
  return layers;
}
}  // namespace

std::vector<IdleThreads> idle_threads(Session& session, const caffe::NetParameter& parameter, const NetOptions& options,
                                      const TuningTable& tuning, int threads) {
  const QuietLog quiet(true);
  DryGroup group(session.group, threads);
  const ShapeSources sources = session.sources.without_values();
  NetOptions with = options;
  with.group = &group;
  with.sources = &sources;
  with.sinks = &no_sinks();
  with.layouts = tuning.layouts();
  with.only_trains = !options.only_scores;
  Net net(parameter, with);
  net.use_plans(tuning.plans_for(net));

  std::vector<IdleThreads> idle;
  std::set<std::tuple<std::string, std::string, bool, i64>> known;
  IdleThreads now;
  bool matters = false;
  group.watch([&](const char* program, const Plan& plan) {
    if (!matters || plan.work_items == 0 || 5 * plan.work_items >= 4 * i64{threads}) return;
    now.program = program, now.work_items = plan.work_items;
    if (known.emplace(now.layer, now.program, now.backward, now.work_items).second) idle.push_back(now);
  });
  const std::vector<Matters> layers = find_what_matters(net, threads);
  const auto run = [&](std::size_t i, bool backward) {
    now.layer = net.layers()[i].layer->name();
    now.backward = backward;
    matters = backward ? layers[i].backward : layers[i].forward;
    if (backward)
      net.backward(i, i + 1);
    else
      net.forward(i, i + 1);
  };
  for (std::size_t i = 0; i < layers.size(); ++i) run(i, false);
  if (with.only_trains) net.clear_gradients();
  for (std::size_t i = with.only_trains ? layers.size() : 0; i-- > 0;) run(i, true);
  return idle;
}

nlohmann::json to_json(const std::vector<IdleThreads>& idle) {
  nlohmann::json list = nlohmann::json::array();
  for (const IdleThreads& launch : idle)
    list.push_back({{"layer", launch.layer},
                    {"direction", launch.backward ? "backward" : "forward"},
                    {"program", launch.program},
                    {"work_items", launch.work_items}});
  return list;
}

std::string describe(const std::vector<IdleThreads>& idle, int threads) {
  if (idle.empty())
    return "of " + std::to_string(threads) + " threads, at least four fifths have work in all layers that matter\n";
  std::string text = "programs that leave more than a fifth of " + std::to_string(threads) + " threads without work:\n";
  for (const IdleThreads& launch : idle)
    text += "  " + launch.layer + (launch.backward ? ", backward: " : ", forward: ") + launch.program + ", " +
            std::to_string(launch.work_items) + " lines or tiles\n";
  return text;
}

}  // namespace cortado
