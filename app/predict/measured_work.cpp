#include "app/predict/measured_work.h"

#include <algorithm>

#include "app/measure/layer_times.h"
#include "app/measure/measure.h"

namespace cortado {

Work work_of(const Net& net) {
  Work work;
  work.batch = std::max<i64>(1, batch_of(net));
  for (const auto& entry : net.layers()) {
    LayerWork layer;
    layer.name = entry.layer->name();
    layer.fully_connected = entry.type == "InnerProduct";
    if (!entry.bottom.empty()) layer.inputs = entry.bottom[0]->count() / work.batch;
    if (!entry.top.empty()) layer.outputs = entry.top[0]->count() / work.batch;
    for (const auto& learnable : net.learnable())
      if (learnable.layer == layer.name && !learnable.statistic) layer.parameters += learnable.blob->count();
    work.layers.push_back(layer);
  }
  return work;
}

void measure_work(Solver& solver, CoreGroup& group, i64 iterations, Work& work) {
  Net& net = solver.net();
  solver.step(1);
  const LayerTimes times = time_layers(net, group, iterations, true);
  const double runs = 1e3 * static_cast<double>(iterations);
  work.iteration = milliseconds(group, [&] { solver.step(iterations); }) / runs;
  const double fit = std::min(1.0, work.iteration / ((times.forward_sum + times.backward_sum) / runs));
  for (std::size_t i = 0; i < work.layers.size(); ++i) {
    LayerWork& layer = work.layers[i];
    const auto& down = net.layers()[i].propagate_down;
    const bool errors = std::find(down.begin(), down.end(), true) != down.end();
    const double backward = fit * times.backward[i] / runs;
    layer.forward = fit * times.forward[i] / runs;
    layer.update = layer.parameters == 0 ? 0 : errors ? backward / 2 : backward;
    layer.backward = backward - layer.update;
  }
}

Coding measured_coding(CoreGroup& group, const Codec& codec) {
  Coding coding{&codec};
  if (codec.name() == "fp32") return coding;
  const i64 n = i64{1} << 20;
  const ClusterMemory x = numbers<float>(group, n), y = numbers<float>(group, n);
  const ClusterMemory state(group, codec.needs_state() ? static_cast<std::size_t>(n) * 4 : 0);
  const ClusterMemory code(group, static_cast<std::size_t>(codec.encoded_bytes(n)));
  if (codec.needs_state()) group.zero(state.get(), state.bytes());
  const auto seconds_a_value = [&](const auto& work) { return seconds_of(group, work) / static_cast<double>(n); };
  coding.encode = seconds_a_value([&] { codec.encode(group, x.as<float>(), n, state.as<float>(), code.get()); });
  coding.decode = seconds_a_value([&] { codec.decode_add(group, code.get(), n, y.as<float>()); });
  return coding;
}

}  // namespace cortado
