#include "app/deploy/deployed_net.h"

#include "app/measure/net_sets.h"
#include "app/session/net_flags.h"
#include "app/session/session.h"
#include "core/formats/blob_proto.h"
#include "core/net/net.h"
#include "core/net/passes/net_text.h"
#include "core/net/passes/passes.h"

namespace cortado {

NetOptions plain_options(const Session& session) {
  NetOptions options = session.net_options();
  for (const Pass& pass : net_passes())
    if (pass.needed == nullptr) options.without.insert(pass.name);
  return options;
}

caffe::NetParameter text_for_others(const caffe::NetParameter& net) {
  caffe::NetParameter text = net;
  text.clear_state();
  for (auto& layer : *text.mutable_layer()) {
    layer.clear_blobs();
    if (!layer.has_pooling_param() || layer.pooling_param().round_mode() != caffe::PoolingParameter::FLOOR) continue;
    layer.mutable_pooling_param()->clear_round_mode();
    layer.mutable_pooling_param()->set_ceil_mode(false);
  }
  return text;
}

caffe::NetParameter deployed_net(const Session& session, const NetFlags& flags, const DeployOptions& options,
                                 const std::string& weights) {
  caffe::NetParameter given;
  flags.read(given);
  caffe::NetParameter filtered = filter_layers(given);
  std::unique_ptr<Net> shaped;
  if (reads_data(filtered)) {
    caffe::NetParameter quick = given;
    start_with_zeros(quick);
    shaped = std::make_unique<Net>(quick, plain_options(session));
  }
  caffe::NetParameter net =
      without_training(filtered, options, [&](const std::string& blob) { return shaped->blob(blob)->shape(); });
  shaped.reset();
  net.mutable_state()->set_phase(caffe::TEST);
  if (weights.empty()) return net;
  caffe::NetParameter quick = net;
  start_with_zeros(quick);
  Net filled(quick, plain_options(session));
  session.take_weights(filled, weights);
  for (auto& layer : *net.mutable_layer()) {
    layer.clear_blobs();
    for (const auto& blob : filled.layer(layer.name())->blobs()) to_proto(*blob, *layer.add_blobs());
  }
  return net;
}

}  // namespace cortado
