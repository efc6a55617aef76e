#include "comm/exchange/zero1_update.h"

#include "comm/collective/circulant.h"

namespace cortado {
namespace {
std::size_t bytes_of(i64 floats) { return static_cast<std::size_t>(floats) * sizeof(float); }

/// Calls visit(a statistic's values in the arena, its values in an array of all).
template <class Visit>
void for_each_statistic(const Net& net, std::vector<float>& all, Visit visit) {
  i64 count = 0;
  for (const Net::Learnable& learnable : net.learnable()) count += learnable.statistic ? learnable.blob->count() : 0;
  all.resize(static_cast<std::size_t>(count));
  float* next = all.data();
  for (const Net::Learnable& learnable : net.learnable()) {
    if (!learnable.statistic) continue;
    visit(net.parameter_arena()->data + learnable.arena_offset, next, bytes_of(learnable.blob->count()));
    next += learnable.blob->count();
  }
}
}  // namespace

std::optional<Net::Range> Zero1Update::own_part(const Net& net) const {
  const int ranks = job_.topology().ranks();
  if (ranks == 1) return std::nullopt;
  const int own = CirculantSchedule(job_.topology(), job_.team().rank()).own;
  const i64 count = net.parameter_arena()->count, first = circulant_begin(count, ranks, own);
  return Net::Range{first, circulant_begin(count, ranks, own + 1) - first};
}

/// Runs half of the allreduce on an arena, of which it needs and makes these ranges.
void Zero1Update::on_host(const Storage& arena, const Net::Range& needed, const Net::Range& made,
                          void (*run)(const Team& team, const HostValues& values)) {
  float* values = arena.data;
  const bool in_place = group_.spec().host_memory;
  if (!in_place) {
    staging_.resize(static_cast<std::size_t>(arena.count));
    values = staging_.data();
    group_.copy(values + needed.first, arena.data + needed.first, bytes_of(needed.count));
  }
  group_.wait();
  run(job_.team(), {values, arena.count, Precision::fp32});
  if (in_place) return;
  group_.copy(arena.data + made.first, values + made.first, bytes_of(made.count));
  group_.wait();
}

float Zero1Update::finish(Net& net) {
  const auto own = own_part(net);
  if (!own) return 1;
  const Storage& gradients = *net.gradient_arena();
  on_host(gradients, {0, gradients.count}, *own, reduce_scatter);
  return 1.0f / static_cast<float>(job_.topology().ranks());
}

/// Parts hold running statistics too, which stay every rank's own.
void Zero1Update::share_weights(Net& net) {
  const auto own = own_part(net);
  if (!own) return;
  const Storage& weights = *net.parameter_arena();
  for_each_statistic(net, statistics_,
                     [&](const float* values, float* kept, std::size_t bytes) { group_.copy(kept, values, bytes); });
  on_host(weights, *own, {0, weights.count}, allgather);
  for_each_statistic(net, statistics_,
                     [&](float* values, const float* kept, std::size_t bytes) { group_.copy(values, kept, bytes); });
  group_.wait();
}

}  // namespace cortado
