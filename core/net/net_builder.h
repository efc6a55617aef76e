#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/formats/caffe.pb.h"
#include "core/net/net.h"
#include "core/net/net_graph.h"

namespace cortado {

/// Makes a net out of its graph: what happens once, before the first forward.
struct Net::Builder {
  Builder(Net& net, NetGraph& graph) : net_(net), graph_(graph) {}
  /// From the text to the net, once the graph's text passes have run.
  void build();

 private:
  /// A parameter that has a name and whose multipliers its sharers may still set.
  struct Named {
    std::size_t learnable;
    bool has_lr, has_decay;
  };

  void add_layer();
  void connect_bottoms(Entry& entry, const caffe::LayerParameter& parameter);
  void connect_tops(Entry& entry, const caffe::LayerParameter& parameter);
  void check_counts(const Entry& entry, const caffe::LayerParameter& parameter) const;
  void set_up(Entry& entry);
  void read_loss_weights(Entry& entry, const caffe::LayerParameter& parameter);
  void check_division(const Entry& entry, const caffe::LayerParameter& parameter) const;
  void add_parameters(Entry& entry, const caffe::LayerParameter& parameter);
  void own_parameter(const Entry& entry, std::size_t i, const caffe::ParamSpec& spec);
  void share_parameter(const Entry& entry, std::size_t i, const caffe::ParamSpec& spec);
  void keep();
  void place_parameters();

  Net& net_;
  NetGraph& graph_;
  std::map<std::string, Named> named_;           // parameters by their names
  std::set<std::string> layers_with_blobs_;      // names
  std::vector<std::size_t> layer_of_learnable_;  // position in graph_.layers
};

}  // namespace cortado
