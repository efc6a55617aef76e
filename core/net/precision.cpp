#include "core/net/precision.h"

#include <algorithm>
#include <map>

namespace cortado {
namespace {

/// The newest values of a blob: what they were made as, and under which names they are there in either precision.
struct Version {
  Precision made;
  std::map<Precision, std::string> names;
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
    return follows || layer.type() == "Convolution" ? Precision::bf16 : Precision::fp32;
  }

  void add(const caffe::LayerParameter& given) {
    caffe::LayerParameter layer = given;
    const Precision precision = precision_of(given);
    std::map<std::string, std::string> used;  // bottom -> its name in this precision
    for (auto& bottom : *layer.mutable_bottom()) used[bottom] = name_in(bottom, precision, given.name());
    for (auto& bottom : *layer.mutable_bottom()) bottom = used.at(bottom);
    for (auto& top : *layer.mutable_top()) {
      const auto in_place = used.find(top);
      const std::string name = in_place == used.end() ? top : in_place->second;
      newest_[top] = {precision, {{precision, name}}};
      top = name;
    }
    layer.clear_precision();
    *cast_.add_layer() = layer;
  }

  /// The blob's name in that precision, with a Cast if it is not there yet.
  std::string name_in(const std::string& blob, Precision precision, const std::string& consumer) {
    const auto found = newest_.find(blob);
    if (found == newest_.end()) return blob;  // made by no layer: insert_splits says so
    auto& names = found->second.names;
    if (names.count(precision) == 0) {
      auto& cast = *cast_.add_layer();
      cast.set_type("Cast");
      cast.set_name(blob + "_" + consumer + "_" + to_string(precision));
      cast.set_precision(precision == Precision::bf16 ? caffe::BF16 : caffe::FP32);
      cast.add_bottom(names.at(found->second.made));
      cast.add_top(cast.name());
      names[precision] = cast.name();
    }
    return names.at(precision);
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

}  // namespace cortado
