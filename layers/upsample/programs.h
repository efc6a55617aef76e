#pragma once
#include "core/machine/gather.h"
#include "core/machine/row_lines.h"
#include "core/machine/sums.h"

namespace cortado {

/// Rows of pixels, each of which becomes `scale_h` rows, and each of whose pixels becomes `scale_w` pixels.
struct RepeatedPixels : RowLines {
  i64 scale_h, scale_w;
  CORTADO_FN i64 repeated(i64 line, i64 t) const { return ((row(line) * scale_h + t) * width + first(line)) * scale_w; }
};

/// y = x, every pixel repeated.
struct RepeatPixels {
  static constexpr const char* label = "repeat_pixels";
  RepeatedPixels s;
  const float* x;
  float* y;
  Buf x_buf, y_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const RepeatPixels p = *this;
    const auto fetch = [&](i64 i) { return p.s.get(c, p.x_buf, p.x, i); };
    c.lines(p.s.lines(), Depth::two, fetch, [&](i64 i, auto& x) {
      const i64 scale = p.s.scale_w;
      for (i64 t = 0; t < p.s.scale_h; ++t) {
        auto y = c.out(p.y_buf, p.y + p.s.repeated(i, t), x.n * scale);
        c.each(y.n, [&](i64 j) { y.set(j, x[j / scale]); });
        c.put(y);
      }
    });
  }
};

/// dx = the sum of dy over each pixel's repetitions.
struct SumRepeatedPixels {
  static constexpr const char* label = "sum_repeated_pixels";
  RepeatedPixels s;
  const float* dy;
  float* dx;
  Buf dy_buf, dx_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const SumRepeatedPixels p = *this;
    each_line(c, p.s.lines(), [&](i64 i) {
      const i64 scale = p.s.scale_w;
      auto dx = p.s.out(c, p.dx_buf, p.dx, i);
      c.each(dx.n, [&](i64 j) { dx.set(j, 0.0f); });
      c.pipeline(
          p.s.scale_h, Depth::two,
          [&](i64 t) { return c.get(p.dy_buf, p.dy + p.s.repeated(i, t), p.s.count(i) * scale); },
          [&](i64, auto& dy) {
            c.each(dx.n, [&](i64 j) {
              auto sum = dx.at(j);
              for (i64 k = 0; k < scale; ++k) sum = sum + dy[j * scale + k];
              dx.set(j, sum);
            });
          });
      c.put(dx);
    });
  }
};

/// Planes of `places` values, some of which are a plane's `pixels` pixels: pixel i is the value at mask[i]. Pixels are
/// cut into pieces, each of which knows the lowest and the highest of its places, so that few pieces need be looked at.
struct MaskedPlanes {
  i64 planes, pixels, places;
  i64 piece;  ///< pixels of one

  CORTADO_FN i64 pieces() const { return (pixels + piece - 1) / piece; }
  CORTADO_FN i64 lines() const { return planes * pieces(); }
  CORTADO_FN i64 plane(i64 line) const { return line / pieces(); }
  CORTADO_FN i64 at(i64 line) const { return plane(line) * pixels + line % pieces() * piece; }
  CORTADO_FN i64 count(i64 line) const { return math::min(piece, pixels - line % pieces() * piece); }

  template <class C, class T>
  CORTADO_FN auto get(C& c, Buf buf, const T* array, i64 line) const {
    return c.get(buf, array + at(line), count(line));
  }
  /// A piece's places.
  CORTADO_FN static i64 bound(float of) { return static_cast<i64>(of); }
};

/// span = the lowest and the highest place of each piece; wrong = how many of its values are no place.
struct MaskSpans {
  static constexpr const char* label = "mask_spans";
  MaskedPlanes s;
  const float* mask;
  float *span, *wrong;
  Buf mask_buf, span_buf, wrong_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const MaskSpans p = *this;
    const auto fetch = [&](i64 i) { return p.s.get(c, p.mask_buf, p.mask, i); };
    c.lines(p.s.lines(), Depth::two, fetch, [&](i64 i, auto& mask) {
      const float end = static_cast<float>(p.s.places);
      const auto is_place = [&](i64 j) {
        const float place = mask[j];
        return place >= 0.0f && place < end && static_cast<float>(static_cast<i64>(place)) == place;
      };
      const float lowest = c.fold(
          mask.n, end, [](float a, float b) { return math::min(a, b); },
          [&](i64 j) { return is_place(j) ? static_cast<float>(mask[j]) : end; });
      const float highest = c.fold(
          mask.n, -1.0f, [](float a, float b) { return math::max(a, b); },
          [&](i64 j) { return is_place(j) ? static_cast<float>(mask[j]) : -1.0f; });
      const float wrong = sum_of(c, mask.n, [&](i64 j) { return is_place(j) ? 0.0f : 1.0f; });
      put_values(c, p.span_buf, p.span + 2 * i, lowest, highest);
      put_values(c, p.wrong_buf, p.wrong + i, wrong);
    });
  }
};

