#pragma once
#include <string>

namespace caffe {
class LayerParameter;
class NetParameter;
class ParamSpec;
}  // namespace caffe

namespace cortado {

/// True if a net has Caffe's first form (V0), `layers { layer { type: "conv" ... } }`.
bool is_v0(const caffe::NetParameter& net);

/// The layer's i-th `param`; it makes the missing ones up to that.
caffe::ParamSpec& param_at(caffe::LayerParameter& layer, int i);

/// Turns the `layers` of a V0 net into `layer`s. Padding layers merge into the convolution or pooling behind them.
/// Fields that a layer's type does not use are dropped with a warning, as in Caffe. Throws ConfigError naming `origin`
/// and the layer: for an unknown type, V0 and V1 in one net, or padding before anything else.
void upgrade_v0(caffe::NetParameter& net, const std::string& origin);

}  // namespace cortado
