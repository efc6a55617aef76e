#pragma once
#include <algorithm>
#include <cstdint>

#include "backends/kokkos/host_vector.h"
#include "backends/kokkos/tiles.h"

namespace cortado::kokkos {

/// One vector of the accumulator's columns: where B has it, which column it starts at, how many lanes count.
struct VectorColumns {
  i64 b;
  i64 column;
  int count;
};

/// The common data of all blocks of one multiply; T is float or bf16x2.
template <class T>
struct Job {
  float* acc;
  i64 acc_pitch;
  const T* a;
  LeftView a_view;
  const T* b;
  i64 b_k_stride;
  i64 k;
  Taps taps;
  bool sets = false;        ///< the accumulator; else adds to it
  bool asks_ahead = false;  ///< for the rows of A of the next block but one: they come from memory, a cache line each
};

/// Calls f(first, count) for 0..n-1 in parts of at most `most`, as equal as can be. A division takes as long as sixty
/// multiply-adds of vectors: there are two, of words, and none for one part.
template <class F>
void in_parts(i64 n, i64 most, F f) {
  if (n <= most) {
    if (n > 0) f(i64{0}, n);
    return;
  }
  const auto all = static_cast<std::uint32_t>(n);
  const std::uint32_t parts = (all + static_cast<std::uint32_t>(most) - 1) / static_cast<std::uint32_t>(most);
  const i64 less = all / parts, longer = all % parts;  // parts that have one more come last
  i64 first = 0;
  for (i64 p = 0; p < parts; ++p) {
    const i64 count = less + (p >= parts - longer ? 1 : 0);
    f(first, count);
    first += count;
  }
}

/// Walks over the vectors that the columns of B make; runs along n0 that follow each other without a gap are one.
class ColumnWalk {
 public:
  ColumnWalk(const TileShape& shape, const RightView& view) : shape_(shape), view_(view) {
    if (view_.n1_stride == view_.n0_stride * shape_.n0 || shape_.n1 == 1) join(shape_.n0, shape_.n1);
    if (shape_.n1 == 1 && (view_.n2_stride == view_.n0_stride * shape_.n0 || shape_.n2 == 1))
      join(shape_.n0, shape_.n2);
    per_run_ = (shape_.n0 + vector_lanes - 1) / vector_lanes;
  }

  i64 vectors() const { return per_run_ * shape_.n1 * shape_.n2; }

  VectorColumns operator()(i64 i) const {  // divides only where it must: see in_parts
    const i64 run = per_run_ == 1 ? i : i / per_run_, n0 = (i - run * per_run_) * vector_lanes,
              n2 = shape_.n2 == 1 ? 0 : run / shape_.n1, n1 = run - n2 * shape_.n1;
    return {n2 * view_.n2_stride + n1 * view_.n1_stride + n0 * view_.n0_stride, run * shape_.n0 + n0,
            static_cast<int>(std::min<i64>(vector_lanes, shape_.n0 - n0))};
  }

 private:
  static void join(i64& inner, i64& outer) {
    inner *= outer;
    outer = 1;
  }

  TileShape shape_;
  RightView view_;
  i64 per_run_ = 0;
};

}  // namespace cortado::kokkos