/// y = x at the places of its pixels, 0 elsewhere. Of several pixels at one place the last counts. A line is a block of
/// a plane's places.
struct PlacePixels {
  static constexpr const char* label = "place_pixels";
  static constexpr i64 spans_at_once = 64;
  MaskedPlanes s;
  i64 block;
  const float *x, *mask, *span;
  float* y;
  Buf x_buf, mask_buf, span_buf, y_buf;

  CORTADO_FN i64 blocks() const { return (s.places + block - 1) / block; }
  CORTADO_FN i64 lines() const { return s.planes * blocks(); }

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const PlacePixels p = *this;
    each_line(c, p.lines(), [&](i64 i) {
      const i64 first = i % p.blocks() * p.block, n = math::min(p.block, p.s.places - first);
      const i64 piece = i / p.blocks() * p.s.pieces();  // the plane's first
      auto y = c.out(p.y_buf, p.y + i / p.blocks() * p.s.places + first, n);
      c.each(n, [&](i64 j) { y.set(j, 0.0f); });
      c.pipeline((p.s.pieces() + spans_at_once - 1) / spans_at_once, Depth::two,
                 [&](i64 k) {
                   const i64 here = math::min(spans_at_once, p.s.pieces() - k * spans_at_once);
                   return c.get(p.span_buf, p.span + 2 * (piece + k * spans_at_once), 2 * here);
                 },
                 [&](i64 k, auto& span) {
                   for (i64 t = 0; 2 * t < span.n; ++t) {
                     const i64 lowest = MaskedPlanes::bound(span[2 * t]),
                               highest = MaskedPlanes::bound(span[2 * t + 1]);
                     if (highest < first || lowest >= first + n) continue;
                     const i64 line = piece + k * spans_at_once + t;
                     const auto x = p.s.get(c, p.x_buf, p.x, line), mask = p.s.get(c, p.mask_buf, p.mask, line);
                     c.once([&] {
                       for (i64 j = 0; j < x.n; ++j) {
                         const i64 at = static_cast<i64>(static_cast<float>(mask[j])) - first;
                         if (at >= 0 && at < n) y.set(at, x[j]);
                       }
                     });
                   }
                 });
      c.put(y);
    });
  }
};

/// dx = dy at the places of its pixels. A line is a piece.
struct TakePixels {
  static constexpr const char* label = "take_pixels";
  MaskedPlanes s;
  i64 block;
  const float *dy, *mask, *span;
  float* dx;
  Buf dy_buf, mask_buf, span_buf, dx_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const TakePixels p = *this;
    const auto fetch = [&](i64 i) {
      return gather(p.s.get(c, p.mask_buf, p.mask, i), c.get(p.span_buf, p.span + 2 * i, 2));
    };
    const auto work = named([&](i64 i, auto mask, auto span) {
      const i64 lowest = MaskedPlanes::bound(span[0]), end = MaskedPlanes::bound(span[1]) + 1;
      auto dx = c.out(p.dx_buf, p.dx + p.s.at(i), mask.n);
      c.each(dx.n, [&](i64 j) { dx.set(j, 0.0f); });
      c.pipeline(
          math::max(i64{0}, end - lowest + p.block - 1) / p.block, Depth::two,
          [&](i64 b) {
            const i64 first = lowest + b * p.block;
            return c.get(p.dy_buf, p.dy + p.s.plane(i) * p.s.places + first, math::min(p.block, end - first));
          },
          [&](i64 b, auto& dy) {
            const i64 first = lowest + b * p.block;
            c.each(dx.n, [&](i64 j) {
              const i64 at = static_cast<i64>(static_cast<float>(mask[j])) - first;
              if (at >= 0 && at < dy.n) dx.set(j, dy[at]);
            });
          });
      c.put(dx);
    });
    c.lines(p.s.lines(), Depth::two, fetch, work);
  }
};

}  // namespace cortado
