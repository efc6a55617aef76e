#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/formats/caffe.pb.h"
#include "core/net/net.h"

namespace cortado {

/// Makes a net out of its parameter: what happens once, before the first forward.
struct Net::Builder {
  Builder(Net& net, const NetOptions& options) : net_(net), options_(options) {}
  /// `parameter` is filtered and split.
  void build(caffe::NetParameter parameter);

 private:
  /// A blob by name, while layers are added.
  struct Made {
    Blob* blob = nullptr;
    std::string producer;  // layer; the last one that wrote it
    bool need_backward = false;
    double loss_weight = 0;
  };
  /// A parameter that has a name and whose multipliers its sharers may still set.
  struct Named {
    std::size_t learnable;
    bool has_lr, has_decay;
  };

  void subsample(caffe::NetParameter& parameter, int i);
  void add_layer(caffe::LayerParameter& parameter);
  void reorder_bottoms(const Layer& layer, caffe::LayerParameter& parameter);
  void rename_blob(const std::string& from, const std::string& to);
  void connect_bottoms(Entry& entry, const caffe::LayerParameter& parameter);
  void connect_tops(Entry& entry, const caffe::LayerParameter& parameter);
  void check_counts(const Entry& entry, const caffe::LayerParameter& parameter) const;
  void set_up(Entry& entry);
  void read_loss_weights(Entry& entry, const caffe::LayerParameter& parameter);
  void check_division(const Entry& entry, const caffe::LayerParameter& parameter) const;
  void add_parameters(Entry& entry, const caffe::LayerParameter& parameter);
  void own_parameter(const Entry& entry, std::size_t i, const caffe::ParamSpec& spec);
  void share_parameter(const Entry& entry, std::size_t i, const caffe::ParamSpec& spec);
  void prune_backward();
  void check_backward() const;
  void force_backward();
  void find_gradient_tops();
  void fuse_layers();
  bool absorb_sum(Entry& entry, std::size_t i, std::size_t j);
  static void take_gradients(Entry& entry, Entry& split);
  void join_gradients(Entry& entry);
  std::size_t next_user(std::size_t layer) const;
  void collect_outputs();
  void place_parameters();

  Net& net_;
  const NetOptions& options_;
  std::map<std::string, Made> made_;
  std::set<std::string> unused_;                 // blobs that no layer has consumed so far
  std::map<std::string, Named> named_;           // parameters by their names
  std::set<std::string> layers_with_blobs_;      // names
  std::vector<std::size_t> layer_of_learnable_;  // position in net.layers_
};

}  // namespace cortado
