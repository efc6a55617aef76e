#pragma once
#include "backends/sunway/context.h"

namespace cortado::sunway {

/// Applies f to the part of the sums inside the box, in place, and puts it. Old values come through the bounce buffer,
/// a piece of a row at a time; without them (OutBox::reads_old false) sums go out as they lie.
template <class T, class F>
void Context::store(const Acc<T>& acc, const OutBox<T>& box, F f) {
  port_name("store", -1);
  const TileShape& s = acc.shape;
  const auto part = [](i64 limit, i64 size) { return limit < 0 ? i64{0} : limit < size ? limit : size; };
  const i64 m = part(box.rows, s.m), n2 = part(box.limit2, s.n2), n1 = part(box.limit1, s.n1),
            n0 = part(box.limit0, s.n0);
  if (m * n2 * n1 * n0 == 0) return;
  const i64 piece = box.reads_old ? port_bounce_bytes / static_cast<i64>(sizeof(T)) : n0;
  T* const old = static_cast<T*>(port_bounce());
  for (i64 i = 0; i < m; ++i)
    for (i64 j = 0; j < n2 * n1; ++j)
      for (i64 first = 0; first < n0; first += piece) {
        const i64 column = (j / n1 * s.n1 + j % n1) * s.n0 + first, n = part(n0 - first, piece);
        T* const sums = acc.p + i * s.n() + column;
        if (box.reads_old) {
          const T* const from = box.base + i * box.pitch_m + j / n1 * box.pitch2 + j % n1 * box.pitch1;
          Pending pending;
          Window w;
          w.count[3] = n, w.memory_pitch[3] = box.pitch0;
          for_each_transfer(w, [&](i64 to, i64 at, i64 rows, i64 cols, i64 pitch) {
            get_rows(old + to, from + first * box.pitch0 + at, rows, cols, pitch, pending);
          });
          pending.wait();
        }
        loop(n, [&](i64 e) {
          const Value<T> value = load(sums + e), before = box.reads_old ? load(old + e) : Value<T>(T(0));
          sunway::store(sums + e, static_cast<T>(f(value, before, i, column + e)));
        });
      }
  Window w;
  const i64 counts[4] = {m, n2, n1, n0}, pitches[4] = {box.pitch_m, box.pitch2, box.pitch1, box.pitch0},
            dense[4] = {s.n(), s.n1 * s.n0, s.n0, 1};
  for (int d = 0; d < 4; ++d) w.count[d] = counts[d], w.memory_pitch[d] = pitches[d], w.ldm_pitch[d] = dense[d];
  for_each_transfer(w, [&](i64 from, i64 to, i64 rows, i64 cols, i64 pitch) {
    put_rows(box.base + to, acc.p + from, rows, cols, pitch, *acc.puts);
  });
}

}  // namespace cortado::sunway
