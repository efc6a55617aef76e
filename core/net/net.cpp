#include "core/net/net.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "core/base/error.h"
#include "core/machine/integers.h"
#include "core/net/current_work.h"
#include "core/net/division.h"
#include "core/net/name_memory.h"
#include "core/net/passes/gradient_places.h"
#include "core/net/recomputation.h"

namespace cortado {
namespace {
bool all_finite(const Blob& blob) {
  const auto values = blob.data_vector();
  return std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); });
}

bool is_divided(const Net::Entry& entry) { return entry.layer->division(0) != nullptr; }

/// ", its blob 'conv1' of 411 MB": the first blob whose memory is not there; empty: all of it is.
std::string missing_blob(const Layer::Blobs& blobs, const std::vector<std::string>& names, bool (Blob::*has)() const) {
  for (std::size_t i = 0; i < std::min(blobs.size(), names.size()); ++i)
    if (!(blobs[i]->*has)() && blobs[i]->count() > 0)
      return std::string(has == &Blob::has_diff ? ", gradient of" : ",") + " blob '" + names[i] + "' of shape " +
             to_string(blobs[i]->shape()) + ", " + megabytes_text(static_cast<double>(blobs[i]->bytes()));
  return ", memory of its own";
}

std::string place_of(const Net::Entry& entry) { return "layer '" + entry.layer->name() + "'"; }
}  // namespace

void Net::forward(std::size_t from, std::size_t to) {
  for (std::size_t i = from; i < to; ++i) {
    auto& entry = layers_[i];
    follow_shapes(entry);
    if (recomputation_ != nullptr) {
      const std::size_t segment = recomputation_->segment_of(i);
      if (segment != Recomputation::none && recomputation_->segments()[segment].first == i)
        recomputation_->begin(segment);
      recomputation_->place(i);
    }
    if (entry.is_absorbed) continue;
    if (callbacks_.before_forward) callbacks_.before_forward(i);
    run_forward(entry);
    if (callbacks_.after_forward) callbacks_.after_forward(i);
  }
}

void Net::run_forward(Entry& entry) {
  const WorkScope work({"forward", &entry.layer->name(), entry.layer.get(), &entry.bottom, &entry.top});
  naming_memory(
      place_of(entry), [&] { entry.layer->forward(entry.bottom, entry.top); },
      [&] { return missing_blob(entry.top, entry.top_names, &Blob::has_data); });
}

/// Makes the values inside the segment again, from what it reads.
void Net::recompute(std::size_t segment) {
  const Segment layers = recomputation_->segments()[segment];
  recomputation_->begin(segment);
  run_.is_recomputing = true;
  const auto stop = [this](void*) { run_.is_recomputing = false; };
  const std::unique_ptr<void, decltype(stop)> ending(this, stop);  // also where a layer throws
  for (std::size_t i = layers.first; i < layers.end; ++i) {
    if (layers_[i].is_absorbed) continue;
    if (!recomputation_->runs_again(i)) {
      recomputation_->settle(i);
      continue;
    }
    recomputation_->place(i);
    run_forward(layers_[i]);
  }
}

/// Afterwards the values that the layer has seen in the last forward are there.
void Net::need_values(std::size_t layer) {
  if (recomputation_ == nullptr) return;
  const std::size_t segment = recomputation_->segment_of(layer);
  if (segment != Recomputation::none && segment != recomputation_->held()) recompute(segment);
}

std::vector<Segment> Net::recomputed() const {
  return recomputation_ != nullptr ? recomputation_->segments() : std::vector<Segment>{};
}

void Net::backward(std::size_t from, std::size_t to, const std::function<void(std::size_t)>& finished) {
  gradient_arena();
  if (!gradients_placed_) place_gradients();
  for (std::size_t i = to; i-- > from;) {
    const Entry& entry = layers_[i];
    if (entry.is_absorbed) continue;
    if (callbacks_.before_backward) callbacks_.before_backward(i);
    run_backward(i);
    if (callbacks_.after_backward) callbacks_.after_backward(i);
    if (!finished) continue;
    for (auto other = entry.absorbed.rbegin(); other != entry.absorbed.rend(); ++other) finished(*other);
    finished(i);
  }
}

void Net::run_backward(std::size_t layer) {
  const Entry& entry = layers_[layer];
  const WorkScope work({"backward", &entry.layer->name(), entry.layer.get(), &entry.bottom, &entry.top});
  if (entry.need_backward && !entry.is_added_up) {
    need_values(layer);
    naming_memory(
        place_of(entry), [&] { entry.layer->backward(entry.gradient_tops, entry.propagate_down, entry.bottom); },
        [&] { return missing_blob(entry.bottom, entry.bottom_names, &Blob::has_diff); });
  }
  write_gradients(entry);
}

