#pragma once
#include "backends/sunway/handles.h"

namespace cortado::sunway {

/// Rows of `cols` elements, `pitch` apart in memory, dense in the scratchpad.
template <class T>
void get_rows(T* ldm, const T* memory, i64 rows, i64 cols, i64 pitch, Pending& pending) {
  const int row = static_cast<int>(cols * static_cast<i64>(sizeof(T))), all = static_cast<int>(rows) * row;
  if (all == 0) return;
  if (rows == 1 || pitch == cols)
    port_get(ldm, memory, all, &pending.reply);
  else
    port_get_strided(ldm, memory, all, row, static_cast<int>((pitch - cols) * static_cast<i64>(sizeof(T))),
                     &pending.reply);
  ++pending.issued;
}

template <class T>
void put_rows(T* memory, const T* ldm, i64 rows, i64 cols, i64 pitch, Pending& pending) {
  const int row = static_cast<int>(cols * static_cast<i64>(sizeof(T))), all = static_cast<int>(rows) * row;
  if (all == 0) return;
  if (rows == 1 || pitch == cols)
    port_put(memory, ldm, all, &pending.reply);
  else
    port_put_strided(memory, ldm, all, row, static_cast<int>((pitch - cols) * static_cast<i64>(sizeof(T))),
                     &pending.reply);
  ++pending.issued;
}

/// A window of up to four dimensions, innermost last: `count` elements each, how far apart in memory and in the
/// scratchpad.
struct Window {
  i64 count[4] = {1, 1, 1, 1};
  i64 memory_pitch[4] = {0, 0, 0, 1};
  i64 ldm_pitch[4] = {0, 0, 0, 1};

  /// Merges dimensions that continue each other on both sides into the inner one, so that transfers are as long as can
  /// be.
  void merge() {
    for (int d = 3; d > 0;) {
      int outer = d - 1;
      while (outer >= 0 && count[outer] == 1) --outer;
      if (outer < 0 || memory_pitch[outer] != memory_pitch[d] * count[d] ||
          ldm_pitch[outer] != ldm_pitch[d] * count[d]) {
        --d;
        continue;
      }
      count[d] *= count[outer];
      count[outer] = 1;
    }
  }

  /// The dimension that rows of a strided transfer can run over: the scratchpad side must be dense. -1: none.
  int row_dimension() const {
    for (int d = 2; d >= 0; --d)
      if (count[d] > 1) return ldm_pitch[d] == count[3] && memory_pitch[d] > count[3] ? d : -1;
    return -1;
  }
};

/// Calls transfer(ldm offset, memory offset, rows, cols, pitch) until the window, whose innermost elements are
/// neighbours in the scratchpad, is covered. Where they are none in memory, rows are single elements.
template <class Transfer>
void for_each_transfer(Window w, Transfer transfer) {
  i64 rows = 1, cols = 1, pitch = 1;
  if (w.memory_pitch[3] != 1 && w.count[3] > 1) {
    rows = w.count[3], pitch = w.memory_pitch[3];
  } else {
    w.merge();
    cols = pitch = w.count[3];
    const int rows_in = w.row_dimension();
    if (rows_in >= 0) rows = w.count[rows_in], pitch = w.memory_pitch[rows_in], w.count[rows_in] = 1;
  }
  for (i64 i = 0; i < w.count[0]; ++i)
    for (i64 j = 0; j < w.count[1]; ++j)
      for (i64 k = 0; k < w.count[2]; ++k)
        transfer(i * w.ldm_pitch[0] + j * w.ldm_pitch[1] + k * w.ldm_pitch[2],
                 i * w.memory_pitch[0] + j * w.memory_pitch[1] + k * w.memory_pitch[2], rows, cols, pitch);
}

/// The part of a box that lies in its array, in elements of the box: [first[d], first[d] + count[d]).
struct Inside {
  i64 first[4], count[4];
  bool empty = false, whole = true;
};

template <class T>
Inside inside_of(const Box<T>& box) {
  Inside in;
  for (int d = 0; d < 4; ++d) {
    const i64 step = box.step[d], o = box.origin[d];
    i64 first = o >= 0 ? 0 : (-o + step - 1) / step;
    i64 end = box.extent[d] - o <= 0 ? 0 : (box.extent[d] - o + step - 1) / step;
    end = end < box.size[d] ? end : box.size[d];
    first = first < end ? first : end;
    in.first[d] = first;
    in.count[d] = end - first;
    in.empty = in.empty || end <= first;
    in.whole = in.whole && first == 0 && end == box.size[d];
  }
  return in;
}

/// Brings a box to `ldm`, dense in the order of its dimensions, or with the last two exchanged (`columns_first`, for
/// boxes whose neighbours in memory are their rows). Zero outside the array.
template <class T>
void get_box(T* ldm, const Box<T>& box, bool columns_first, Pending& pending) {
  [[maybe_unused]] static const port_operations clearing = {0, 1, 0, 0};
  const Inside in = inside_of(box);
  if (!in.whole) {
    if (!port_timing_only())
      for (i64 i = 0; i < box.count(); ++i) ldm[i] = T(0);
    port_count(box.count(), sizeof(T), &clearing);
  }
  if (in.empty) return;
  i64 pitch[4] = {box.size[1] * box.size[2] * box.size[3], box.size[2] * box.size[3], box.size[3], 1};
  if (columns_first) pitch[2] = 1, pitch[3] = box.size[2];
  Window w;
  const T* from = box.base;
  i64 to = 0;
  for (int d = 0; d < 4; ++d) {
    const int at = columns_first && d >= 2 ? 5 - d : d;  // the window's innermost dimension must be neighbours
    w.count[at] = in.count[d];
    w.memory_pitch[at] = box.pitch[d] * box.step[d];
    w.ldm_pitch[at] = pitch[d];
    from += (box.origin[d] + box.step[d] * in.first[d]) * box.pitch[d];
    to += in.first[d] * pitch[d];
  }
  for_each_transfer(w, [&](i64 ldm_at, i64 memory_at, i64 rows, i64 cols, i64 step) {
    get_rows(ldm + to + ldm_at, from + memory_at, rows, cols, step, pending);
  });
}

}  // namespace cortado::sunway
