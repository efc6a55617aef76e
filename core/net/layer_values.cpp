#include "core/net/layer_values.h"

#include <algorithm>
#include <map>

namespace cortado {
namespace {

class Finder {
 public:
  Finder(LayerValues& found, std::size_t layers) : found_(found), end_(layers) {}

  void add(std::size_t i, const Net::Entry& entry) {
    for (Blob* const bottom : entry.bottom) read(i, bottom);
    const bool is_split = entry.layer->traits().is_split;
    for (std::size_t k = 0; k < entry.top.size(); ++k) {
      Blob* const top = entry.top[k];
      if (is_split)
        bound_[top] = {bound_.at(entry.bottom[0]).value, i, true};
      else if (std::find(entry.bottom.begin(), entry.bottom.end(), top) == entry.bottom.end())
        make(i, top, false);
      else if (entry.layer->kept_bottom(entry.bottom, entry.top) != nullptr)
        move(i, top);
      else
        change(i, top);
      if (entry.loss_weights[k] != 0) see(top);
    }
  }

  void see(const Blob* blob) {
    const auto found = bound_.find(blob);
    if (found != bound_.end()) found_.values[found->second.value].last = end_;
  }

 private:
  /// The value that a blob has, and the layer that gave it to the blob.
  struct Bound {
    std::size_t value, by;
    bool is_shared;
  };

  void read(std::size_t i, const Blob* blob) {
    const auto found = bound_.find(blob);
    if (found == bound_.end()) return;
    LayerValues::Value& value = found_.values[found->second.value];
    value.last = std::max(value.last, i);
    users_[found->second.value].push_back(i);
  }

  void make(std::size_t i, Blob* top, bool is_moved) {
    bound_[top] = {found_.values.size(), i, false};
    found_.uses[i].makes.push_back(found_.values.size());
    found_.values.push_back({i, top, is_moved, i});
    users_.push_back({i});
  }

  /// A split must give the blob its value again, before the layer can keep it.
  void move(std::size_t i, Blob* top) {
    const Bound before = bound_.at(top);
    LayerValues::Use& use = found_.uses[i];
    use.kept = before.value;
    use.keeps_shared = before.is_shared;
    if (before.is_shared) use.first = std::min(use.first, before.by);
    make(i, top, true);
  }

  /// Whoever saw the value before the change would find it changed. So all of them run again, or none.
  void change(std::size_t i, const Blob* top) {
    const std::size_t value = bound_.at(top).value;
    found_.uses[i].changes.push_back(value);
    for (const std::size_t user : users_[value]) {
      LayerValues::Use& use = found_.uses[user];
      use.first = std::min(use.first, found_.values[value].layer);
      use.last = std::max(use.last, i);
    }
  }

  LayerValues& found_;
  const std::size_t end_;
  std::map<const Blob*, Bound> bound_;
  std::vector<std::vector<std::size_t>> users_;  // layers, by value
};

}  // namespace

LayerValues::LayerValues(const std::vector<Net::Entry>& layers, const std::set<const Blob*>& seen) {
  for (std::size_t i = 0; i < layers.size(); ++i) uses.push_back({{}, {}, {}, false, i, i});
  Finder finder(*this, layers.size());
  for (std::size_t i = 0; i < layers.size(); ++i)
    if (!layers[i].is_absorbed) finder.add(i, layers[i]);
  for (const Blob* blob : seen) finder.see(blob);
}

std::string why_not_recomputed(const Net::Entry& entry) {
  if (entry.bottom.empty()) return "it has no bottom from which it could make its tops again";
  if (entry.layer->is_loss()) return "it is a loss";
  if (entry.layer->division(0) != nullptr) return "ranks divide it, and would have to meet again";
  if (entry.layer->shapes_tops_in_forward()) return "the shapes of its tops depend on values";
  return entry.layer->why_runs_once();
}

}  // namespace cortado