std::vector<i64> Net::final_gradients() {
  std::vector<std::size_t> runs_in(layers_.size());
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    if (!layers_[i].is_absorbed) runs_in[i] = i;
    for (const std::size_t other : layers_[i].absorbed) runs_in[other] = i;
  }
  std::vector<i64> ends(layers_.size(), gradient_arena()->count);
  std::map<const float*, std::size_t> first_user;  // by gradient
  for (std::size_t i = 0; i < layers_.size(); ++i)
    for (const auto& blob : layers_[i].layer->blobs()) {
      const auto at = first_user.emplace(blob->diff(), runs_in[i]).first;
      at->second = std::min(at->second, runs_in[i]);
    }
  for (const Learnable& p : learnable_)
    for (std::size_t i = p.division != nullptr ? ends.size() : first_user.at(p.blob->diff()) + 1; i < ends.size(); ++i)
      ends[i] = std::min(ends[i], p.arena_offset);
  return ends;
}

std::vector<std::vector<std::size_t>> Net::learnables_read() const {
  std::map<const float*, std::size_t> by_place;
  for (std::size_t i = 0; i < learnable_.size(); ++i)
    if (learnable_[i].blob->count() > 0) by_place.emplace(learnable_[i].blob->data(), i);
  std::vector<std::vector<std::size_t>> read(layers_.size());
  const auto add = [&](std::size_t reader, std::size_t owner) {
    for (const auto& blob : layers_[owner].layer->blobs())
      if (blob->count() > 0) read[reader].push_back(by_place.at(blob->data()));
  };
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    add(i, i);
    for (const std::size_t other : layers_[i].absorbed) add(i, other);
  }
  return read;
}

void Net::place_gradients() {
  if (shares_gradients_) {
    const auto places = gradient_places(layers_);
    const i64 floats = floats_of(places);
    if (shared_gradients_ == nullptr || shared_gradients_->count < floats)
      naming_memory("gradients of blobs between layers, " + megabytes_text(4.0 * static_cast<double>(floats)),
                    [&] { shared_gradients_ = Storage::make(*services_.group, floats); });
    for (const auto& place : places)
      place.blob->place_diff(Storage::range(shared_gradients_, place.offset, place.blob->storage()));
  }
  // The last layer first: what it joins may be where an earlier one's gradients join.
  for (auto entry = layers_.rbegin(); entry != layers_.rend(); ++entry)
    if (entry->joined_in != nullptr) entry->bottom.back()->share_diff(*entry->joined_in);
  gradients_placed_ = true;
}

/// Writes zeros to gradients that nobody has made. Blob::diff writes them to the arena.
void Net::write_gradients(const Entry& entry) const {
  const auto write = [](const Entry& of) {
    for (const auto& blob : of.layer->blobs())
      if (blob->has_diff()) blob->diff();
  };
  write(entry);
  for (const std::size_t other : entry.absorbed) write(layers_[other]);
}

void Net::clear_gradients() {
  gradient_arena();
  for (const auto& p : learnable_) p.blob->clear_diff();
}

const std::shared_ptr<Storage>& Net::gradient_arena() {
  if (gradient_arena_) return gradient_arena_;
  i64 size = 0;
  for (const auto& p : learnable_)
    if (p.division == nullptr) size = std::max(size, p.arena_offset + round_up(p.blob->count(), arena_alignment));
  naming_memory("gradients of all parameters, " + megabytes_text(4.0 * static_cast<double>(size)),
                [&] { gradient_arena_ = Storage::make(*services_.group, size); });
  for (const auto& p : learnable_)
    if (p.division == nullptr)  // with the gap behind it, which is cleared, too: a codec may have left something there
      p.blob->place_diff(Storage::range(gradient_arena_, p.arena_offset, round_up(p.blob->count(), arena_alignment)));
  for (const auto& share : shares_) share.user->share_diff(*share.owner);
  return gradient_arena_;
}

void Net::reshape() {
  for (auto& entry : layers_) shape(entry);
  gradients_placed_ = false;
  weigh_losses();
}

void Net::weigh_losses() {
  for (const auto& entry : layers_) weigh_losses(entry);
}

void Net::weigh_losses(const Entry& entry) const {
  for (std::size_t i = 0; i < entry.top.size(); ++i)
    if (entry.loss_weights[i] != 0) {
      const auto count = static_cast<std::size_t>(entry.top[i]->count());
      const float gradient = loss_scale_ * static_cast<float>(entry.loss_weights[i]);
      entry.top[i]->write_diff(std::vector<float>(count, gradient).data());
    }
}

