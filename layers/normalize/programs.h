#pragma once
#include "core/machine/elementwise.h"
#include "core/machine/sums.h"
#include "layers/softmax/planes.h"

namespace cortado {

/// Planes whose classes are channels, one of which is read or written at a time.
struct ChannelPlanes : ClassPlanes {
  template <class C>
  CORTADO_FN auto get(C& c, Buf buf, const float* array, i64 line, i64 channel) const {
    return c.get(buf, array + value(line) + channel * inner, width(line));
  }
  template <class C>
  CORTADO_FN auto out(C& c, Buf buf, float* array, i64 line, i64 channel) const {
    return c.out(buf, array + value(line) + channel * inner, width(line));
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
  ChannelPlanes s;
  SharedOrEach scale;
  const float* x;
  float *inverse, *y;
  float eps;
  Buf x_buf, inverse_buf, y_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const NormalizePositions p = *this;
    each_line(c, p.s.lines(), [&](i64 line) {
      auto inverse = p.s.out_positions(c, p.inverse_buf, p.inverse, line);
      c.each(inverse.n, [&](i64 j) { inverse.set(j, p.eps); });
      c.pipeline(
          p.s.classes, Depth::two, [&](i64 k) { return p.s.get(c, p.x_buf, p.x, line, k); },
          [&](i64, auto& x) { c.each(x.n, [&](i64 j) { inverse.set(j, inverse.at(j) + x[j] * x[j]); }); });
      c.each(inverse.n, [&](i64 j) { inverse.set(j, 1.0f / math::sqrt(inverse.at(j))); });
      c.pipeline(
          p.s.classes, Depth::two,
          [&](i64 k) { return gather(p.s.get(c, p.x_buf, p.x, line, k), p.scale.get(c, k, 1)); },
          named([&](i64 k, auto x, auto scale) {
            const float factor = scale[0];
            auto y = p.s.out(c, p.y_buf, p.y, line, k);
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
  ChannelPlanes s;
  SharedOrEach scale;
  const float *x, *dy, *inverse;
  float *dot, *dx;
  Buf x_buf, dy_buf, inverse_buf, dot_buf, dx_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const NormalizePositionsBackward p = *this;
    const auto fetch_inverse = [&](i64 line) { return p.s.get_positions(c, p.inverse_buf, p.inverse, line); };
    c.lines(p.s.lines(), Depth::one, fetch_inverse, [&](i64 line, auto& inverse) {
      const auto fetch = [&](i64 k) {
        return gather(p.s.get(c, p.x_buf, p.x, line, k), p.s.get(c, p.dy_buf, p.dy, line, k), p.scale.get(c, k, 1));
      };
      auto dot = p.s.out_positions(c, p.dot_buf, p.dot, line);
      c.each(dot.n, [&](i64 j) { dot.set(j, 0.0f); });
      c.pipeline(p.s.classes, Depth::two, fetch, named([&](i64, auto x, auto dy, auto scale) {
                   const float factor = scale[0];
                   c.each(x.n, [&](i64 j) { dot.set(j, dot.at(j) + x[j] * dy[j] * factor); });
                 }));
      c.each(dot.n, [&](i64 j) { dot.set(j, dot.at(j) * inverse[j] * inverse[j]); });
      c.pipeline(p.s.classes, Depth::two, fetch, named([&](i64 k, auto x, auto dy, auto scale) {
                   const float factor = scale[0];
                   auto dx = p.s.out(c, p.dx_buf, p.dx, line, k);
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
  ChannelPlanes s;
  const float *x, *dy, *inverse;
  float* terms;
  Buf x_buf, dy_buf, inverse_buf, term_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const NormalizeChannelTerms p = *this;
    each_line(c, p.s.classes, [&](i64 k) {
      double sum = 0;
      c.pipeline(
          p.s.lines(), Depth::two,
          [&](i64 line) {
            return gather(p.s.get(c, p.x_buf, p.x, line, k), p.s.get(c, p.dy_buf, p.dy, line, k),
                          p.s.get_positions(c, p.inverse_buf, p.inverse, line));
          },
          named([&](i64, auto x, auto dy, auto inverse) {
            sum += sum_of(c, x.n, [&](i64 j) { return x[j] * dy[j] * inverse[j]; });
          }));
      put_values(c, p.term_buf, p.terms + k, static_cast<float>(sum));
    });
  }
};

/// inverse = 1 / sqrt(eps + sum of x^2) of each row, y = x inverse scale[column].
struct NormalizeRows {
  static constexpr const char* label = "normalize_rows";
  RowLines s;
  SharedOrEach scale;
  const float* x;
  float *inverse, *y;
  float eps;
  Buf x_buf, inverse_buf, y_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const NormalizeRows p = *this;
    each_line(c, p.s.rows, [&](i64 r) {
      double squares = 0;
      c.pipeline(
          p.s.blocks(), Depth::two, [&](i64 b) { return p.s.get(c, p.x_buf, p.x, p.s.line(r, b)); },
          [&](i64, auto& x) { squares += sum_of(c, x.n, [&](i64 j) { return x[j] * x[j]; }); });
      const float inverse = 1.0f / math::sqrt(static_cast<float>(squares) + p.eps);
      c.pipeline(
          p.s.blocks(), Depth::two,
          [&](i64 b) {
            const i64 line = p.s.line(r, b);
            return gather(p.s.get(c, p.x_buf, p.x, line), p.scale.get(c, p.s.first(line), p.s.count(line)));
          },
          named([&](i64 b, auto x, auto scale) {
            auto y = p.s.out(c, p.y_buf, p.y, p.s.line(r, b));
            c.each(x.n, [&](i64 j) { y.set(j, x[j] * inverse * scale[p.scale.at(j)]); });
            c.put(y);
          }));
      put_values(c, p.inverse_buf, p.inverse + r, inverse);
    });
  }
};

/// dx = (g - x inverse^2 sum of x g) inverse of each row, where g = dy scale[column].
struct NormalizeRowsBackward {
  static constexpr const char* label = "normalize_rows_backward";
  RowLines s;
  SharedOrEach scale;
  const float *x, *dy, *inverse;
  float* dx;
  Buf x_buf, dy_buf, inverse_buf, dx_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const NormalizeRowsBackward p = *this;
    const auto fetch_inverse = [&](i64 r) { return c.get(p.inverse_buf, p.inverse + r, 1); };
    c.lines(p.s.rows, Depth::one, fetch_inverse, [&](i64 r, auto& inverses) {
      const auto fetch = [&](i64 b) {
        const i64 line = p.s.line(r, b);
        return gather(p.s.get(c, p.x_buf, p.x, line), p.s.get(c, p.dy_buf, p.dy, line),
                      p.scale.get(c, p.s.first(line), p.s.count(line)));
      };
      double dot = 0;
      c.pipeline(p.s.blocks(), Depth::two, fetch, named([&](i64, auto x, auto dy, auto scale) {
                   dot += sum_of(c, x.n, [&](i64 j) { return x[j] * dy[j] * scale[p.scale.at(j)]; });
                 }));
      const float inverse = inverses[0], along = static_cast<float>(dot) * inverse * inverse;
      c.pipeline(p.s.blocks(), Depth::two, fetch, named([&](i64 b, auto x, auto dy, auto scale) {
                   auto dx = p.s.out(c, p.dx_buf, p.dx, p.s.line(r, b));
                   c.each(x.n, [&](i64 j) { dx.set(j, (dy[j] * scale[p.scale.at(j)] - x[j] * along) * inverse); });
                   c.put(dx);
                 }));
    });
  }
};

/// terms[column] = the sum over rows of x dy inverse[row].
struct NormalizeColumnTerms {
  static constexpr const char* label = "normalize_column_terms";
  RowLines s;
  const float *x, *dy, *inverse;
  float* terms;
  Buf x_buf, dy_buf, inverse_buf, term_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const NormalizeColumnTerms p = *this;
    each_line(c, p.s.blocks(), [&](i64 b) {
      auto terms = c.out(p.term_buf, p.terms + p.s.first(b), p.s.count(b));
      c.each(terms.n, [&](i64 j) { terms.set(j, 0.0f); });
      c.pipeline(
          p.s.rows, Depth::two,
          [&](i64 r) {
            const i64 line = p.s.line(r, b);
            return gather(p.s.get(c, p.x_buf, p.x, line), p.s.get(c, p.dy_buf, p.dy, line),
                          c.get(p.inverse_buf, p.inverse + r, 1));
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
