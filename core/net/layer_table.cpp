#include "core/net/layer_table.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/formats/caffe.pb.h"
#include "core/formats/close_name.h"

namespace cortado {
namespace {
/// What to write for types of Caffe's forks.
const std::map<std::string, std::string>& advice_for_types() {
  static const std::map<std::string, std::string> advice = {
      {"Python",
       "a Python layer cannot run here: express it by other layers (docs/use/layers.md), or let the net end before it "
       "and work on the values that HDF5Output or cortado extract writes"},
      {"BN", "write BatchNorm and, behind it, Scale with bias_term: true"},
      {"CuDNNBatchNorm", "write BatchNorm and, behind it, Scale with bias_term: true"},
      {"SyncBN", "write BatchNorm with batch_norm_param { synchronised: true } and, behind it, Scale"},
      {"ReLU6", "write ReLU and, behind it, Clip with clip_param { min: 0 max: 6 }"},
      {"DepthwiseConvolution", "write Convolution with group: the number of channels"},
      {"ConvolutionDepthwise", "write Convolution with group: the number of channels"},
      {"ConvolutionRistretto", "write Convolution, without quantization_param"},
      {"FcRistretto", "write InnerProduct, without quantization_param"},
      {"DeconvolutionRistretto", "write Deconvolution, without quantization_param"},
      {"LRNRistretto", "write LRN, without quantization_param"},
      {"Interp",
       "write Deconvolution with kernel_size: 2 n, stride: n, pad: n / 2, group: the number of channels, "
       "weight_filler { type: \"bilinear\" } and lr_mult: 0, and Crop behind it"},
      {"Upsample",
       "write Deconvolution with kernel_size and stride of the factor, group: the number of channels, "
       "weight_filler { type: \"bilinear\" } and lr_mult: 0"},
      {"DenseImageData",
       "write two Data layers, for images and for labels (docs/use/data.md), or ImageData whose list names "
       "an image as label"},
      {"ImageSegData", "write two Data layers, for images and for labels (docs/use/data.md)"},
      {"ImageLabelData", "write two Data layers, for images and for labels (docs/use/data.md)"},
      {"AnnotatedData", "boxes are not read here: convert images to LMDB and boxes to HDF5"},
      {"BatchReindexing", "write BatchReindex"},
      {"SoftmaxLoss", "write SoftmaxWithLoss"},
      {"SoftmaxWithLossOHEM", "write SoftmaxWithLoss"},
      {"CuDNNConvolution", "write Convolution"},
      {"CuDNNPooling", "write Pooling"},
      {"CuDNNReLU", "write ReLU"},
      {"CuDNNDropout", "write Dropout"},
      {"CuDNNLRN", "write LRN"},
      {"LSTMv2", "write LSTM"},
  };
  return advice;
}
}  // namespace

std::vector<std::string> LayerTable::types() const {
  std::vector<std::string> types;
  for (const auto& entry : entries_) types.push_back(entry.first);
  return types;
}

const std::string& LayerTable::type_of(Role role) const {
  const auto found = roles_.find(role);
  require(found != roles_.end(), "every role has a layer type");
  return found->second;
}

bool LayerTable::plays(const caffe::LayerParameter& parameter, Role role) const {
  const auto found = roles_.find(role);
  return found != roles_.end() && found->second == parameter.type();
}

LayerTable::Entry LayerTable::entry_of(const caffe::LayerParameter& parameter) const {
  const auto found = entries_.find(parameter.type());
  if (found != entries_.end()) return found->second;
  return {nullptr,
          &Layer::keeps_bf16,
          &Layer::begins_bf16,
          &Layer::pixel_stride,
          &Layer::set_pixel_stride,
          &Layer::divide_batch};
}

bool LayerTable::keeps_bf16(const caffe::LayerParameter& parameter) const {
  return entry_of(parameter).keeps_bf16(parameter);
}
bool LayerTable::begins_bf16(const caffe::LayerParameter& parameter) const {
  return entry_of(parameter).begins_bf16(parameter);
}
PixelStride LayerTable::pixel_stride(const caffe::LayerParameter& parameter) const {
  return entry_of(parameter).pixel_stride(parameter);
}
void LayerTable::set_pixel_stride(caffe::LayerParameter& parameter, PixelStride stride) const {
  entry_of(parameter).set_pixel_stride(parameter, stride);
}
void LayerTable::divide_batch(caffe::LayerParameter& parameter, const BatchShare& share) const {
  entry_of(parameter).divide_batch(parameter, share);
}

std::string LayerTable::unknown_in(const caffe::NetParameter& net) const {
  std::string lines;
  bool all_advised = true;
  for (const auto& layer : net.layer()) {
    if (has(layer.type())) continue;
    const auto advised = advice_for_types().find(layer.type());
    const std::string close = close_name(layer.type(), types());
    std::string line = "layer '" + layer.name() + "': ";
    if (layer.type().empty())
      line += "has no type";
    else
      line += "layer type '" + layer.type() + "' is not known";
    if (advised != advice_for_types().end())
      line += " (" + advised->second + ")";
    else if (!close.empty())
      line += " (did you mean '" + close + "'?)";
    else
      all_advised = false;
    lines += (lines.empty() ? "" : "\n") + line;
  }
  if (all_advised) return lines;
  std::string known;
  for (const auto& type : types()) known += (known.empty() ? "" : ", ") + type;
  return lines + "\nknown types: " + known;
}

std::unique_ptr<Layer> LayerTable::make(const caffe::LayerParameter& parameter, const LayerContext& context) const {
  const auto found = entries_.find(parameter.type());
  if (found != entries_.end()) return found->second.make(parameter, context);
  caffe::NetParameter alone;
  *alone.add_layer() = parameter;
  throw ConfigError("", unknown_in(alone));
}

}  // namespace cortado
