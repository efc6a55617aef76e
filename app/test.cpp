#include <vector>

#include "app/progress_bar.h"
#include "app/session.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/formats/caffe.pb.h"
#include "core/formats/prototxt.h"
#include "core/solver/finite.h"

namespace cortado {

int test(Session& session, const Options& options) {
  caffe::NetParameter parameter, weights;
  read_net_for(options, options.model, Phase::test, parameter);
  read_weights(options.weights, &session.hdf5, weights);
  Net net(parameter, session.net_options());
  net.copy_trained(weights);
  require_finite_weights(net);
  CORTADO_LOG(info) << "Running for " << options.iterations << " iterations.";

  // Batches are divided over ranks; their sums are added, so any number of ranks reports the same.
  const auto& replicas = session.job.replicas();
  i64 values = 1;
  for (const auto& output : net.outputs()) values += output.blob->count();
  std::vector<double> sums(static_cast<std::size_t>(values), 0.0);
  ProgressBar bar("testing");
  net.run().parameter_version = 1;
  for (i64 pass = replicas.rank(); pass < options.iterations; pass += replicas.size()) {
    net.run().pass = pass;
    net.forward();
    require_finite_outputs(net);
    std::size_t next = 0;
    sums[next++] += net.loss();
    for (const auto& output : net.outputs()) {
      const auto host = output.blob->data_vector();
      for (const float value : host) {
        if (replicas.size() == 1) CORTADO_LOG(info) << "Batch " << pass << ", " << output.name << " = " << value;
        sums[next++] += value;
      }
    }
    if (replicas.rank() == 0) bar.show(pass + 1, options.iterations);
  }
  replicas.sum(sums.data(), values);

  const auto mean = [&](std::size_t i) { return sums[i] / static_cast<double>(options.iterations); };
  CORTADO_LOG(info) << "Loss: " << mean(0);
  std::size_t next = 1;
  for (const auto& output : net.outputs())
    for (i64 i = 0; i < output.blob->count(); ++i, ++next) {
      const double weight = output.loss_weight;
      CORTADO_LOG(info) << output.name << " = " << mean(next)
                        << (weight == 0 ? ""
                                        : " (* " + std::to_string(weight) + " = " +
                                              std::to_string(weight * mean(next)) + " loss)");
    }
  return 0;
}

}  // namespace cortado
