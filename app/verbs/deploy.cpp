#include "app/command_line/shared_flags.h"
#include "app/command_line/verb.h"
#include "app/deploy/deployed_net.h"
#include "app/deploy/fold.h"
#include "app/session/net_flags.h"
#include "app/session/session.h"
#include "app/session/session_flags.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/formats/prototxt.h"

namespace cortado {
namespace {

/// What an Input layer wants done to pixels, for the log; empty means nothing.
std::string wishes_of(const caffe::TransformationParameter& transform) {
  std::string text;
  if (transform.has_mean_file()) text += ", mean of " + transform.mean_file();
  for (const float mean : transform.mean_value()) text += ", mean_value " + std::to_string(mean);
  if (transform.has_scale()) text += ", scale " + std::to_string(transform.scale());
  return text.empty() ? "" : text.substr(2);
}

class Deploy : public Verb {
 public:
  void add_to(Flags& flags) override;
  int run(const MpiJob& job) override;

 private:
  void write(const caffe::NetParameter& net, const Session& session) const;
  std::string weights_out() const;

  NetFlags net_{Phase::test};
  SessionFlags session_;
  DeployOptions options_;
  std::string weights_, out_, out_weights_;
  bool keeps_maps_ = false;
};

void Deploy::add_to(Flags& flags) {
  net_.add_model(flags, "Net prototxt, as it is trained").required();
  add_weights(flags, weights_, "The .caffemodel or .caffemodel.h5; without it BatchNorm and Scale stay");
  flags.add("--out", out_, "Prototxt to write").required().replaces_nothing();
  flags.add("--out-weights", out_weights_, "Weights to write; default: OUT's name with .caffemodel").replaces_nothing();
  flags.add("--batch", options_.batch, "Samples of an input that stands for a data layer").shows_default().positive();
  flags.add("--outputs", options_.outputs,
            "Blobs that the net is for, separated by commas; default: those of the losses of the largest weight");
  flags.add_switch("--keep-norms", keeps_maps_, "BatchNorm, Scale and Bias stay layers");
  session_.add_shape(flags);
  net_.add_state(flags);
}

std::string Deploy::weights_out() const {
  if (!out_weights_.empty()) return out_weights_;
  const auto dot = out_.find_last_of("./");
  return (dot == std::string::npos || out_[dot] == '/' ? out_ : out_.substr(0, dot)) + ".caffemodel";
}

int Deploy::run(const MpiJob& job) {
  if (weights_.empty() && !out_weights_.empty())
    throw ConfigError("--out-weights", "there are no weights to write", "give --weights");
  if (!weights_.empty() && is_taken(weights_out()))
    throw FileError(weights_out(), "is there already", "remove it, or give --out-weights another name");
  const Session session(job, session_);
  caffe::NetParameter net = deployed_net(session, net_, options_, weights_);
  session.sources.settle_shapes();
  if (!weights_.empty() && !keeps_maps_)
    CORTADO_LOG(info) << "Folded " << fold_maps(net) << " BatchNorm, Scale and Bias layers into those before them";
  const Net built(net, plain_options(session));  // which throws where it could not be used
  for (const auto& output : built.outputs())
    CORTADO_LOG(info) << "Output " << output.name << ", " << to_string(output.blob->shape());
  if (job.rank() == 0) write(net, session);
  return 0;
}

void Deploy::write(const caffe::NetParameter& net, const Session& session) const {
  const caffe::NetParameter text = text_for_others(net);
  for (const auto& layer : text.layer())
    if (layer.type() == "Input" && layer.has_transform_param() && !wishes_of(layer.transform_param()).empty())
      CORTADO_LOG(info) << "Input " << layer.top(0) << " wants " << wishes_of(layer.transform_param());
  write_text(out_, text);
  CORTADO_LOG(info) << "Wrote " << out_;
  if (weights_.empty()) return;
  caffe::NetParameter weights = net;
  weights.clear_state();
  if (is_hdf5(weights_out()))
    session.hdf5.write_weights(weights_out(), weights);
  else
    write_binary(weights_out(), weights);
  CORTADO_LOG(info) << "Wrote " << weights_out();
}

}  // namespace

std::unique_ptr<Verb> make_deploy() { return std::make_unique<Deploy>(); }

}  // namespace cortado
