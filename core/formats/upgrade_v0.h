#pragma once
#include <string>

namespace caffe {
class LayerParameter;
class NetParameter;
class ParamSpec;
}  // namespace caffe

namespace cortado {

/// Whether a net is of Caffe's first form (V0), `layers { layer { type: "conv" ... } }`.
bool is_v0(const caffe::NetParameter& net);

/// The layer's i-th `param`; those that are not there are made.
caffe::ParamSpec& param_at(caffe::LayerParameter& layer, int i);

/// Turns the `layers` of a V0 net into `layer`s. Padding layers go into the convolution or pooling behind them; fields
/// that a layer's type has no use for are left out with a warning, as in Caffe. Throws ConfigError naming `origin` and
/// the layer: for an unknown type, V0 and V1 in one net, or padding before anything else.
void upgrade_v0(caffe::NetParameter& net, const std::string& origin);

}  // namespace cortado
