#pragma once
#include "core/machine/elementwise.h"
#include "layers/softmax/planes.h"

namespace cortado {

/// Planes whose classes are channels, one of which is read or written at a time.
struct ChannelPlanes : ClassPlanes {
  CORTADO_FN i64 most() const { return positions.most(); }
  CORTADO_FN LineAt where(i64 line, i64 channel) const {
    return {at(line) + channel * positions.width, positions.count(line)};
  }
};

/// A factor that all share, or one for each channel, or for each column of a row.
struct SharedOrEach {
  const float* values;
  bool shared;
  Buf buf;

  template <class C>
  CORTADO_FN auto get(C& c, i64 first, i64 n) const {
    return shared ? c.get(buf, values, 1) : c.get(buf, values + first, n);
  }
  CORTADO_FN i64 at(i64 j) const { return shared ? 0 : j; }
};

/// inverse = 1 / sqrt(eps + sum over channels of x^2) at each position, y = x inverse scale[channel].
struct NormalizePositions {
  static constexpr const char* label = "normalize_positions";
  SharedOrEach scale;
  View<ChannelPlanes, const float> x;
  Lines<float> inverse;
  View<ChannelPlanes, float> y;
  float eps;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const NormalizePositions p = *this;
    const i64 channels = p.x.cut.classes;
    each_line(c, p.x.lines(), [&](i64 line) {
      auto inverse = p.inverse.out(c, line);
      c.each(inverse.n, [&](i64 j) { inverse.set(j, p.eps); });
      c.pipeline(
          channels, Depth::two, [&](i64 k) { return p.x.get(c, line, k); },
          [&](i64, auto& x) { c.each(x.n, [&](i64 j) { inverse.set(j, inverse.at(j) + x[j] * x[j]); }); });
      c.each(inverse.n, [&](i64 j) { inverse.set(j, 1.0f / math::sqrt(inverse.at(j))); });
      c.pipeline(
          channels, Depth::two, [&](i64 k) { return gather(p.x.get(c, line, k), p.scale.get(c, k, 1)); },
          named([&](i64 k, auto x, auto scale) {
            const float factor = scale[0];
            auto y = p.y.out(c, line, k);
            c.each(x.n, [&](i64 j) { y.set(j, x[j] * inverse.at(j) * factor); });
            c.put(y);
          }));
      c.put(inverse);
    });
  }
};

/// dot = sum over channels of x g, dx = (g - x dot inverse^2) inverse, where g = dy scale[channel].
struct NormalizePositionsBackward {
  static constexpr const char* label = "normalize_positions_backward";
  SharedOrEach scale;
  View<ChannelPlanes, const float> x, dy;
  Lines<const float> inverse;
  Lines<float> dot;
  View<ChannelPlanes, float> dx;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const NormalizePositionsBackward p = *this;
    const i64 channels = p.x.cut.classes;
    const auto fetch_inverse = [&](i64 line) { return p.inverse.get(c, line); };
    c.lines(p.x.lines(), Depth::one, fetch_inverse, [&](i64 line, auto& inverse) {
      const auto fetch = [&](i64 k) { return gather(p.x.get(c, line, k), p.dy.get(c, line, k), p.scale.get(c, k, 1)); };
      auto dot = p.dot.out(c, line);
      c.each(dot.n, [&](i64 j) { dot.set(j, 0.0f); });
      c.pipeline(channels, Depth::two, fetch, named([&](i64, auto x, auto dy, auto scale) {
                   const float factor = scale[0];
                   c.each(x.n, [&](i64 j) { dot.set(j, dot.at(j) + x[j] * dy[j] * factor); });
                 }));
      c.each(dot.n, [&](i64 j) { dot.set(j, dot.at(j) * inverse[j] * inverse[j]); });
      c.pipeline(channels, Depth::two, fetch, named([&](i64 k, auto x, auto dy, auto scale) {
                   const float factor = scale[0];
                   auto dx = p.dx.out(c, line, k);
                   c.each(x.n, [&](i64 j) { dx.set(j, (dy[j] * factor - x[j] * dot.at(j)) * inverse[j]); });
                   c.put(dx);
                 }));
      c.put(dot);
    });
  }
};

