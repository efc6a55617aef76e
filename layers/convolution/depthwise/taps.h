#pragma once
#include "core/machine/program.h"

namespace cortado {

/// Largest integer not above a / b, for a positive b.
CORTADO_FN inline i64 floor_div(i64 a, i64 b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }

/// Taps of a kernel along one axis that one output sums: the i-th is tap `first` + i `step`, whose value lies at
/// `place` + i `stride` of what was staged. Places ascend.
struct TapRun {
  i64 first, step, count;
  i64 place, stride;

  /// The taps of output `at` of a convolution, whose inputs were staged from `first_read` on.
  CORTADO_FN static TapRun of_output(i64 at, i64 kernel, i64 stride, i64 pad, i64 dilation, i64 first_read) {
    return {0, 1, kernel, at * stride - pad - first_read, dilation};
  }
  /// The taps of the gradient of input `at`, from the outputs that saw it.
  CORTADO_FN static TapRun of_input(i64 at, i64 kernel, i64 stride, i64 pad, i64 dilation, i64 first_read) {
    i64 first = 0, step = 1;
    while (first < kernel && (at + pad - first * dilation) % stride != 0) ++first;
    while (step * dilation % stride != 0) ++step;
    const i64 count = (kernel - first + step - 1) / step, last = first + (count - 1) * step;
    return {last, -step, count, floor_div(at + pad - last * dilation, stride) - first_read, step * dilation / stride};
  }

  /// True for values that are neighbours.
  CORTADO_FN bool is_dense() const { return count <= 1 || stride == 1; }
  CORTADO_FN TapRun moved(i64 rows) const { return {first, step, count, place + rows, stride}; }
};

/// The places of the taps of a few neighbouring outputs, and of their values: output j finds that of tap (a, b) in row
/// `row` + a `row_step` and column `col` + b `col_step` + j `next`.
struct TapPlaces {
  i64 tap, down, across;  ///< the first tap, and how far apart taps are
  i64 row, row_step;
  i64 col, col_step, next;

  CORTADO_FN TapPlaces(const TapRun& y, const TapRun& x, i64 kernel_width, i64 outputs_apart)
      : tap(y.first * kernel_width + x.first),
        down(y.step * kernel_width),
        across(x.step),
        row(y.place),
        row_step(y.stride),
        col(x.place),
        col_step(x.stride),
        next(outputs_apart) {}

  CORTADO_FN TapPlaces moved(i64 rows) const { return offset(0, rows, 0); }
  /// The places from tap (a, b) on.
  CORTADO_FN TapPlaces tap_at(i64 a, i64 b) const { return offset(a * down + b * across, a * row_step, b * col_step); }
  /// The places of another copy of the channels.
  CORTADO_FN TapPlaces copy(i64 rows, i64 taps) const { return offset(taps, rows, 0); }

 private:
  CORTADO_FN TapPlaces offset(i64 taps, i64 rows, i64 cols) const {
    TapPlaces there = *this;
    there.tap += taps, there.row += rows, there.col += cols;
    return there;
  }
};

}  // namespace cortado
