#include "core/net/recomputation.h"

#include <algorithm>

#include "core/base/memory_error.h"
#include "core/machine/integers.h"
#include "core/net/name_memory.h"

namespace cortado {
namespace {
i64 aligned(const Blob& blob) { return round_up(blob.storage(), Net::arena_alignment); }
}  // namespace

Recomputation::Recomputation(CoreGroup& group, const std::vector<Net::Entry>& layers, const std::set<const Blob*>& seen,
                             std::vector<Segment> segments)
    : group_(group),
      layers_(layers),
      values_(layers, seen),
      segments_(std::move(segments)),
      segment_of_(layers.size(), none),
      is_placed_(values_.values.size()),
      runs_again_(layers.size()),
      memory_(values_.values.size()) {
  for (std::size_t s = 0; s < segments_.size(); ++s)
    std::fill(segment_of_.begin() + static_cast<std::ptrdiff_t>(segments_[s].first),
              segment_of_.begin() + static_cast<std::ptrdiff_t>(segments_[s].end), s);
  // Values of one blob exchange their memory with it. Where one of them needs a certain place, all do.
  std::set<const Blob*> placed;
  for (std::size_t v = 0; v < values_.values.size(); ++v) {
    const LayerValues::Value& value = values_.values[v];
    if (is_inner(v) || (value.is_moved && segment_of_[value.layer] != none)) placed.insert(value.blob);
  }
  for (std::size_t v = 0; v < values_.values.size(); ++v) is_placed_[v] = placed.count(values_.values[v].blob) != 0;
  std::vector<bool> written(values_.values.size());
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const LayerValues::Use& use = values_.uses[i];
    if (segment_of_[i] == none) continue;
    runs_again_[i] = layers[i].layer->traits().is_split ||
                     std::any_of(use.makes.begin(), use.makes.end(), [&](std::size_t v) { return is_inner(v); }) ||
                     std::any_of(use.changes.begin(), use.changes.end(), [&](std::size_t v) { return written[v]; });
    if (runs_again_[i])
      for (const std::size_t v : use.makes) written[v] = true;
  }
}

bool Recomputation::is_inner(std::size_t value) const {
  const LayerValues::Value& of = values_.values[value];
  const std::size_t segment = segment_of_[of.layer];
  return segment != none && values_.is_inside(of, segments_[segment]);
}

/// The blob whose memory the value's layer writes it to.
Blob& Recomputation::blob_of(std::size_t value) const {
  const LayerValues::Value& of = values_.values[value];
  const Net::Entry& entry = layers_[of.layer];
  return of.is_moved ? *entry.layer->kept_bottom(entry.bottom, entry.top) : *of.blob;
}

i64 Recomputation::inner_bytes() const {
  i64 bytes = 0;
  for (std::size_t v = 0; v < values_.values.size(); ++v)
    if (is_inner(v)) bytes += values_.values[v].blob->bytes();
  return bytes;
}

i64 Recomputation::shared_bytes() const {
  std::vector<i64> floats(segments_.size());
  for (std::size_t v = 0; v < values_.values.size(); ++v)
    if (is_inner(v)) floats[segment_of_[values_.values[v].layer]] += aligned(*values_.values[v].blob);
  return floats.empty() ? 0 : *std::max_element(floats.begin(), floats.end()) * static_cast<i64>(sizeof(float));
}

std::size_t Recomputation::values_of(std::size_t segment) const {
  std::size_t count = 0;
  for (std::size_t v = 0; v < values_.values.size(); ++v)
    count += is_inner(v) && segment_of_[values_.values[v].layer] == segment ? 1 : 0;
  return count;
}

void Recomputation::begin(std::size_t segment) {
  held_ = segment;
  used_ = 0;
  wanted_ = std::max(wanted_, shared_bytes() / static_cast<i64>(sizeof(float)));
  if (shared_ != nullptr && shared_->count >= wanted_) return;
  group_.wait();  // blobs still hold what there was, until they are placed
  naming_memory("values that are made again, " + megabytes_text(4.0 * static_cast<double>(wanted_)),
                [&] { shared_ = Storage::make(group_, wanted_); });
}

/// Inner values lie one after the other, in the order of layers. One that finds no room, because images have grown, has
/// memory of its own until the next segment begins.
std::shared_ptr<Storage> Recomputation::memory_of(std::size_t value) {
  const Blob& blob = *values_.values[value].blob;
  auto& memory = memory_[value];
  if (!is_inner(value)) {
    if (memory == nullptr || memory->count < blob.storage()) memory = Storage::make(group_, blob.storage());
    return memory;
  }
  const i64 first = used_;
  used_ += aligned(blob);
  wanted_ = std::max(wanted_, used_);
  return memory = used_ <= shared_->count ? Storage::range(shared_, first, blob.storage())
                                          : Storage::make(group_, blob.storage());
}

void Recomputation::place(std::size_t layer) {
  const LayerValues::Use& use = values_.uses[layer];
  if (use.kept && is_placed_[use.makes[0]] && !use.keeps_shared) layers_[layer].top[0]->place_data(memory_[*use.kept]);
  for (const std::size_t v : use.makes)
    if (is_placed_[v]) blob_of(v).place_data(memory_of(v));
}

void Recomputation::settle(std::size_t layer) {
  const LayerValues::Use& use = values_.uses[layer];
  if (!use.kept || !is_placed_[use.makes[0]]) return;
  place(layer);
  layers_[layer].top[0]->swap_data(blob_of(use.makes[0]));
}

}  // namespace cortado
