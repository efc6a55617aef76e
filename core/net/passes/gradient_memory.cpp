#include <algorithm>
#include <map>

#include "core/base/memory_error.h"
#include "core/machine/integers.h"
#include "core/net/passes/gradient_places.h"
#include "core/net/passes/passes.h"

// Gradients that are not needed at the same time lie in the same memory. Each is needed from the backward of the blob's
// last reader, which writes it, down to that of the layer that made the blob, which reads it.
//
//   layer      a --x--> b --y--> c --z--> loss
//   backward     <-dx--   <-dy--   <-dz--             dx and dz are never needed together: one place for both
//
namespace cortado {
namespace {

/// When a gradient is needed: from the backward pass of layer `last` down to that of layer `first`.
struct Life {
  std::size_t first, last;
  bool overlaps(const Life& other) const { return first <= other.last && other.first <= last; }
};

struct Use {
  Life life{0, 0};
  bool produced = false, consumed = false, always_written = true;
};

/// Blobs whose gradients lie where another blob's, the host's, does.
std::map<Blob*, Blob*> hosts_of(const std::vector<Net::Entry>& layers) {
  std::map<Blob*, Blob*> hosts;
  for (const Net::Entry& entry : layers)
    if (entry.joined_in != nullptr) hosts[entry.bottom.back()] = entry.joined_in;
  for (auto& [guest, host] : hosts)
    while (hosts.count(host) != 0) host = hosts[host];
  return hosts;
}

/// Of hosts, with what their guests add.
std::map<Blob*, Use> uses_of(const std::vector<Net::Entry>& layers, const std::map<Blob*, Blob*>& hosts) {
  std::map<Blob*, Use> by_host;
  const auto host_of = [&](Blob* blob) { return hosts.count(blob) != 0 ? hosts.at(blob) : blob; };
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const Net::Entry& entry = layers[i];
    if (entry.is_added_up) continue;
    for (std::size_t k = 0; k < entry.bottom.size(); ++k) {
      Use& use = by_host[host_of(entry.bottom[k])];
      use.consumed = true;
      use.life.last = i;
      use.always_written = use.always_written && entry.need_backward && entry.propagate_down[k];
    }
    for (Blob* top : entry.gradient_tops) {
      Use& use = by_host[host_of(top)];
      if (!use.produced) use.life.first = i;
      use.produced = true;
      use.always_written = use.always_written && entry.need_backward;
    }
    for (std::size_t k = 0; k < entry.top.size(); ++k)
      if (entry.loss_weights[k] != 0) by_host[host_of(entry.top[k])].always_written = false;
  }
  return by_host;
}

i64 aligned(i64 floats) { return round_up(floats, Net::arena_alignment); }

}  // namespace

std::vector<GradientPlace> gradient_places(const std::vector<Net::Entry>& layers) {
  struct Wish {
    Blob* blob;
    Life life;
  };
  std::vector<Wish> wishes;
  const auto hosts = hosts_of(layers);
  for (const auto& [blob, use] : uses_of(layers, hosts))
    if (use.produced && use.consumed && use.always_written) wishes.push_back({blob, use.life});
  // Large ones first, each as low as those that live at the same time leave room.
  std::sort(wishes.begin(), wishes.end(), [](const Wish& a, const Wish& b) {
    return a.blob->storage() != b.blob->storage() ? a.blob->storage() > b.blob->storage() : a.life.first < b.life.first;
  });
  std::vector<GradientPlace> places;
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    std::vector<GradientPlace> neighbours;
    for (std::size_t j = 0; j < i; ++j)
      if (wishes[j].life.overlaps(wishes[i].life)) neighbours.push_back(places[j]);
    std::sort(neighbours.begin(), neighbours.end(),
              [](const GradientPlace& a, const GradientPlace& b) { return a.offset < b.offset; });
    i64 offset = 0;
    for (const auto& other : neighbours) {
      if (offset + wishes[i].blob->storage() <= other.offset) break;
      offset = std::max(offset, aligned(other.offset + other.blob->storage()));
    }
    places.push_back({wishes[i].blob, offset});
  }
  return places;
}

i64 floats_of(const std::vector<GradientPlace>& places) {
  i64 floats = 0;
  for (const auto& place : places) floats = std::max(floats, place.offset + aligned(place.blob->storage()));
  return floats;
}

void passes::gradient_memory(NetGraph& graph) {
  graph.shares_gradients = true;
  const auto places = gradient_places(graph.layers);
  i64 apart = 0;
  for (const auto& place : places) apart += place.blob->storage();
  if (!places.empty())
    graph.did(std::to_string(places.size()) + " gradients of " + megabytes_text(4.0 * static_cast<double>(apart)) +
              " lie in " + megabytes_text(4.0 * static_cast<double>(floats_of(places))));
}

}  // namespace cortado