/// terms[k] = the sum over the positions of channel k of x dy inverse.
struct NormalizeChannelTerms {
  static constexpr const char* label = "normalize_channel_terms";
  View<ChannelPlanes, const float> x, dy;
  Lines<const float> inverse;
  Lines<float> terms;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const NormalizeChannelTerms p = *this;
    each_line(c, p.x.cut.classes, [&](i64 k) {
      double sum = 0;
      c.pipeline(
          p.x.lines(), Depth::two,
          [&](i64 line) { return gather(p.x.get(c, line, k), p.dy.get(c, line, k), p.inverse.get(c, line)); },
          named([&](i64, auto x, auto dy, auto inverse) {
            sum += sum_of(c, x.n, [&](i64 j) { return x[j] * dy[j] * inverse[j]; });
          }));
      put_values(c, p.terms, k, static_cast<float>(sum));
    });
  }
};

/// inverse = 1 / sqrt(eps + sum of x^2) of each row, y = x inverse scale[column].
struct NormalizeRows {
  static constexpr const char* label = "normalize_rows";
  SharedOrEach scale;
  Lines<const float> x;
  Lines<float> inverse, y;
  float eps;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const NormalizeRows p = *this;
    const RowLines s = p.x.cut;
    each_line(c, s.rows, [&](i64 r) {
      const double squares = sum_of_row(
          c, s, r, [&](i64 line) { return gather(p.x.get(c, line)); },
          [&](auto x) { return sum_of(c, x.n, [&](i64 j) { return x[j] * x[j]; }); });
      const float inverse = 1.0f / math::sqrt(static_cast<float>(squares) + p.eps);
      c.pipeline(
          s.blocks(), Depth::two,
          [&](i64 b) {
            const i64 line = s.line(r, b);
            return gather(p.x.get(c, line), p.scale.get(c, s.first(line), s.count(line)));
          },
          named([&](i64 b, auto x, auto scale) {
            auto y = p.y.out(c, s.line(r, b));
            c.each(x.n, [&](i64 j) { y.set(j, x[j] * inverse * scale[p.scale.at(j)]); });
            c.put(y);
          }));
      put_values(c, p.inverse, r, inverse);
    });
  }
};

/// dx = (g - x inverse^2 sum of x g) inverse of each row, where g = dy scale[column].
struct NormalizeRowsBackward {
  static constexpr const char* label = "normalize_rows_backward";
  SharedOrEach scale;
  Lines<const float> x, dy, inverse;
  Lines<float> dx;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const NormalizeRowsBackward p = *this;
    const RowLines s = p.x.cut;
    const auto fetch_inverse = [&](i64 r) { return p.inverse.get(c, r); };
    c.lines(s.rows, Depth::one, fetch_inverse, [&](i64 r, auto& inverses) {
      const auto fetch = [&](i64 b) {
        const i64 line = s.line(r, b);
        return gather(p.x.get(c, line), p.dy.get(c, line), p.scale.get(c, s.first(line), s.count(line)));
      };
      double dot = 0;
      c.pipeline(s.blocks(), Depth::two, fetch, named([&](i64, auto x, auto dy, auto scale) {
                   dot += sum_of(c, x.n, [&](i64 j) { return x[j] * dy[j] * scale[p.scale.at(j)]; });
                 }));
      const float inverse = inverses[0], along = static_cast<float>(dot) * inverse * inverse;
      c.pipeline(s.blocks(), Depth::two, fetch, named([&](i64 b, auto x, auto dy, auto scale) {
                   auto dx = p.dx.out(c, s.line(r, b));
                   c.each(x.n, [&](i64 j) { dx.set(j, (dy[j] * scale[p.scale.at(j)] - x[j] * along) * inverse); });
                   c.put(dx);
                 }));
    });
  }
};

/// terms[column] = the sum over rows of x dy inverse[row].
struct NormalizeColumnTerms {
  static constexpr const char* label = "normalize_column_terms";
  Lines<const float> x, dy, inverse;
  Lines<float> terms;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const NormalizeColumnTerms p = *this;
    const RowLines s = p.x.cut;
    each_line(c, s.blocks(), [&](i64 b) {
      auto terms = p.terms.out(c, b);
      c.each(terms.n, [&](i64 j) { terms.set(j, 0.0f); });
      c.pipeline(
          s.rows, Depth::two,
          [&](i64 r) {
            const i64 line = s.line(r, b);
            return gather(p.x.get(c, line), p.dy.get(c, line), p.inverse.get(c, r));
          },
          named([&](i64, auto x, auto dy, auto inverses) {
            const float inverse = inverses[0];
            c.each(x.n, [&](i64 j) { terms.set(j, terms.at(j) + x[j] * dy[j] * inverse); });
          }));
      c.put(terms);
    });
  }
};

/// The row's value, for each of its elements.
struct RepeatRow {
  static constexpr const char* label = "repeat_rows";
  CORTADO_FN float operator()(float value) const { return value; }
};

}  // namespace cortado
