// What teams of lanes do (backends/kokkos/lane_team.h), against plain loops. The lanes are whatever runs them: fibers
// in many orders (fibers_test.cpp), threads under ThreadSanitizer (threads.cpp).
#pragma once
#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "backends/kokkos/context.h"
#include "backends/kokkos/lane_team.h"
#include "core/base/random.h"
#include "core/machine/sums.h"

namespace cortado::test {

/// A lane's place in a team, as Kokkos' teams have it. `meet` gets a barrier's number and returns when all lanes have
/// come to it.
struct TeamMember {
  int rank, size;
  char* scratch;
  std::function<void(i64 barrier)> meet;
  i64 dropped = -1;     ///< number of a barrier that this team goes without
  mutable i64 met = 0;  ///< barriers so far

  struct Scratch {
    char* first;
    void* get_shmem_aligned(i64, i64) const { return first; }
  };
  int team_rank() const { return rank; }
  int team_size() const { return size; }
  i64 league_rank() const { return 0; }
  i64 league_size() const { return 1; }
  Scratch team_scratch(int) const { return {scratch}; }
  void team_barrier() const {
    const i64 number = met++;
    if (number != dropped) meet(number);
  }
};

/// Runs body(member) for each lane of a team, with `scratch` for all.
using RunTeam =
    std::function<void(int lanes, char* scratch, i64 dropped, const std::function<void(TeamMember&)>& body)>;

/// Whole numbers, so that sums are exact in any order.
inline float team_value(std::uint64_t key, i64 i) {
  return static_cast<float>(static_cast<int>(random_bits(key, static_cast<std::uint64_t>(i)) % 19) - 9);
}

/// Memory that a team works on, for lists of n elements.
struct TeamMemory {
  static constexpr i64 rows = 5, deep = 3;
  explicit TeamMemory(i64 length)
      : n(length),
        x(size(rows * n)),
        y(size(n)),
        grid(size(rows * n)),
        staged(size(rows * n)),
        left(size(rows * deep)),
        right(size(deep * n)),
        tile(size(rows * n)),
        out(size(rows * n)),
        turned(size(rows * n)) {
    for (i64 i = 0; i < rows * n; ++i) x[size(i)] = team_value(1, i);
  }
  static std::size_t size(i64 i) { return static_cast<std::size_t>(i); }

