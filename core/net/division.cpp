#include "core/net/division.h"

#include <algorithm>

#include "core/net/shard_exchange.h"

namespace cortado {

Division::Division(const Shape& whole, int axis, int ranks) : whole_(whole), axis_(axis), ranks_(ranks) {
  require(whole.size() == 2 && (axis == 0 || axis == 1), "a matrix is divided by its rows or columns");
}

i64 Division::begin(int rank) const {
  const i64 n = whole_[static_cast<std::size_t>(axis_)];
  return n / ranks_ * rank + std::min(i64{rank}, n % ranks_);
}

Shape Division::shard(int rank) const {
  Shape shape = whole_;
  shape[static_cast<std::size_t>(axis_)] = count(rank);
  return shape;
}

std::vector<i64> Division::counts() const {
  std::vector<i64> counts;
  for (int r = 0; r < ranks_; ++r) counts.push_back(count_of(shard(r)));
  return counts;
}

/// Calls visit(its begin in the whole, its begin among all shards, its values) for every row of every shard.
template <class Visit>
void Division::for_each_row(Visit visit) const {
  i64 among_shards = 0;
  for (int r = 0; r < ranks_; ++r) {
    const Shape shape = shard(r);
    const i64 first = axis_ == 0 ? begin(r) * whole_[1] : begin(r);
    for (i64 row = 0; row < shape[0]; ++row, among_shards += shape[1])
      visit(first + row * whole_[1], among_shards, shape[1]);
  }
}

std::vector<float> Division::cut(const std::vector<float>& whole) const {
  std::vector<float> shards(whole.size());
  for_each_row([&](i64 in_whole, i64 in_shards, i64 n) {
    std::copy_n(whole.begin() + in_whole, n, shards.begin() + in_shards);
  });
  return shards;
}

std::vector<float> Division::join(const std::vector<float>& shards) const {
  std::vector<float> whole(shards.size());
  for_each_row([&](i64 in_whole, i64 in_shards, i64 n) {
    std::copy_n(shards.begin() + in_shards, n, whole.begin() + in_whole);
  });
  return whole;
}

std::vector<float> Division::take(const std::vector<float>& whole, int rank) const {
  const std::vector<float> shards = cut(whole);
  const i64 before = count_of(whole_) / whole_[static_cast<std::size_t>(axis_)] * begin(rank);
  return {shards.begin() + before, shards.begin() + before + count_of(shard(rank))};
}

std::vector<float> Division::collect(const ShardExchange& ranks, const std::vector<float>& shard) const {
  const std::vector<float> shards = ranks.gather(shard, counts());
  return ranks.rank() == 0 ? join(shards) : std::vector<float>();
}

std::vector<float> Division::spread(const ShardExchange& ranks, const std::vector<float>& whole) const {
  return ranks.scatter(ranks.rank() == 0 ? cut(whole) : std::vector<float>(), counts());
}

}  // namespace cortado
