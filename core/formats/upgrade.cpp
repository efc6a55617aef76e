#include <sys/stat.h>

#include <map>

#include "core/base/error.h"
#include "core/formats/caffe.pb.h"
#include "core/formats/prototxt.h"
#include "core/formats/upgrade_forks.h"
#include "core/formats/upgrade_v0.h"

namespace cortado {
namespace pb = google::protobuf;
namespace {
using V1 = caffe::V1LayerParameter;

const char* type_name(V1::LayerType type) {
  static const std::map<V1::LayerType, const char*> names = {
      {V1::ABSVAL, "AbsVal"},
      {V1::ACCURACY, "Accuracy"},
      {V1::ARGMAX, "ArgMax"},
      {V1::BNLL, "BNLL"},
      {V1::CONCAT, "Concat"},
      {V1::CONTRASTIVE_LOSS, "ContrastiveLoss"},
      {V1::CONVOLUTION, "Convolution"},
      {V1::DATA, "Data"},
      {V1::DECONVOLUTION, "Deconvolution"},
      {V1::DROPOUT, "Dropout"},
      {V1::DUMMY_DATA, "DummyData"},
      {V1::EUCLIDEAN_LOSS, "EuclideanLoss"},
      {V1::ELTWISE, "Eltwise"},
      {V1::EXP, "Exp"},
      {V1::FLATTEN, "Flatten"},
      {V1::HDF5_DATA, "HDF5Data"},
      {V1::HDF5_OUTPUT, "HDF5Output"},
      {V1::HINGE_LOSS, "HingeLoss"},
      {V1::IM2COL, "Im2col"},
      {V1::IMAGE_DATA, "ImageData"},
      {V1::INFOGAIN_LOSS, "InfogainLoss"},
      {V1::INNER_PRODUCT, "InnerProduct"},
      {V1::LRN, "LRN"},
      {V1::MEMORY_DATA, "MemoryData"},
      {V1::MULTINOMIAL_LOGISTIC_LOSS, "MultinomialLogisticLoss"},
      {V1::MVN, "MVN"},
      {V1::POOLING, "Pooling"},
      {V1::POWER, "Power"},
      {V1::RELU, "ReLU"},
      {V1::SIGMOID, "Sigmoid"},
      {V1::SIGMOID_CROSS_ENTROPY_LOSS, "SigmoidCrossEntropyLoss"},
      {V1::SILENCE, "Silence"},
      {V1::SLICE, "Slice"},
      {V1::SOFTMAX, "Softmax"},
      {V1::SOFTMAX_LOSS, "SoftmaxWithLoss"},
      {V1::SPLIT, "Split"},
      {V1::TANH, "TanH"},
      {V1::THRESHOLD, "Threshold"},
      {V1::WINDOW_DATA, "WindowData"},
  };
  const auto found = names.find(type);
  return found == names.end() ? "" : found->second;
}

/// Fields that both messages have under one name (their numbers differ): all but the few that `upgrade_layer` handles.
void copy_common_fields(const V1& from, caffe::LayerParameter& to) {
  const pb::Reflection& read = *from.GetReflection();
  const pb::Reflection& write = *to.GetReflection();
  std::vector<const pb::FieldDescriptor*> fields;
  read.ListFields(from, &fields);
  for (const auto* field : fields) {
    const auto* target = to.GetDescriptor()->FindFieldByName(field->name());
    if (target == nullptr || target->cpp_type() != field->cpp_type() ||
        target->message_type() != field->message_type() || target->is_repeated() != field->is_repeated())
      continue;
    const bool message = field->cpp_type() == pb::FieldDescriptor::CPPTYPE_MESSAGE;
    if (message && !field->is_repeated())
      write.MutableMessage(&to, target)->CopyFrom(read.GetMessage(from, field));
    else if (message)
      for (int i = 0; i < read.FieldSize(from, field); ++i)
        write.AddMessage(&to, target)->CopyFrom(read.GetRepeatedMessage(from, field, i));
  }
  to.set_name(from.name());
  *to.mutable_bottom() = from.bottom();
  *to.mutable_top() = from.top();
  *to.mutable_loss_weight() = from.loss_weight();
}

/// The oldest data layers had their transformation among their own fields.
template <class Data>
void move_transform(Data& data, caffe::TransformationParameter& to) {
  if (data.has_scale()) to.set_scale(data.scale());
  if (data.has_mean_file()) to.set_mean_file(data.mean_file());
  if (data.has_crop_size()) to.set_crop_size(data.crop_size());
  if (data.has_mirror()) to.set_mirror(data.mirror());
  data.clear_scale();
  data.clear_mean_file();
  data.clear_crop_size();
  data.clear_mirror();
}

template <class Data>
bool has_transform(const Data& data) {
  return data.has_scale() || data.has_mean_file() || data.has_crop_size() || data.has_mirror();
}

void upgrade_transform(caffe::LayerParameter& layer) {
  if (has_transform(layer.data_param())) move_transform(*layer.mutable_data_param(), *layer.mutable_transform_param());
  if (has_transform(layer.image_data_param()))
    move_transform(*layer.mutable_image_data_param(), *layer.mutable_transform_param());
  if (has_transform(layer.window_data_param()))
    move_transform(*layer.mutable_window_data_param(), *layer.mutable_transform_param());
}

void upgrade_layer(const V1& from, caffe::LayerParameter& to) {
  copy_common_fields(from, to);
  upgrade_transform(to);
  to.set_type(type_name(from.type()));
  for (int i = 0; i < from.param_size(); ++i) param_at(to, i).set_name(from.param(i));
  for (int i = 0; i < from.blob_share_mode_size(); ++i)
    param_at(to, i).set_share_mode(from.blob_share_mode(i) == V1::STRICT ? caffe::ParamSpec::STRICT
                                                                         : caffe::ParamSpec::PERMISSIVE);
  for (int i = 0; i < from.blobs_lr_size(); ++i) param_at(to, i).set_lr_mult(from.blobs_lr(i));
  for (int i = 0; i < from.weight_decay_size(); ++i) param_at(to, i).set_decay_mult(from.weight_decay(i));
}

void upgrade_layers(caffe::NetParameter& net, const std::string& origin) {
  if (net.layers_size() == 0) return;
  if (net.layer_size() > 0)
    throw ConfigError(origin, "has both 'layer' and 'layers' fields", "write all as layer { type: \"Name\" ... }");
  if (is_v0(net)) return upgrade_v0(net, origin);
  for (const auto& old : net.layers()) upgrade_layer(old, *net.add_layer());
  net.clear_layers();
}

/// Shapes come from `input_shape`, or from `input_dim`, four numbers for each input. An input without either is what
/// old weight files hold, and means nothing.
void upgrade_inputs(caffe::NetParameter& net, const std::string& origin) {
  const int inputs = net.input_size();
  if (inputs > 0 && (net.input_shape_size() > 0 || net.input_dim_size() > 0)) {
    const bool shapes = net.input_shape_size() > 0;
    if (shapes ? net.input_shape_size() != inputs : net.input_dim_size() != 4 * inputs)
      throw ConfigError(origin, std::to_string(inputs) + " 'input' fields and another number of shapes",
                        "give one input_shape { dim: ... } for each input");
    caffe::LayerParameter layer;
    layer.set_name("input");
    layer.set_type("Input");
    *layer.mutable_top() = net.input();
    for (int i = 0; i < inputs; ++i) {
      auto& shape = *layer.mutable_input_param()->add_shape();
      if (shapes) shape = net.input_shape(i);
      for (int d = 0; !shapes && d < 4; ++d) shape.add_dim(net.input_dim(4 * i + d));
    }
    *net.add_layer() = layer;
    for (int i = net.layer_size() - 1; i > 0; --i) net.mutable_layer()->SwapElements(i, i - 1);
  }
  net.clear_input();
  net.clear_input_shape();
  net.clear_input_dim();
}

void upgrade_batch_norm(caffe::LayerParameter& layer) {
  if (layer.type() != "BatchNorm" || layer.param_size() != 3) return;
  for (auto& statistic : *layer.mutable_param()) {
    statistic.set_lr_mult(0);
    statistic.set_decay_mult(0);
  }
}

const char* type_name(caffe::SolverParameter::SolverType type) {
  switch (type) {
    case caffe::SolverParameter::NESTEROV: return "Nesterov";
    case caffe::SolverParameter::ADAGRAD: return "AdaGrad";
    case caffe::SolverParameter::RMSPROP: return "RMSProp";
    case caffe::SolverParameter::ADADELTA: return "AdaDelta";
    case caffe::SolverParameter::ADAM: return "Adam";
    default: return "SGD";
  }
}

bool is_folder(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

std::string without_extension(const std::string& file) {
  const std::size_t slash = file.find_last_of('/'), dot = file.find_last_of('.');
  const std::size_t name = slash == std::string::npos ? 0 : slash + 1;
  return dot == std::string::npos || dot <= name ? file : file.substr(0, dot);
}

void complete_snapshot_prefix(caffe::SolverParameter& solver, const std::string& file) {
  const std::string stem = without_extension(file);
  if (!solver.has_snapshot_prefix()) {
    solver.set_snapshot_prefix(stem);
  } else if (is_folder(solver.snapshot_prefix())) {
    const std::string slash = solver.snapshot_prefix().back() == '/' ? "" : "/";
    solver.set_snapshot_prefix(solver.snapshot_prefix() + slash + stem.substr(stem.find_last_of('/') + 1));
  }
}
}  // namespace

void upgrade_net(caffe::NetParameter& net, const std::string& origin) {
  upgrade_layers(net, origin);
  upgrade_inputs(net, origin);
  for (auto& layer : *net.mutable_layer()) {
    upgrade_batch_norm(layer);
    upgrade_fork_words(layer, origin);
  }
}

std::string solver_type_name(const caffe::SolverParameter& solver) {
  return solver.has_solver_type() ? type_name(solver.solver_type()) : solver.type();
}

void upgrade_solver(caffe::SolverParameter& solver, const std::string& origin) {
  if (solver.has_solver_type()) {
    if (solver.has_type()) throw ConfigError(origin, "has both 'type' and the deprecated 'solver_type'", "keep 'type'");
    solver.set_type(solver_type_name(solver));
    solver.clear_solver_type();
  }
  if (solver.has_net_param()) upgrade_net(*solver.mutable_net_param(), origin);
  if (solver.has_train_net_param()) upgrade_net(*solver.mutable_train_net_param(), origin);
  for (auto& net : *solver.mutable_test_net_param()) upgrade_net(net, origin);
}

void read_solver(const std::string& file, caffe::SolverParameter& solver) {
  read_text(file, solver);
  upgrade_solver(solver, file);
  complete_snapshot_prefix(solver, file);
}

}  // namespace cortado
