#include "core/net/recomputation_choice.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/machine/integers.h"
#include "core/net/layer_values.h"

namespace cortado {
namespace {

/// A segment that could be, with the bytes inside it and the time of making them again.
struct Candidate {
  std::size_t first, end;
  double bytes, time;
};

/// The time of a layer's forward, in units that are the same for all layers of a net.
double time_of(const Net::Entry& entry, const MachineSpec& spec) {
  if (entry.is_absorbed) return 0;
  constexpr double usual = 10;  // operations in the time of a byte
  const bool is_known = spec.peak_flops > 0 && spec.bandwidth > 0;
  const auto cost = entry.layer->cost(entry.bottom, entry.top);
  return std::max(cost.forward_flops / (is_known ? spec.peak_flops / spec.bandwidth : usual), cost.forward_bytes);
}

double bytes_of(const LayerValues::Value& value) {
  return static_cast<double>(sizeof(float) * round_up(value.blob->storage(), Net::arena_alignment));
}

class Chooser {
 public:
  explicit Chooser(const Net& net)
      : layers_(net.layers()), values_(layers_, seen(net)), readers_(layers_.size() + 1), ending_(layers_.size() + 1) {
    for (std::size_t v = 0; v < values_.values.size(); ++v) {
      readers_[values_.values[v].last].push_back(v);
      all_bytes_ += bytes_of(values_.values[v]);
    }
    for (const Net::Entry& entry : layers_) {
      times_.push_back(entry.top.empty() ? 0 : time_of(entry, entry.top[0]->group().spec()));
      all_time_ += times_.back();
    }
    is_free_.assign(layers_.size(), true);
    for (std::size_t i = 0; i < layers_.size(); ++i)
      if (!layers_[i].is_absorbed) is_free_[i] = why_not_recomputed(layers_[i]).empty();
    for (const Segment& given : net.recomputed()) {
      double inside = 0;
      for (const auto& value : values_.values)
        if (values_.is_inside(value, given)) inside += bytes_of(value);
      given_bytes_ = std::max(given_bytes_, inside);
      for (std::size_t i = given.first; i < given.end; ++i) is_free_[i] = false;
    }
    for (std::size_t first = 0; first < layers_.size(); ++first) add_candidates(first);
    for (std::size_t c = 0; c < candidates_.size(); ++c) ending_[candidates_[c].end].push_back(c);
  }

  std::vector<RecomputationChoice> choices() const {
    std::vector<RecomputationChoice> all;
    if (candidates_.empty()) return all;
    for (double bound = all_bytes_; bound > all_bytes_ / 1e4; bound /= std::sqrt(2.0)) {
      all.push_back(best(bound, 0));
      for (double price = all_bytes_ / all_time_ / 256; price < 1000 * all_bytes_ / all_time_; price *= 2)
        all.push_back(best(bound, price));
    }
    std::sort(all.begin(), all.end(), [](const RecomputationChoice& a, const RecomputationChoice& b) {
      return a.share != b.share ? a.share < b.share : a.saved > b.saved;
    });
    std::vector<RecomputationChoice> useful;
    for (const auto& choice : all)
      if (choice.saved > (useful.empty() ? 0 : useful.back().saved)) useful.push_back(choice);
    return useful;
  }

 private:
  static std::set<const Blob*> seen(const Net& net) {
    std::set<const Blob*> blobs;
    for (const auto& output : net.outputs()) blobs.insert(output.blob);
    return blobs;
  }

  /// Of segments that begin at a layer, those that have more inside than shorter ones.
  void add_candidates(std::size_t first) {
    std::size_t least_end = first;
    double bytes = 0, time = 0;
    bool is_needed = false;  // by a backward
    bool is_more = false;    // inside than in the last candidate
    std::vector<bool> runs(layers_.size());
    for (std::size_t i = first; i < layers_.size() && is_free_[i]; ++i) {
      const LayerValues::Use& use = values_.uses[i];
      if (use.first < first) return;
      least_end = std::max(least_end, use.last + 1);
      is_needed = is_needed || (layers_[i].need_backward && !layers_[i].is_absorbed);
      for (const std::size_t v : readers_[i]) {
        const LayerValues::Value& value = values_.values[v];
        if (value.layer < first) continue;
        bytes += bytes_of(value);
        is_more = true;
        if (!runs[value.layer]) time += times_[value.layer];
        runs[value.layer] = true;
      }
      if (!is_more || i + 1 < least_end) continue;
      candidates_.push_back({first, i + 1, bytes, is_needed ? time : 0});
      is_more = false;
    }
  }

  /// The segments that bring most if a unit of time costs `price` bytes and no segment has more than `bound` bytes
  /// inside. The last segment costs no time: its values are still there when backward begins.
  RecomputationChoice best(double bound, double price) const {
    constexpr std::size_t nothing = ~std::size_t{0};
    const std::size_t n = layers_.size();
    std::vector<double> most(n + 1);
    std::vector<std::size_t> by(n + 1, nothing);
    double last_most = 0;
    std::size_t last = nothing;
    for (std::size_t end = 1; end <= n; ++end) {
      most[end] = most[end - 1];
      for (const std::size_t c : ending_[end]) {
        const Candidate& of = candidates_[c];
        if (of.bytes > bound) continue;
        const double gain = most[of.first] + of.bytes - price * of.time;
        if (gain > most[end]) most[end] = gain, by[end] = c;
        if (most[of.first] + of.bytes > last_most) last_most = most[of.first] + of.bytes, last = c;
      }
    }
    RecomputationChoice choice;
    double inside = 0, widest = 0, time = 0;
    const auto take = [&](std::size_t c, bool runs) {
      const Candidate& of = candidates_[c];
      choice.segments.push_back({of.first, of.end});
      inside += of.bytes;
      widest = std::max(widest, of.bytes);
      time += runs ? of.time : 0;
      return of.first;
    };
    std::size_t next = last == nothing ? 0 : take(last, false);
    while (next > 0)
      if (by[next] == nothing)
        --next;
      else
        next = take(by[next], true);
    std::reverse(choice.segments.begin(), choice.segments.end());
    choice.saved = static_cast<i64>(inside - std::max(0.0, widest - given_bytes_));
    choice.share = all_time_ > 0 ? time / all_time_ : 0;
    return choice;
  }

  const std::vector<Net::Entry>& layers_;
  const LayerValues values_;
  std::vector<std::vector<std::size_t>> readers_;  // by layer: values that it reads last
  std::vector<std::vector<std::size_t>> ending_;   // candidates, by their end
  std::vector<double> times_;
  std::vector<bool> is_free_;
  std::vector<Candidate> candidates_;
  double all_bytes_ = 0, all_time_ = 0, given_bytes_ = 0;
};

}  // namespace

std::vector<RecomputationChoice> recomputation_choices(const Net& net) { return Chooser(net).choices(); }

}  // namespace cortado
