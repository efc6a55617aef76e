#include <algorithm>
#include <map>

#include "core/base/error.h"
#include "core/net/passes/net_text.h"
#include "core/net/passes/passes.h"

// Mixed precision. Layers that begin it (LayerTable::begins_bf16: convolutions, inner products), and what follows them
// as far as it can (keeps_bf16), pass bf16 on; other layers, and those whose `precision` is FP32, take and make float.
// A Cast, named BLOB_LAYER_bf16 or BLOB_LAYER_fp32 as its top, stands where the two meet. A layer in place works in
// place on what was cast, under the blob's own name; what stood there before is called as the cast would be.
// Parameters, their gradients and sums are float in any case.
//
//   data --float--> conv --> loss   ==>   data --float--> Cast --bf16--> conv --bf16--> Cast --float--> loss
namespace cortado {
namespace {

/// The newest values of a blob.
struct Version {
  Precision made;    // under the blob's own name
  std::string cast;  // their name in the other precision; empty: not there yet
};

class Caster {
 public:
  Caster(const caffe::NetParameter& net, const LayerTable& layers) : net_(net), layers_(layers), cast_(net) {
    cast_.clear_layer();
    for (const auto& layer : net_.layer()) add(layer);
  }
  const caffe::NetParameter& result() const { return cast_; }

 private:
  Precision precision_of(const caffe::LayerParameter& layer) const {
    if (!layers_.keeps_bf16(layer)) return Precision::fp32;
    if (layer.has_precision()) return layer.precision() == caffe::BF16 ? Precision::bf16 : Precision::fp32;
    const bool follows = std::any_of(layer.bottom().begin(), layer.bottom().end(), [&](const std::string& bottom) {
      const auto found = newest_.find(bottom);
      return found != newest_.end() && found->second.made == Precision::bf16;
    });
    return follows || layers_.begins_bf16(layer) ? Precision::bf16 : Precision::fp32;
  }

  void add(const caffe::LayerParameter& given) {
    caffe::LayerParameter layer = given;
    const Precision precision = precision_of(given);
    for (int i = 0; i < given.bottom_size(); ++i)
      if (const auto found = newest_.find(given.bottom(i)); found != newest_.end() && found->second.made != precision)
        layer.set_bottom(i, cast_bottom(given, i, precision));
    for (const auto& top : given.top()) newest_[top] = {precision, ""};
    layer.clear_precision();
    *cast_.add_layer() = layer;
  }

  /// A Cast for that bottom, if it has none yet. For a layer in place on it the cast takes over the blob's name.
  std::string cast_bottom(const caffe::LayerParameter& consumer, int bottom, Precision to) {
    const std::string& blob = consumer.bottom(bottom);
    const std::string prefix = blob + "_" + consumer.name() + "_";
    const bool in_place = bottom < consumer.top_size() && consumer.top(bottom) == blob;
    Version& version = newest_.at(blob);
    if (!in_place && !version.cast.empty()) return version.cast;
    caffe::LayerParameter cast;
    cast.set_type(layers_.type_of(Role::cast));
    cast.set_name(prefix + to_string(to));
    cast.set_precision(to == Precision::bf16 ? caffe::BF16 : caffe::FP32);
    cast.add_bottom(in_place ? prefix + to_string(version.made) : blob);
    cast.add_top(in_place ? blob : cast.name());
    if (in_place)
      rename(blob, cast.bottom(0));
    else
      version.cast = cast.name();
    *cast_.add_layer() = cast;
    return cast.top(0);
  }

  void rename(const std::string& from, const std::string& to) {
    for (auto& layer : *cast_.mutable_layer())
      for (auto* names : {layer.mutable_bottom(), layer.mutable_top()})
        std::replace(names->begin(), names->end(), from, to);
  }

  const caffe::NetParameter& net_;
  const LayerTable& layers_;
  caffe::NetParameter cast_;
  std::map<std::string, Version> newest_;  // by the name in the given net
};

}  // namespace

caffe::NetParameter insert_casts(const caffe::NetParameter& net, const LayerTable& layers) {
  return Caster(net, layers).result();
}

void passes::casts(NetGraph& graph) {
  if (graph.options.precision != Precision::bf16) return;
  const MachineSpec& spec = graph.options.group->spec();
  if (!spec.bf16)
    throw ConfigError("precision: BF16", "backend " + spec.name + " stores single precision only",
                      "leave it out, or use the OpenMP backend");
  const caffe::NetParameter given = std::move(graph.text);
  graph.text = insert_casts(given, *graph.options.layers);
  for (const auto& layer : graph.text.layer())
    if (graph.options.layers->plays(layer, Role::cast))
      graph.did(layer.name() + " casts " + layer.bottom(0) + " to " + layer.top(0));
}

}  // namespace cortado
