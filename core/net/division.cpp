#include "core/net/division.h"

#include <algorithm>

#include "core/net/part_exchange.h"

namespace cortado {

Division::Division(const Shape& whole, int axis, int ranks) : whole_(whole), axis_(axis), ranks_(ranks) {
  require(whole.size() == 2 && (axis == 0 || axis == 1), "a matrix is divided by its rows or columns");
}

i64 Division::begin(int rank) const {
  const i64 n = whole_[static_cast<std::size_t>(axis_)];
  return n / ranks_ * rank + std::min(i64{rank}, n % ranks_);
}

Shape Division::part(int rank) const {
  Shape shape = whole_;
  shape[static_cast<std::size_t>(axis_)] = count(rank);
  return shape;
}

std::vector<i64> Division::counts() const {
  std::vector<i64> counts;
  for (int r = 0; r < ranks_; ++r) counts.push_back(count_of(part(r)));
  return counts;
}

/// Calls visit(where it begins in the whole, where among all parts, how many values) for every row of every part.
template <class Visit>
void Division::for_each_row(Visit visit) const {
  i64 among_parts = 0;
  for (int r = 0; r < ranks_; ++r) {
    const Shape shape = part(r);
    const i64 first = axis_ == 0 ? begin(r) * whole_[1] : begin(r);
    for (i64 row = 0; row < shape[0]; ++row, among_parts += shape[1])
      visit(first + row * whole_[1], among_parts, shape[1]);
  }
}

std::vector<float> Division::cut(const std::vector<float>& whole) const {
  std::vector<float> parts(whole.size());
  for_each_row(
      [&](i64 in_whole, i64 in_parts, i64 n) { std::copy_n(whole.begin() + in_whole, n, parts.begin() + in_parts); });
  return parts;
}

std::vector<float> Division::join(const std::vector<float>& parts) const {
  std::vector<float> whole(parts.size());
  for_each_row(
      [&](i64 in_whole, i64 in_parts, i64 n) { std::copy_n(parts.begin() + in_parts, n, whole.begin() + in_whole); });
  return whole;
}

std::vector<float> Division::take(const std::vector<float>& whole, int rank) const {
  const std::vector<float> parts = cut(whole);
  const i64 before = count_of(whole_) / whole_[static_cast<std::size_t>(axis_)] * begin(rank);
  return {parts.begin() + before, parts.begin() + before + count_of(part(rank))};
}

std::vector<float> Division::collect(const PartExchange& ranks, const std::vector<float>& part) const {
  const std::vector<float> parts = ranks.gather(part, counts());
  return ranks.rank() == 0 ? join(parts) : std::vector<float>();
}

std::vector<float> Division::spread(const PartExchange& ranks, const std::vector<float>& whole) const {
  return ranks.scatter(ranks.rank() == 0 ? cut(whole) : std::vector<float>(), counts());
}

}  // namespace cortado
