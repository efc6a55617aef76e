#pragma once
#include "core/machine/view.h"

namespace cortado {

/// Rows of pixels, each of which becomes `scale_h` rows, and each of whose pixels becomes `scale_w` pixels.
struct RepeatedPixels : RowLines {
  i64 scale_h, scale_w;
  CORTADO_FN i64 most() const { return block * scale_w; }
  CORTADO_FN LineAt where(i64 line, i64 t) const {
    return {((row(line) * scale_h + t) * width + first(line)) * scale_w, count(line) * scale_w};
  }
};

/// y = x, every pixel repeated.
struct RepeatPixels {
  static constexpr const char* label = "repeat_pixels";
  Lines<const float> x;
  View<RepeatedPixels, float> y;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const RepeatPixels p = *this;
    each_line(c, p.x, [&](i64 i, auto& x) {
      const float part = 1.0f / static_cast<float>(p.y.cut.scale_w);  // in place of a division: exact below 2^21
      for (i64 t = 0; t < p.y.cut.scale_h; ++t) {
        auto y = p.y.out(c, i, t);
        c.each(y.n, [&](i64 j) { y.set(j, x[static_cast<i64>((static_cast<float>(j) + 0.5f) * part)]); });
        c.put(y);
      }
    });
  }
};

/// dx = the sum of dy over each pixel's repetitions.
struct SumRepeatedPixels {
  static constexpr const char* label = "sum_repeated_pixels";
  View<RepeatedPixels, const float> dy;
  Lines<float> dx;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const SumRepeatedPixels p = *this;
    each_line(c, p.dx.lines(), [&](i64 i) {
      const i64 scale = p.dy.cut.scale_w;
      auto dx = p.dx.out(c, i);
      c.each(dx.n, [&](i64 j) { dx.set(j, 0.0f); });
      c.pipeline(
          p.dy.cut.scale_h, Depth::two, [&](i64 t) { return p.dy.get(c, i, t); },
          [&](i64, auto& dy) {
            for (i64 k = 0; k < scale; ++k) c.each(dx.n, [&](i64 j) { dx.set(j, dx.at(j) + dy[j * scale + k]); });
          });
      c.put(dx);
    });
  }
};

/// Planes of pixels go to planes of places: pixel i goes to the place mask[i]. Pixels are cut into pieces. Each knows
/// the lowest and the highest of its places, its span, so that few pieces need be looked at.
CORTADO_FN inline i64 place_of(float bound) { return static_cast<i64>(bound); }

/// span = the lowest and the highest place of each piece; wrong = how many of its values are no place.
struct MaskSpans {
  static constexpr const char* label = "mask_spans";
  Lines<const float> mask;  ///< in pieces
  Lines<float> span, wrong;
  i64 places;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const MaskSpans p = *this;
    each_line(c, p.mask, [&](i64 i, auto& mask) {
      const float end = static_cast<float>(p.places);
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
      put_values(c, p.span, i, lowest, highest);
      put_values(c, p.wrong, i, wrong);
    });
  }
};

/// y = x at the places of its pixels, 0 elsewhere. Of several pixels at one place the last counts.
struct PlacePixels {
  static constexpr const char* label = "place_pixels";
  Lines<const float> x, mask;  ///< in pieces
  Lines<const float> spans;    ///< of some of a plane's pieces
  Lines<float> y;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const PlacePixels p = *this;
    const RowLines pieces = p.x.cut, spans = p.spans.cut;
    each_line(c, p.y.lines(), [&](i64 i) {
      const i64 plane = p.y.cut.row(i), first = p.y.cut.first(i);
      auto y = p.y.out(c, i);
      const i64 n = y.n;
      c.each(n, [&](i64 j) { y.set(j, 0.0f); });
      c.pipeline(
          spans.blocks(), Depth::two, [&](i64 k) { return p.spans.get(c, spans.line(plane, k)); },
          [&](i64 k, auto& span) {
            for (i64 t = 0; 2 * t < span.n; ++t) {
              if (place_of(span[2 * t + 1]) < first || place_of(span[2 * t]) >= first + n) continue;
              const i64 piece = pieces.line(plane, k * spans.block / 2 + t);
              const auto x = p.x.get(c, piece), mask = p.mask.get(c, piece);
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

/// dx = dy at the places of its pixels.
struct TakePixels {
  static constexpr const char* label = "take_pixels";
  View<RowParts, const float> dy;
  Lines<const float> mask, span;
  Lines<float> dx;  ///< in pieces, as the mask

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const TakePixels p = *this;
    each_line(c, gather(p.mask, p.span), [&](i64 i, auto mask, auto span) {
      const i64 block = p.dy.cut.block, plane = p.dx.cut.row(i);
      const i64 lowest = place_of(span[0]), end = place_of(span[1]) + 1;
      auto dx = p.dx.out(c, i);
      c.each(dx.n, [&](i64 j) { dx.set(j, 0.0f); });
      c.pipeline(
          math::max(i64{0}, end - lowest + block - 1) / block, Depth::two,
          [&](i64 b) {
            const i64 first = lowest + b * block;
            return p.dy.get(c, plane, first, math::min(block, end - first));
          },
          [&](i64 b, auto& dy) {
            const i64 first = lowest + b * block;
            c.each(dx.n, [&](i64 j) {
              const i64 at = static_cast<i64>(static_cast<float>(mask[j])) - first;
              if (at >= 0 && at < dy.n) dx.set(j, dy[at]);
            });
          });
      c.put(dx);
    });
  }
};

}  // namespace cortado
