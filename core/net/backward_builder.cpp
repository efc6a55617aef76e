#include <algorithm>

#include "core/base/error.h"
#include "core/net/net_builder.h"

// Which layers run backward, to where, and which do the work of others.
namespace cortado {

/// Backward runs where a layer learns, or lies on the way to one that does, and contributes to a loss (Caffe's rules).
void Net::Builder::prune_backward() {
  std::set<std::string> under_loss, cut;
  for (auto entry = net_.layers_.rbegin(); entry != net_.layers_.rend(); ++entry) {
    bool contributes = false, all_cut = true;
    for (std::size_t i = 0; i < entry->top.size(); ++i) {
      const std::string& name = entry->top_names[i];
      contributes = contributes || entry->loss_weights[i] != 0 || under_loss.count(name) != 0;
      all_cut = all_cut && cut.count(name) != 0;
    }
    const bool runs = entry->need_backward && contributes && !all_cut;
    if (!contributes || (entry->need_backward && all_cut))
      std::fill(entry->propagate_down.begin(), entry->propagate_down.end(), false);
    entry->need_backward = runs;
    for (std::size_t i = 0; i < entry->bottom.size(); ++i) {
      if (contributes && !entry->layer->uses_shape_only(i)) under_loss.insert(entry->bottom_names[i]);
      if (!entry->propagate_down[i]) cut.insert(entry->bottom_names[i]);
    }
  }
}

void Net::Builder::check_backward() const {
  for (const auto& entry : net_.layers_)
    for (std::size_t i = 0; i < entry.bottom.size(); ++i)
      if (entry.need_backward && entry.propagate_down[i] && !entry.layer->allows_backward_to(i))
        throw ConfigError(
            "layer '" + entry.layer->name() + "'",
            "has no gradient for bottom '" + entry.bottom_names[i] + "', which comes from layers that learn",
            "say propagate_down for each bottom, false for this one");
}

void Net::Builder::force_backward() {
  for (auto& entry : net_.layers_) {
    entry.need_backward = true;
    for (std::size_t i = 0; i < entry.bottom.size(); ++i)
      entry.propagate_down[i] = entry.propagate_down[i] || entry.layer->allows_backward_to(i);
    for (std::size_t i = 0; i < entry.layer->blobs().size(); ++i)
      entry.layer->set_param_propagate_down(i, !entry.layer->is_statistic(i));
  }
}

/// Of a split, backward gets the tops that have a gradient: others add nothing.
void Net::Builder::find_gradient_tops() {
  std::set<const Blob*> written;  // by a layer further on, or as a loss
  for (auto entry = net_.layers_.rbegin(); entry != net_.layers_.rend(); ++entry) {
    for (std::size_t i = 0; i < entry->top.size(); ++i)
      if (!entry->layer->is_split() || entry->loss_weights[i] != 0 || written.count(entry->top[i]) != 0)
        entry->gradient_tops.push_back(entry->top[i]);
    for (std::size_t i = 0; i < entry->bottom.size(); ++i)
      if (entry->need_backward && entry->propagate_down[i]) written.insert(entry->bottom[i]);
  }
}

/// The first later layer that reads the only top of `layer`; how many layers there are if none does.
std::size_t Net::Builder::next_user(std::size_t layer) const {
  const auto& layers = net_.layers_;
  std::size_t i = layer + 1;
  while (i < layers.size() &&
         std::find(layers[i].bottom.begin(), layers[i].bottom.end(), layers[layer].top[0]) == layers[i].bottom.end())
    ++i;
  return i;
}

/// Layers take over what follows them in place, as far as they can, then a split's sum of gradients. Nothing is seen of
/// it but time: a blob that is overwritten in place never showed what stood there before.
void Net::Builder::fuse_layers() {
  auto& layers = net_.layers_;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    Entry& entry = layers[i];
    if (entry.is_absorbed || entry.top.size() != 1) continue;
    std::size_t j = next_user(i);
    for (; j < layers.size(); j = next_user(j)) {
      Entry& next = layers[j];
      if (absorb_sum(entry, i, j)) continue;
      const bool in_place = next.bottom.size() == 1 && next.top.size() == 1 && next.bottom[0] == next.top[0];
      const bool asked_back = !next.need_backward || std::find(entry.propagate_down.begin(), entry.propagate_down.end(),
                                                               false) == entry.propagate_down.end();
      if (!in_place || next.loss_weights[0] != 0 || !entry.layer->absorb(*next.layer, asked_back)) break;
      next.is_absorbed = true;
      entry.absorbed.push_back(j);
    }
    if (j < layers.size()) take_gradients(entry, layers[j]);
  }
  for (Entry& entry : layers) join_gradients(entry);
}

/// Whether layer i, `entry`, now does the work of layer j too, which adds another blob to its top.
bool Net::Builder::absorb_sum(Entry& entry, std::size_t i, std::size_t j) {
  Entry& next = net_.layers_[j];
  if (!net_.only_trains_ || entry.bottom != entry.top || next.bottom.size() != 2 || next.top.size() != 1 ||
      next.loss_weights[0] != 0)
    return false;
  for (const auto* asked : {&entry.propagate_down, &next.propagate_down})
    if (std::find(asked->begin(), asked->end(), false) != asked->end()) return false;
  const std::size_t other = next.bottom[0] == entry.top[0] ? 1 : 0;
  for (std::size_t k = i + 1; k < j; ++k) {
    const Layer::Blobs& made = net_.layers_[k].top;
    if (std::find(made.begin(), made.end(), next.bottom[other]) != made.end()) return false;
  }
  if (!entry.layer->absorb_sum(*next.layer)) return false;
  entry.bottom.push_back(next.bottom[other]);
  entry.bottom_names.push_back(next.bottom_names[other]);
  entry.shaped_for.push_back(next.shaped_for[other]);
  entry.propagate_down.push_back(true);
  entry.top = entry.gradient_tops = next.top;
  entry.top_names = next.top_names;
  next.is_absorbed = true;
  entry.absorbed.push_back(j);
  return true;
}

void Net::Builder::take_gradients(Entry& entry, Entry& split) {
  const bool is_loss =
      std::any_of(split.loss_weights.begin(), split.loss_weights.end(), [](double w) { return w != 0; });
  if (!split.layer->is_split() || !split.need_backward || is_loss ||
      !entry.layer->takes_gradients(split.gradient_tops.size()))
    return;
  entry.gradient_tops = split.gradient_tops;
  split.is_added_up = true;
}

/// Of two gradients that `entry` takes, the one that is made last can join the other as it is made; both must be made.
void Net::Builder::join_gradients(Entry& entry) {
  if (entry.is_absorbed || entry.gradient_tops.size() != 2 || entry.top.size() != 1) return;
  Entry* last = nullptr;  // in backward's order: the first that reads either top
  Blob* other = nullptr;
  for (Entry& reader : net_.layers_) {
    if (reader.is_absorbed || reader.is_added_up) continue;
    for (std::size_t k = 0; k < reader.bottom.size(); ++k)
      for (const std::size_t top : {0, 1}) {
        if (reader.bottom[k] != entry.gradient_tops[top]) continue;
        if (!reader.need_backward || !reader.propagate_down[k]) return;
        if (last == nullptr) last = &reader, other = entry.gradient_tops[1 - top];
      }
  }
  if (last != nullptr && entry.layer->lets_join(*last->layer, *other)) entry.joined_in = other;
}

}  // namespace cortado