double Net::loss() {
  double total = 0;
  for (const auto& entry : layers_)
    for (std::size_t i = 0; i < entry.top.size(); ++i)
      if (entry.loss_weights[i] != 0) {
        const auto values = entry.top[i]->data_vector();
        total += entry.loss_weights[i] * std::accumulate(values.begin(), values.end(), 0.0);
      }
  return total;
}

Layer* Net::layer(const std::string& name) const {
  for (const auto& entry : layers_)
    if (entry.layer->name() == name) return entry.layer.get();
  return nullptr;
}

Blob* Net::blob(const std::string& name) const {
  const auto found = blobs_.find(name);
  return found == blobs_.end() ? nullptr : found->second.get();
}

Net::Memory Net::memory() const {
  Memory memory;
  for (const auto& blob : blobs_) memory.activations += blob.second->bytes();
  if (recomputation_ != nullptr) memory.activations += recomputation_->shared_bytes() - recomputation_->inner_bytes();
  std::set<const Blob*> with_gradient;
  for (const auto& entry : layers_)
    if (entry.need_backward && !entry.is_added_up)
      with_gradient.insert(entry.gradient_tops.begin(), entry.gradient_tops.end());
  const bool learns = !with_gradient.empty();
  for (const auto& entry : layers_)
    if (entry.joined_in != nullptr) with_gradient.erase(entry.bottom.back());
  if (shares_gradients_) {
    const auto places = gradient_places(layers_);
    memory.activation_gradients = floats_of(places) * static_cast<i64>(sizeof(float));
    for (const auto& place : places) with_gradient.erase(place.blob);
  }
  for (const Blob* blob : with_gradient) memory.activation_gradients += blob->bytes();
  for (const auto& p : learnable_) memory.parameters += p.blob->bytes();
  if (learns) memory.parameter_gradients = memory.parameters;
  return memory;
}

std::vector<Net::Range> Net::weight_ranges() const {
  std::vector<const Learnable*> by_place;
  for (const Learnable& p : learnable_)
    if (p.division == nullptr) by_place.push_back(&p);
  std::sort(by_place.begin(), by_place.end(),
            [](const Learnable* a, const Learnable* b) { return a->arena_offset < b->arena_offset; });
  std::vector<Range> ranges;
  bool goes_on = false;
  for (const Learnable* const p : by_place) {
    if (!p->statistic && !goes_on) ranges.push_back({p->arena_offset, 0});
    if (!p->statistic) ranges.back().count = p->arena_offset + p->blob->count() - ranges.back().first;
    goes_on = !p->statistic;
  }
  return ranges;
}

void Net::average_statistics() {
  if (run_.ranks == 1) return;
  std::vector<double> sums;
  for (const auto& p : learnable_)
    if (p.statistic) {
      const auto values = p.blob->data_vector();
      sums.insert(sums.end(), values.begin(), values.end());
    }
  run_.replicas->sum(sums.data(), static_cast<i64>(sums.size()));
  auto next = sums.begin();
  for (const auto& p : learnable_)
    if (p.statistic) {
      std::vector<float> mean(static_cast<std::size_t>(p.blob->count()));
      for (float& value : mean) value = static_cast<float>(*next++ / run_.ranks);
      p.blob->write_data(mean.data());
    }
}

std::size_t Net::end_of_divided() const {
  const auto last = std::find_if(layers_.rbegin(), layers_.rend(), is_divided);
  return static_cast<std::size_t>(layers_.rend() - last);
}

PlanBook Net::plans() const {
  PlanBook all;
  for (const auto& entry : layers_)
    for (const auto& choice : entry.layer->plans()) all[entry.layer->name() + "/" + choice.first] = choice.second;
  return all;
}

void Net::use_plans(const PlanBook& plans) {
  std::map<std::string, PlanBook> by_layer;
  for (const auto& [key, candidate] : plans) {
    const std::size_t slash = key.rfind('/');  // a layer's name may hold slashes, a direction does not
    if (slash != std::string::npos && key.substr(slash + 1) != layout_direction)
      by_layer[key.substr(0, slash)][key.substr(slash + 1)] = candidate;
  }
  for (const Entry& entry : layers_) {
    const auto found = by_layer.find(entry.layer->name());
    if (found != by_layer.end()) entry.layer->choose_plans(found->second);
  }
  reshape();
}

std::string Net::first_not_finite() {
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const Entry& entry = layers_[i];
    need_values(i);
    for (const auto& parameter : entry.layer->blobs())
      if (!all_finite(*parameter)) return entry.layer->name();
    for (const Blob* top : entry.top)
      if (!all_finite(*top)) return entry.layer->name();
  }
  return "";
}

}  // namespace cortado