  const i64 n;
  std::vector<float> x, y, grid;
  std::vector<float> staged, left, right, tile, out, turned;
  int once = 0;
};

/// The values that each lane has seen, list by list.
using TeamResults = std::vector<std::vector<double>>;

template <class T>
std::vector<double> seen(const std::vector<T>& values) {
  return std::vector<double>(values.begin(), values.end());
}

/// x seen as a matrix of `rows` x n, from a row and a column before its first, and beyond its last.
inline Box<float> team_box(const TeamMemory& m, i64 rows, i64 cols) {
  return Box<float>::matrix(m.x.data(), TeamMemory::rows, m.n, m.n, -1, -1, rows, cols);
}

/// The cases, one after the other, as every lane of a team runs them.
template <class Team>
TeamResults run_cases(const Team& team, TeamMemory& m) {
  using M = TeamMemory;
  TeamResults results;
  const float* const x = m.x.data();
  const i64 n = m.n;
  float* const y = m.y.data();
  team.each(n, [&](i64 i) { y[i] = 2 * x[i]; });
  results.push_back(seen(m.y));
  float* const grid = m.grid.data();
  team.each2d(M::rows, n, [&](i64 r, i64 c) { grid[r * n + c] = x[r * n + c] + static_cast<float>(100 * r); });
  results.push_back(seen(m.grid));

  const auto plus = [](float a, float b) { return a + b; };
  const float sum = team.fold(n, 1.0f, plus, [&](i64 i) { return x[i]; });
  const float squares = team.fold(n, 2.0f, plus, [&](i64 i) { return x[i] * x[i]; });
  const double weighted = team.fold(
      n, 3.0, [](double a, double b) { return a + b; }, [&](i64 i) { return static_cast<double>(i) * double{x[i]}; });
  results.push_back({sum, squares, weighted});

  team.once([&] { m.once = 7; });
  results.push_back({static_cast<double>(m.once)});

  team.stage(m.staged.data(), team_box(m, M::rows, n));
  results.push_back(seen(m.staged));
  const kokkos::LeftOperand<float> left{team.stage(m.left.data(), team_box(m, M::rows, M::deep)), {M::deep, 1}};
  results.push_back(seen(m.left));
  const kokkos::RightOperand<float> right{team.stage(m.right.data(), team_box(m, M::deep, n)), {n, 0, 0, 1}};
  TileShape shape;
  shape.m = M::rows, shape.n0 = n, shape.k = M::deep;
  const kokkos::Acc<float> acc{m.tile.data(), shape};
  results.push_back(seen(m.right));
  team.product(acc, left, right, Taps());
  team.multiply(acc, left, right, Taps());
  OutBox<float> box;
  box.base = m.out.data(), box.rows = M::rows, box.limit0 = n, box.pitch_m = n;
  team.store(acc, box, [](float value, float old, i64 row, i64 column) {
    return value + old + static_cast<float>(row + 2 * column);
  });
  results.push_back(seen(m.out));
  team.turn(m.out.data(), n, M::rows, n, m.turned.data(), M::rows);
  results.push_back(seen(m.turned));

  double own = 0;  // of this lane alone
  team.each2d_own(M::rows, n, [&](i64 r, i64 c) { own += static_cast<double>(r + 1) * double{x[r * n + c]}; });
  results.push_back({join_lanes(team, own)});
  return results;
}

/// The same by plain loops.
inline TeamResults due_results(i64 n) {
  using M = TeamMemory;
  TeamMemory m(n);
  TeamResults results;
  const auto at = [&](i64 r, i64 c) { return double{m.x[M::size(r * n + c)]}; };
  const auto boxed = [&](i64 r, i64 c) { return r < 1 || c < 1 || c > n ? 0.0 : at(r - 1, c - 1); };
  std::vector<double> twice, grid, staged, left, right, out, turned;
  double sum = 1, squares = 2, weighted = 3;
  for (i64 i = 0; i < n; ++i) {
    const double v = at(0, i);
    twice.push_back(2 * v);
    sum += v, squares += v * v, weighted += static_cast<double>(i) * v;
  }
  for (i64 r = 0; r < M::rows; ++r)
    for (i64 c = 0; c < n; ++c) {
      grid.push_back(at(r, c) + 100.0 * static_cast<double>(r));
      staged.push_back(boxed(r, c));
      double product = 0;
      for (i64 k = 0; k < M::deep; ++k) product += boxed(r, k) * boxed(k, c);
      out.push_back(2 * product + static_cast<double>(r + 2 * c));
    }
  for (i64 r = 0; r < M::rows; ++r)
    for (i64 k = 0; k < M::deep; ++k) left.push_back(boxed(r, k));
  for (i64 k = 0; k < M::deep; ++k)
    for (i64 c = 0; c < n; ++c) right.push_back(boxed(k, c));
  double joined = 0;
  for (i64 c = 0; c < n; ++c)
    for (i64 r = 0; r < M::rows; ++r) {
      turned.push_back(out[M::size(r * n + c)]);
      joined += static_cast<double>(r + 1) * at(r, c);
    }
  return {twice, grid, {sum, squares, weighted}, {7}, staged, left, right, out, turned, {joined}};
}

/// The number of lanes of a team of `lanes`, run on lists of n elements, that saw anything but the right values; and
/// the number of barriers.
template <int lanes>
int wrong_lanes(const RunTeam& run, i64 n, i64 dropped = -1, i64* barriers = nullptr) {
  using Team = kokkos::LaneTeam<TeamMember, lanes>;
  TeamMemory memory(n);
  std::vector<double> scratch(static_cast<std::size_t>(Team::exchange_bytes / 8));
  kokkos::Grant grant;
  std::vector<TeamResults> results(lanes);
  std::vector<i64> met(lanes);
  run(lanes, reinterpret_cast<char*>(scratch.data()), dropped, [&](TeamMember& member) {
    const auto rank = static_cast<std::size_t>(member.rank);
    results[rank] = run_cases(Team(grant, member), memory);
    met[rank] = member.met;
  });
  if (barriers != nullptr) *barriers = met[0];
  const TeamResults due = due_results(n);
  return static_cast<int>(std::count_if(results.begin(), results.end(), [&](const auto& one) { return one != due; }));
}

/// Calls f.template operator()<lanes>() for teams of all sizes.
template <class F>
void for_team_sizes(F f) {
  f(std::integral_constant<int, 1>());
  f(std::integral_constant<int, 2>());
  f(std::integral_constant<int, 3>());
  f(std::integral_constant<int, 7>());
  f(std::integral_constant<int, 32>());
  f(std::integral_constant<int, 33>());
  f(std::integral_constant<int, 256>());
}

}  // namespace cortado::test
