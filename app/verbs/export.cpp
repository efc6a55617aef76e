#include "app/onnx/export.h"

#include "app/command_line/shared_flags.h"
#include "app/command_line/verb.h"
#include "app/deploy/deployed_net.h"
#include "app/deploy/fold.h"
#include "app/session/net_flags.h"
#include "app/session/session.h"
#include "app/session/session_flags.h"
#include "core/base/log.h"
#include "core/formats/prototxt.h"

namespace cortado {
namespace {

class Export : public Verb {
 public:
  void add_to(Flags& flags) override;
  int run(const MpiJob& job) override;

 private:
  NetFlags net_{Phase::test};
  SessionFlags session_;
  DeployOptions options_;
  std::string weights_, onnx_;
  bool folds_ = false;
};

void Export::add_to(Flags& flags) {
  net_.add_model(flags, "Net prototxt, as it is trained or deployed").required();
  add_weights(flags, weights_, "The .caffemodel or .caffemodel.h5").required();
  flags.add("--onnx", onnx_, "ONNX model to write, of opset 13").required().replaces_nothing();
  flags.add("--batch", options_.batch, "Samples of an input that stands for a data layer").shows_default().positive();
  flags.add("--outputs", options_.outputs,
            "Blobs that the net is for, separated by commas; default: those of the losses of the largest weight");
  flags.add_switch("--fold", folds_, "BatchNorm, Scale and Bias go into the weights of the layers before them");
  session_.add_shape(flags);
  net_.add_state(flags);
}

int Export::run(const MpiJob& job) {
  const Session session(job, session_);
  caffe::NetParameter text = deployed_net(session, net_, options_, weights_);
  session.sources.settle_shapes();
  if (folds_) CORTADO_LOG(info) << "Folded " << fold_maps(text) << " layers into those before them";
  const Net net(text, plain_options(session));
  const onnx::ModelProto model = to_onnx(net, options_.outputs);
  if (job.rank() != 0) return 0;
  write_binary(onnx_, model);
  CORTADO_LOG(info) << "Wrote " << onnx_ << ": " << model.graph().node_size() << " nodes, opset "
                    << model.opset_import(0).version();
  return 0;
}

}  // namespace

std::unique_ptr<Verb> make_export() { return std::make_unique<Export>(); }

}  // namespace cortado
