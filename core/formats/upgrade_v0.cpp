#include "core/formats/upgrade_v0.h"

#include <map>
#include <set>
#include <vector>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/formats/caffe.pb.h"

namespace cortado {

caffe::ParamSpec& param_at(caffe::LayerParameter& layer, int i) {
  while (layer.param_size() <= i) layer.add_param();
  return *layer.mutable_param(i);
}

namespace {
using V0 = caffe::V0LayerParameter;
using V1 = caffe::V1LayerParameter;

/// A layer on its way: fields that are set and have not been taken yet.
struct Upgrade {
  Upgrade(const V0& v0, caffe::LayerParameter& layer) : from(v0), to(layer) {
    std::vector<const google::protobuf::FieldDescriptor*> fields;
    v0.GetReflection()->ListFields(v0, &fields);
    for (const auto* field : fields) left.insert(field->name());
  }
  /// True if the field is set; then it is taken.
  bool take(const char* field) { return left.erase(field) > 0; }

  const V0& from;
  caffe::LayerParameter& to;
  std::set<std::string> left;
};

void take_common(Upgrade& u) {
  if (u.take("name")) u.to.set_name(u.from.name());
  u.take("type");
  if (u.take("blobs")) *u.to.mutable_blobs() = u.from.blobs();
  if (u.take("blobs_lr"))
    for (int i = 0; i < u.from.blobs_lr_size(); ++i) param_at(u.to, i).set_lr_mult(u.from.blobs_lr(i));
  if (u.take("weight_decay"))
    for (int i = 0; i < u.from.weight_decay_size(); ++i) param_at(u.to, i).set_decay_mult(u.from.weight_decay(i));
}

template <class Parameter>
void take_weights(Upgrade& u, Parameter& to) {
  if (u.take("num_output")) to.set_num_output(u.from.num_output());
  if (u.take("biasterm")) to.set_bias_term(u.from.biasterm());
  if (u.take("weight_filler")) *to.mutable_weight_filler() = u.from.weight_filler();
  if (u.take("bias_filler")) *to.mutable_bias_filler() = u.from.bias_filler();
}

void take_convolution(Upgrade& u) {
  auto& to = *u.to.mutable_convolution_param();
  take_weights(u, to);
  if (u.take("pad")) to.add_pad(u.from.pad());
  if (u.take("kernelsize")) to.add_kernel_size(u.from.kernelsize());
  if (u.take("stride")) to.add_stride(u.from.stride());
  if (u.take("group")) to.set_group(u.from.group());
}

void take_inner_product(Upgrade& u) { take_weights(u, *u.to.mutable_inner_product_param()); }

void take_pooling(Upgrade& u) {
  auto& to = *u.to.mutable_pooling_param();
  if (u.take("pool")) to.set_pool(static_cast<caffe::PoolingParameter::PoolMethod>(u.from.pool()));
  if (u.take("pad")) to.set_pad(u.from.pad());
  if (u.take("kernelsize")) to.set_kernel_size(u.from.kernelsize());
  if (u.take("stride")) to.set_stride(u.from.stride());
}

void take_dropout(Upgrade& u) {
  if (u.take("dropout_ratio")) u.to.mutable_dropout_param()->set_dropout_ratio(u.from.dropout_ratio());
}

void take_lrn(Upgrade& u) {
  auto& to = *u.to.mutable_lrn_param();
  if (u.take("local_size")) to.set_local_size(u.from.local_size());
  if (u.take("alpha")) to.set_alpha(u.from.alpha());
  if (u.take("beta")) to.set_beta(u.from.beta());
  if (u.take("k")) to.set_k(u.from.k());
}

void take_concat(Upgrade& u) {
  if (u.take("concat_dim")) u.to.mutable_concat_param()->set_concat_dim(u.from.concat_dim());
}

void take_infogain(Upgrade& u) {
  if (u.take("source")) u.to.mutable_infogain_loss_param()->set_source(u.from.source());
}

void take_transform(Upgrade& u) {
  if (u.take("scale")) u.to.mutable_transform_param()->set_scale(u.from.scale());
  if (u.take("meanfile")) u.to.mutable_transform_param()->set_mean_file(u.from.meanfile());
  if (u.take("cropsize")) u.to.mutable_transform_param()->set_crop_size(u.from.cropsize());
  if (u.take("mirror")) u.to.mutable_transform_param()->set_mirror(u.from.mirror());
}

template <class Parameter>
void take_source(Upgrade& u, Parameter& to) {
  if (u.take("source")) to.set_source(u.from.source());
  if (u.take("batchsize")) to.set_batch_size(u.from.batchsize());
}

void take_data(Upgrade& u) {
  take_source(u, *u.to.mutable_data_param());
  take_transform(u);
  if (u.take("rand_skip")) u.to.mutable_data_param()->set_rand_skip(u.from.rand_skip());
}

void take_hdf5_data(Upgrade& u) { take_source(u, *u.to.mutable_hdf5_data_param()); }

void take_hdf5_output(Upgrade& u) {
  if (u.take("hdf5_output_param")) *u.to.mutable_hdf5_output_param() = u.from.hdf5_output_param();
}

void take_images(Upgrade& u) {
  auto& to = *u.to.mutable_image_data_param();
  take_source(u, to);
  take_transform(u);
  if (u.take("rand_skip")) to.set_rand_skip(u.from.rand_skip());
  if (u.take("shuffle_images")) to.set_shuffle(u.from.shuffle_images());
  if (u.take("new_height")) to.set_new_height(static_cast<std::uint32_t>(u.from.new_height()));
  if (u.take("new_width")) to.set_new_width(static_cast<std::uint32_t>(u.from.new_width()));
}

void take_windows(Upgrade& u) {
  auto& to = *u.to.mutable_window_data_param();
  take_source(u, to);
  take_transform(u);
  if (u.take("det_fg_threshold")) to.set_fg_threshold(u.from.det_fg_threshold());
  if (u.take("det_bg_threshold")) to.set_bg_threshold(u.from.det_bg_threshold());
  if (u.take("det_fg_fraction")) to.set_fg_fraction(u.from.det_fg_fraction());
  if (u.take("det_context_pad")) to.set_context_pad(u.from.det_context_pad());
  if (u.take("det_crop_mode")) to.set_crop_mode(u.from.det_crop_mode());
}

void take_nothing(Upgrade&) {}

struct Type {
  const char* name;  // today's
  void (*take)(Upgrade&);
};

const std::map<std::string, Type>& types_of_v0() {
  static const std::map<std::string, Type> all = {
      {"accuracy", {"Accuracy", take_nothing}},
      {"bnll", {"BNLL", take_nothing}},
      {"concat", {"Concat", take_concat}},
      {"conv", {"Convolution", take_convolution}},
      {"data", {"Data", take_data}},
      {"dropout", {"Dropout", take_dropout}},
      {"euclidean_loss", {"EuclideanLoss", take_nothing}},
      {"flatten", {"Flatten", take_nothing}},
      {"hdf5_data", {"HDF5Data", take_hdf5_data}},
      {"hdf5_output", {"HDF5Output", take_hdf5_output}},
      {"im2col", {"Im2col", take_convolution}},
      {"images", {"ImageData", take_images}},
      {"infogain_loss", {"InfogainLoss", take_infogain}},
      {"innerproduct", {"InnerProduct", take_inner_product}},
      {"lrn", {"LRN", take_lrn}},
      {"multinomial_logistic_loss", {"MultinomialLogisticLoss", take_nothing}},
      {"pool", {"Pooling", take_pooling}},
      {"relu", {"ReLU", take_nothing}},
      {"sigmoid", {"Sigmoid", take_nothing}},
      {"softmax", {"Softmax", take_nothing}},
      {"softmax_loss", {"SoftmaxWithLoss", take_nothing}},
      {"split", {"Split", take_nothing}},
      {"tanh", {"TanH", take_nothing}},
      {"window_data", {"WindowData", take_windows}},
  };
  return all;
}

std::string where(const std::string& origin, const V1& layer) {
  return origin + ", layer '" + layer.layer().name() + "'";
}

bool is_padding(const V1& layer) { return layer.layer().type() == "padding"; }

/// The layer with the padding in front of it, if there is one: its pad, and its bottom.
void fold_padding(V1& layer, const std::map<std::string, const V1*>& makers, const std::string& origin) {
  for (auto& bottom : *layer.mutable_bottom()) {
    const auto maker = makers.find(bottom);
    if (maker == makers.end() || !is_padding(*maker->second)) continue;
    const V1& padding = *maker->second;
    const std::string& type = layer.layer().type();
    if ((type != "conv" && type != "pool") || layer.bottom_size() != 1)
      throw ConfigError(where(origin, layer), "has the padding layer '" + padding.layer().name() + "' in front of it",
                        "only a convolution or a pooling layer with one bottom can take its padding");
    if (padding.bottom_size() != 1 || padding.top_size() != 1)
      throw ConfigError(where(origin, padding), "is padding with more than a bottom and a top");
    layer.mutable_layer()->set_pad(padding.layer().pad());
    bottom = padding.bottom(0);
  }
}

void upgrade_layer(const V1& from, caffe::LayerParameter& to, const std::string& origin) {
  const auto found = types_of_v0().find(from.layer().type());
  if (found == types_of_v0().end())
    throw ConfigError(where(origin, from), "has the type '" + from.layer().type() + "', which no V0 layer has");
  to.set_type(found->second.name);
  *to.mutable_bottom() = from.bottom();
  *to.mutable_top() = from.top();
  Upgrade upgrade(from.layer(), to);
  take_common(upgrade);
  found->second.take(upgrade);
  for (const auto& field : upgrade.left)
    CORTADO_LOG(warning) << where(origin, from) << ": '" << field << "' means nothing to a layer of type '"
                         << from.layer().type() << "' and is left out";
}

}  // namespace

bool is_v0(const caffe::NetParameter& net) {
  for (const auto& layer : net.layers())
    if (layer.has_layer()) return true;
  return false;
}

void upgrade_v0(caffe::NetParameter& net, const std::string& origin) {
  std::map<std::string, const V1*> makers;  // of each blob, the last layer so far
  for (const auto& given : net.layers()) {
    if (!given.has_layer())
      throw ConfigError(origin,
                        "has both V0 layers ('layers { layer { ... } }') and others, such as '" + given.name() + "'",
                        "write all in one form");
    if (!is_padding(given)) {
      V1 folded = given;
      fold_padding(folded, makers, origin);
      upgrade_layer(folded, *net.add_layer(), origin);
    }
    for (const auto& top : given.top()) makers[top] = &given;
  }
  net.clear_layers();
}

}  // namespace cortado
