#pragma once
#include <cstdint>

#include "backends/kokkos/space.h"
#include "backends/kokkos/tiles.h"

namespace cortado::kokkos {

/// A worker that is a team of `Lanes` threads, which share a scratchpad and meet at barriers. Every lane runs the
/// program; lane loops hand out their elements in turn, so that neighbouring lanes touch neighbouring memory, and end
/// in a barrier. `Member` is a lane's place in the team, as Kokkos has it on CUDA; tests have their own.
template <class Member, int Lanes>
class LaneTeam {
 public:
  static constexpr int lanes = Lanes;
  static constexpr i64 alignment = 16;  ///< of the scratchpad
  /// Shared memory that `fold` and `compact` exchange partial results in, before the plan's scratchpad.
  static constexpr i64 exchange_bytes = 16 * lanes;
  /// Shared memory of a team that is not the plan's: the exchange area and what Kokkos keeps for itself.
  static constexpr i64 reserved_bytes = exchange_bytes + 4096;

  CORTADO_FN LaneTeam(const Grant& grant, const Member& member)
      : grant_(grant),
        member_(member),
        exchange_(static_cast<char*>(member.team_scratch(0).get_shmem_aligned(grant.scratch_bytes, alignment))) {}

  /// Elements that a lane works on without looking whether the list ends: their loads are on their way together.
  static constexpr int together = 4;

  static constexpr bool looks_ahead = false;
  CORTADO_FN void announce(const void*, i64) const {}
  template <class T>
  CORTADO_FN bool fills_lines(const T*, i64, i64) const {
    return false;
  }
  template <class T>
  CORTADO_FN void stream(const T*, i64, i64, T*, i64) const {}
  CORTADO_FN i64 worker() const { return member_.league_rank(); }
  CORTADO_FN i64 workers() const { return member_.league_size(); }
  /// The items of 0..n-1 that this worker works on.
  CORTADO_FN Interval share(i64 n) const {
    return {first_of(worker(), workers(), n), first_of(worker() + 1, workers(), n)};
  }
  CORTADO_FN char* scratch() const { return exchange_ + exchange_bytes; }

  template <class F>
  CORTADO_FN void each(i64 n, const F& f) const {
    i64 i = member_.team_rank();
    for (; i + (together - 1) * lanes < n; i += together * lanes)
      for (int k = 0; k < together; ++k) f(i + k * lanes);
    for (; i < n; i += lanes) f(i);
    member_.team_barrier();
  }

  static constexpr i64 own_lanes = lanes;  ///< each lane runs the program, with variables of its own
  /// The lane's own elements, without a barrier. A block has fewer than 2^31 elements, since devices
  /// divide 32 bits faster than 64.
  template <class F>
  CORTADO_FN void each2d_own(i64 rows, i64 cols, const F& f) const {
    if (rows <= 0 || cols <= 0) return;
    const auto n = static_cast<std::uint32_t>(rows * cols), width = static_cast<std::uint32_t>(cols);
    const auto first = static_cast<std::uint32_t>(member_.team_rank());
    constexpr auto step = static_cast<std::uint32_t>(lanes);
    std::uint32_t i = first, r = first / width, c = first % width;
    const std::uint32_t down = step / width, right = step % width;
    const auto work = [&] {
      f(static_cast<i64>(r), static_cast<i64>(c));
      r += down, c += right;
      if (c >= width) c -= width, ++r;
    };
    for (; i + (together - 1) * step < n; i += together * step)
      for (int k = 0; k < together; ++k) work();
    for (; i < n; i += step) work();
  }

  template <class F>
  CORTADO_FN void each2d(i64 rows, i64 cols, const F& f) const {
    each2d_own(rows, cols, f);
    member_.team_barrier();
  }

  /// Element i joins partial result i mod lanes, the partial results join pairwise.
  template <class T, class Op, class F>
  CORTADO_FN T fold(i64 n, T init, Op op, const F& f) const {
    static_assert(sizeof(T) <= exchange_bytes / lanes, "partial results fit the exchange area");
    if (n <= 0) return init;
    T* const part = reinterpret_cast<T*>(exchange_);
    const i64 lane = member_.team_rank();
    if (lane < n) {
      T mine = f(lane);
      for (i64 i = lane + lanes; i < n; i += lanes) mine = op(mine, T(f(i)));
      part[lane] = mine;
    }
    member_.team_barrier();
    const i64 parts = n < lanes ? n : lanes;
    for (i64 half = widest_step(); half > 0; half /= 2) {
      if (lane < half && lane + half < parts) part[lane] = op(part[lane], part[lane + half]);
      member_.team_barrier();
    }
    const T result = op(init, part[0]);
    member_.team_barrier();  // before anyone uses the exchange area again
    return result;
  }

  template <class F>
  CORTADO_FN void once(const F& f) const {
    if (member_.team_rank() == 0) f();
    member_.team_barrier();
  }

  CORTADO_FN void fail(int code, i64 index) const { grant_.failure->remember(code, index, grant_.label); }

  template <class T>
  CORTADO_FN const T* stage(T* to, const Box<T>& box) const {
    each(box.count(), [&](i64 i) { to[i] = box_element(box, i); });
    return to;
  }

  /// The same for operands.
  template <class T>
  CORTADO_FN Staged<T> stage_operand(T* to, const Box<T>& box) const {
    return {stage(to, box), {}};
  }

  template <class T, class F>
  CORTADO_FN void store(const Acc<T>& acc, const OutBox<T>& box, const F& f) const {
    store_by_lanes(*this, acc, box, f);
  }

  template <class T>
  CORTADO_FN void turn(const T* from, i64 from_pitch, i64 rows, i64 cols, T* to, i64 to_pitch) const {
    each2d(cols, rows, [&](i64 c, i64 r) { to[c * to_pitch + r] = from[r * from_pitch + c]; });
  }

  template <class T>
  CORTADO_FN void multiply(const Acc<T>& acc, const LeftOperand<T>& a, const RightOperand<T>& b,
                           const Taps& taps) const {
    multiply_by_lanes(*this, acc, a, b, taps);
  }
  template <class T>
  CORTADO_FN void product(const Acc<T>& acc, const LeftOperand<T>& a, const RightOperand<T>& b,
                          const Taps& taps) const {
    clear(*this, acc);
    multiply(acc, a, b, taps);
  }

 private:
  /// The largest power of two below the number of lanes; 0 for one lane.
  CORTADO_FN static constexpr i64 widest_step() {
    i64 step = 1;
    while (step < lanes) step *= 2;
    return step / 2;
  }

  const Grant& grant_;
  const Member& member_;
  char* exchange_;
};

}  // namespace cortado::kokkos
