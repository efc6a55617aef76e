#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/net/passes/net_text.h"
#include "core/net/passes/passes.h"

// A Split behind every top that feeds several bottoms, or a bottom and the loss, so that each blob has one reader and
// one gradient. Names are Caffe's: layer BLOB_LAYER_INDEX_split, blobs BLOB_LAYER_INDEX_split_K.
//
//            +--> relu                        +--> x_conv_0_split_0 --> relu
//   conv --x-|           ==>   conv --x--Split|
//            +--> pool                        +--> x_conv_0_split_1 --> pool
namespace cortado {
namespace {
/// One top of the net and what becomes of it. A top written in place is a new one.
struct Top {
  int layer = 0, index = 0;
  int uses = 0;   // as a bottom, and as a loss
  int given = 0;  // split blobs handed to consumers so far
  float loss_weight = 0;
};

class Splitter {
 public:
  Splitter(const caffe::NetParameter& net, const LayerTable& layers) : net_(net), layers_(layers) {
    for (int i = 0; i < net.layer_size(); ++i) count_uses(i);
  }

  caffe::NetParameter result() {
    caffe::NetParameter split = net_;
    split.clear_layer();
    for (int i = 0; i < net_.layer_size(); ++i) add_layer(i, split);
    return split;
  }

 private:
  void count_uses(int i) {
    const auto& layer = net_.layer(i);
    for (int j = 0; j < layer.bottom_size(); ++j) {
      const auto found = newest_.find(layer.bottom(j));
      if (found == newest_.end()) unknown_bottom(i, j);
      source_[{i, j}] = found->second;
      ++tops_[found->second].uses;
    }
    first_top_of_.push_back(tops_.size());
    for (int j = 0; j < layer.top_size(); ++j) {
      Top top;
      top.layer = i;
      top.index = j;
      if (j < layer.loss_weight_size()) top.loss_weight = layer.loss_weight(j);
      if (top.loss_weight != 0) ++top.uses;
      newest_[layer.top(j)] = tops_.size();
      tops_.push_back(top);
    }
  }

  void add_layer(int i, caffe::NetParameter& split) {
    auto& layer = *split.add_layer();
    layer = net_.layer(i);
    for (int j = 0; j < layer.bottom_size(); ++j) {
      Top& top = tops_[source_.at({i, j})];
      if (top.uses > 1) layer.set_bottom(j, blob_name(top, top.given++));
    }
    std::vector<caffe::LayerParameter> splits;
    for (int j = 0; j < layer.top_size(); ++j) {
      Top& top = tops_[first_top_of_[static_cast<std::size_t>(i)] + static_cast<std::size_t>(j)];
      if (top.uses < 2) continue;
      if (top.loss_weight != 0) {  // the split's first top is the loss from now on
        layer.set_loss_weight(j, 0);
        ++top.given;
      }
      splits.push_back(split_of(top));
    }
    for (const auto& added : splits) *split.add_layer() = added;
  }

  caffe::LayerParameter split_of(const Top& top) const {
    caffe::LayerParameter layer;
    layer.set_name(base_name(top));
    layer.set_type(layers_.type_of(Role::split));
    layer.add_bottom(net_.layer(top.layer).top(top.index));
    for (int k = 0; k < top.uses; ++k) {
      layer.add_top(blob_name(top, k));
      if (top.loss_weight != 0) layer.add_loss_weight(k == 0 ? top.loss_weight : 0);
    }
    return layer;
  }

  std::string base_name(const Top& top) const {
    const auto& layer = net_.layer(top.layer);
    return layer.top(top.index) + "_" + layer.name() + "_" + std::to_string(top.index) + "_split";
  }
  std::string blob_name(const Top& top, int k) const { return base_name(top) + "_" + std::to_string(k); }

  [[noreturn]] void unknown_bottom(int i, int j) const {
    const std::string& name = net_.layer(i).bottom(j);
    std::string advice = "check the name, and the phase and stage rules of the layer that makes it";
    for (int later = i; later < net_.layer_size(); ++later)
      for (const auto& top : net_.layer(later).top())
        if (top == name) advice = "layer '" + net_.layer(later).name() + "' makes it, and must stand before";
    throw ConfigError("layer '" + net_.layer(i).name() + "'",
                      "bottom '" + name + "' (index " + std::to_string(j) + ") is made by no earlier layer", advice);
  }

  const caffe::NetParameter& net_;
  const LayerTable& layers_;
  std::vector<Top> tops_;                              // in order of layer and index
  std::vector<std::size_t> first_top_of_;              // layer -> position in tops_
  std::map<std::string, std::size_t> newest_;          // blob name -> the top it names so far
  std::map<std::pair<int, int>, std::size_t> source_;  // (layer, bottom) -> top
};
}  // namespace

caffe::NetParameter insert_splits(const caffe::NetParameter& net, const LayerTable& layers) {
  return Splitter(net, layers).result();
}

void passes::splits(NetGraph& graph) {
  const int before = graph.text.layer_size();
  graph.text = insert_splits(graph.text, *graph.options.layers);
  for (const auto& layer : graph.text.layer())
    if (graph.text.layer_size() > before && graph.options.layers->plays(layer, Role::split))
      graph.did(layer.name() + " passes " + layer.bottom(0) + " on to " + std::to_string(layer.top_size()));
}

}  // namespace cortado
