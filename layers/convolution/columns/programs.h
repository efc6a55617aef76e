#pragma once
#include "core/machine/math.h"
#include "core/machine/program.h"
#include "core/machine/sums.h"
#include "core/machine/windows.h"
#include "layers/convolution/sizes.h"

namespace cortado {

/// im2col (swCaffe IV-B1): x (images x ic x ih x iw) to columns (images x (ic kh kw) x (oh ow)). A line is one channel
/// of one image and `line_rows` rows of its output: the input rows under it come in once, and each kernel position puts
/// them out shifted.
struct Im2col {
  static constexpr const char* label = "im2col";
  ConvolutionSizes s;
  const float* x;
  float* columns;
  i64 line_rows;
  Buf x_buf, column_buf;
  Depth depth;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const Im2col p = *this;
    const i64 bands = (p.s.oh + p.line_rows - 1) / p.line_rows;
    const auto fetch = [&](i64 line) {
      const i64 y0 = p.first_row(line % bands);
      return c.get2d(p.x_buf, p.x + (line / bands * p.s.ih + y0) * p.s.iw, p.end_row(line % bands) - y0, p.s.iw,
                     p.s.iw);
    };
    c.lines(p.s.images * p.s.ic * bands, p.depth, fetch, [&](i64 line, auto& rows) {
      for (i64 k = 0; k < p.s.kh * p.s.kw; ++k) p.shift(c, line / bands, line % bands, k / p.s.kw, k % p.s.kw, rows);
    });
  }

 private:
  /// Input rows [first_row, end_row) are those under a band of outputs that exist; at least one, so that there is
  /// something to fetch.
  CORTADO_FN i64 first_row(i64 band) const {
    return math::max(i64{0}, math::min(s.ih - 1, band * line_rows * s.sh - s.ph));
  }
  CORTADO_FN i64 end_row(i64 band) const {
    const i64 count = math::min(line_rows, s.oh - band * line_rows);
    return math::max(first_row(band) + 1, math::min(s.ih, band * line_rows * s.sh - s.ph + s.rows_under(count)));
  }

  /// One kernel position of one plane: zero where it looks into the padding, else the input.
  template <class C, class Rows>
  CORTADO_FN void shift(C& c, i64 plane, i64 band, i64 ky, i64 kx, const Rows& rows) const {
    const i64 count = math::min(line_rows, s.oh - band * line_rows), ow = s.ow;
    float* const to = columns + ((plane * s.kh + ky) * s.kw + kx) * s.oh * ow + band * line_rows * ow;
    auto q = c.out2d(column_buf, to, count, ow, ow);
    const i64 y = band * line_rows * s.sh - s.ph + ky * s.dh, x0 = kx * s.dw - s.pw, sh = s.sh, sw = s.sw;
    const Range in_y = outputs_inside(y, sh, s.ih, count), in_x = outputs_inside(x0, sw, s.iw, ow);
    const i64 row0 = y - first_row(band);
    const auto zero = [&](i64 r, i64 i) { q.set(r, i, 0.0f); };
    c.each2d(Range{0, in_y.first}, Range{0, ow}, zero);
    c.each2d(in_y, Range{0, in_x.first}, zero);
    if (sw == 1)
      c.each2d(in_y, in_x, [&](i64 r, i64 i) { q.set(r, i, rows(row0 + r * sh, x0 + i)); });
    else
      c.each2d(in_y, in_x, [&](i64 r, i64 i) { q.set(r, i, rows(row0 + r * sh, x0 + i * sw)); });
    c.each2d(in_y, Range{math::max(in_x.first, in_x.end), ow}, zero);
    c.each2d(Range{math::max(in_y.first, in_y.end), count}, Range{0, ow}, zero);
    c.put(q);
  }
};

/// col2im: the gradient's way back, x (images x ic x ih x iw) = sum of the columns' entries that im2col made from it.
/// Nothing is scattered: a line owns `line_rows` rows of one channel of one image and gathers, kernel position by
/// kernel position, the part of that position's column that falls on them.
struct Col2im {
  static constexpr const char* label = "col2im";
  ConvolutionSizes s;
  const float* columns;
  float* x;
  i64 line_rows;
  Buf column_buf, x_buf;
  Depth depth;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const Col2im p = *this;
    const i64 bands = (p.s.ih + p.line_rows - 1) / p.line_rows;
    each_line(c, p.s.images * p.s.ic * bands, [&](i64 line) {
      const i64 plane = line / bands, first = line % bands * p.line_rows;
      const i64 count = math::min(p.line_rows, p.s.ih - first);
      auto q = c.out2d(p.x_buf, p.x + (plane * p.s.ih + first) * p.s.iw, count, p.s.iw, p.s.iw);
      c.each2d(count, p.s.iw, [&](i64 r, i64 i) { q.set(r, i, 0.0f); });
      c.pipeline(
          p.s.kh * p.s.kw, p.depth,
          [&](i64 k) {
            const Range rows = p.column_rows(first, count, k / p.s.kw);
            const float* const from = p.columns + ((plane * p.s.kh * p.s.kw + k) * p.s.oh + rows.first) * p.s.ow;
            return c.get2d(p.column_buf, from, rows.count(), p.s.ow, p.s.ow);
          },
          [&](i64 k, auto& column) { p.gather(c, first, count, k / p.s.kw, k % p.s.kw, column, q); });
      c.put(q);
    });
  }

 private:
  /// Output rows whose kernel row ky falls on input rows [first, first + count); at least one, to have something to
  /// fetch, and one too many at most on either side.
  CORTADO_FN Range column_rows(i64 first, i64 count, i64 ky) const {
    const i64 low = first + s.ph - ky * s.dh, high = low + count - 1;
    const i64 begin = math::min(s.oh - 1, math::max(i64{0}, low) / s.sh);
    return {begin, math::max(begin + 1, math::min(s.oh, math::max(i64{0}, high) / s.sh + 1))};
  }

  template <class C, class Column, class Out>
  CORTADO_FN void gather(C& c, i64 first, i64 count, i64 ky, i64 kx, const Column& column, Out& q) const {
    const i64 oy0 = column_rows(first, count, ky).first;
    const i64 y = first + s.ph - ky * s.dh, x = s.pw - kx * s.dw;  // input row r sees output row (y + r) / sh
    if (s.sh == 1 && s.sw == 1) {
      const Range rows = outputs_inside(y, 1, s.oh, count), cols = outputs_inside(x, 1, s.ow, s.iw);
      c.each2d(rows, cols, [&](i64 r, i64 i) { q.set(r, i, q.at(r, i) + column(y + r - oy0, x + i)); });
      return;
    }
    const i64 sh = s.sh, sw = s.sw, oh = s.oh, ow = s.ow, last = column.rows - 1;
    c.each2d(count, s.iw, [&](i64 r, i64 i) {
      const i64 ty = y + r, tx = x + i;
      const bool hit = ty >= 0 && tx >= 0 && ty % sh == 0 && tx % sw == 0 && ty / sh < oh && tx / sw < ow;
      const i64 row = math::max(i64{0}, math::min(ty / sh - oy0, last)),
                col = math::max(i64{0}, math::min(tx / sw, ow - 1));
      q.set(r, i, q.at(r, i) + math::select(hit, column(row, col), 0.0f));
    });
  }
};

}  // namespace cortado
