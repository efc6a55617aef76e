#include "app/onnx/import.h"

#include "app/command_line/shared_flags.h"
#include "app/command_line/verb.h"
#include "app/deploy/deployed_net.h"
#include "app/onnx/model_file.h"
#include "app/onnx/train_on.h"
#include "app/session/session.h"
#include "app/session/session_flags.h"
#include "app/start/start_files.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/formats/prototxt.h"

namespace cortado {
namespace {

class Import : public Verb {
 public:
  void add_to(Flags& flags) override;
  int run(const MpiJob& job) override;

 private:
  std::string weights_out() const;

  SessionFlags session_;
  std::string onnx_, out_, out_weights_, source_, tests_;
  Normalisation normalisation_;
  i64 batch_ = 0;
};

void Import::add_to(Flags& flags) {
  add_file(flags, "onnx", onnx_, "ONNX model, of opset 11 or newer, weights inside or beside").required();
  flags.add("--out", out_, "Prototxt to write").required().replaces_nothing();
  flags.add("--out-weights", out_weights_, "Weights to write; default: OUT's name with .caffemodel").replaces_nothing();
  flags.add("--batch", batch_, "Samples of the inputs; default: the model's, 1 where it leaves them open").positive();
  const Flag trains =
      flags.add("--train-on", source_,
                "Write a net that trains: a data set stands for the input, a loss and the accuracy for the end");
  flags.add("--test-on", tests_, "The data set of its tests; default: that of --train-on").needs(trains);
  const Flag mean = flags.add("--mean", normalisation_.mean,
                              "PyTorch's Normalize, a value for each channel. Then the net takes pixels from 0 to 255, "
                              "blue, green, red");
  const Flag deviation = flags.add("--std", normalisation_.deviation, "The same").positive();
  mean.needs(deviation);
  deviation.needs(mean);
}

std::string Import::weights_out() const {
  if (!out_weights_.empty()) return out_weights_;
  const auto dot = out_.find_last_of("./");
  return (dot == std::string::npos || out_[dot] == '/' ? out_ : out_.substr(0, dot)) + ".caffemodel";
}

int Import::run(const MpiJob& job) {
  if (is_taken(weights_out()))
    throw FileError(weights_out(), "is there already", "remove it, or give --out-weights another name");
  caffe::NetParameter weights;
  {
    onnx::ModelProto model;
    read_onnx(onnx_, model);
    weights = from_onnx(model, onnx_);
  }
  if (batch_ > 0)
    for (auto& layer : *weights.mutable_layer())
      if (layer.type() == "Input") layer.mutable_input_param()->mutable_shape(0)->set_dim(0, batch_);
  const Session session(job, session_);
  NetOptions options = plain_options(session);
  weights.mutable_state()->set_phase(caffe::TEST);
  const Net net(weights, options);  // which throws where it could not be used
  for (const auto& output : net.outputs())
    CORTADO_LOG(info) << "Output " << output.name << ", " << to_string(output.blob->shape());
  weights.clear_state();
  if (job.rank() != 0) return 0;
  caffe::NetParameter text = text_for_others(weights);
  if (!normalisation_.mean.empty()) take_bytes(normalisation_, text, weights);
  if (!source_.empty()) train_on(source_, tests_, text);
  write_text(out_, text);
  if (is_hdf5(weights_out()))
    session.hdf5.write_weights(weights_out(), weights);
  else
    write_binary(weights_out(), weights);
  CORTADO_LOG(info) << "Wrote " << out_ << ", " << text.layer_size() << " layers, and " << weights_out();
  return 0;
}

}  // namespace

std::unique_ptr<Verb> make_import() { return std::make_unique<Import>(); }

}  // namespace cortado
