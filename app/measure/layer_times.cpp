#include "app/measure/layer_times.h"

#include "app/measure/measure.h"
#include "app/report/progress_bar.h"
#include "core/base/log.h"

namespace cortado {

caffe::SolverParameter solver_around(const caffe::NetParameter& net, Precision precision) {
  caffe::SolverParameter parameter;
  *parameter.mutable_net_param() = net;
  parameter.mutable_net_param()->clear_state();
  *parameter.mutable_train_state() = net.state();
  parameter.set_base_lr(0);
  parameter.set_lr_policy("fixed");
  parameter.set_momentum(0.9F);
  parameter.set_weight_decay(0.0005F);
  parameter.set_display(0);
  if (precision == Precision::bf16) parameter.set_precision(caffe::BF16);
  parameter.set_snapshot_after_train(false);
  return parameter;
}

LayerTimes time_layers(Net& net, CoreGroup& group, i64 iterations, bool with_backward) {
  const auto& layers = net.layers();
  LayerTimes times{std::vector<double>(layers.size()), std::vector<double>(layers.size())};
  ProgressBar bar("timing layers");
  for (i64 iteration = 0; iteration < iterations; ++iteration) {
    net.run().pass = iteration;
    const double start = times.forward_sum + times.backward_sum;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const double ms = milliseconds(group, [&] { net.forward(i, i + 1); });
      times.forward[i] += ms;
      times.forward_sum += ms;
    }
    if (with_backward) net.clear_gradients();
    for (std::size_t i = with_backward ? layers.size() : 0; i-- > 0;) {
      const double ms = milliseconds(group, [&] { net.backward(i, i + 1); });
      times.backward[i] += ms;
      times.backward_sum += ms;
    }
    group.wait();
    CORTADO_LOG(info) << "Iteration: " << iteration + 1
                      << " forward-backward time: " << times.forward_sum + times.backward_sum - start << " ms.";
    if (group.index() == 0) bar.show(iteration + 1, iterations);
  }
  return times;
}

i64 batch_of(const Net& net) {
  for (const auto& entry : net.layers())
    for (const Blob* top : entry.top)
      if (top->axes() > 0) return top->dim(0);
  return 0;
}

}  // namespace cortado
