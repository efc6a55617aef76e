#include <vector>

#include "app/report/progress_bar.h"
#include "app/session/session.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/formats/caffe.pb.h"
#include "core/formats/prototxt.h"
#include "core/net/output_sums.h"
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
  OutputSums sums(net);
  double loss = 0;
  ProgressBar bar("testing");
  net.run().parameter_version = 1;
  for (i64 pass = replicas.rank(); pass < options.iterations; pass += replicas.size()) {
    net.run().pass = pass;
    net.forward();
    require_finite_outputs(net);
    loss += net.loss();
    sums.add(net);
    if (replicas.size() == 1)
      for (const auto& output : net.outputs())
        for (const float value : output.blob->data_vector())
          CORTADO_LOG(info) << "Batch " << pass << ", " << output.name << " = " << value;
    if (replicas.rank() == 0) bar.show(pass + 1, options.iterations);
  }
  replicas.sum(&loss, 1);
  sums.merge(replicas);

  CORTADO_LOG(info) << "Loss: " << loss / static_cast<double>(options.iterations);
  for (const auto& [name, value, weight] : sums.means(net, options.iterations))
    CORTADO_LOG(info) << name << " = " << value
                      << (weight == 0
                              ? ""
                              : " (* " + std::to_string(weight) + " = " + std::to_string(weight * value) + " loss)");
  for (const auto& name : sums.left_out(net))
    CORTADO_LOG(warning) << "Output '" << name << "' changes its size: it has no mean";
  return 0;
}

}  // namespace cortado
