#pragma once
#include "layers/convolution/strassen/quadrants.h"

namespace cortado {

/// The weights' operands of Strassen's products, outputs by terms in quadrants: [panel of a half of the
/// outputs][product][term of a half][lane].
struct StrassenPanels {
  i64 outputs, terms;               ///< all of them
  static constexpr i64 panel = 32;  ///< outputs
  static constexpr i64 line = 64;   ///< terms that are made together, at most

  CORTADO_FN i64 panels() const { return outputs / 2 / panel; }
  CORTADO_FN i64 matrix() const { return terms / 2 * panel; }
  CORTADO_FN i64 floats() const { return panels() * strassen::products * matrix(); }
  CORTADO_FN i64 place(i64 panel_index, i64 product) const {
    return (panel_index * strassen::products + product) * matrix();
  }
};

/// Weights (of a kernel of one pixel) to StrassenPanels. A line is some terms of a panel.
struct StrassenWeights {
  static constexpr const char* label = "strassen_weights";
  const float* w;
  i64 output_pitch, term_pitch;  ///< in w
  float* to;
  StrassenPanels s;
  Buf from_buf[4], to_buf;

  CORTADO_FN i64 chunks() const { return ceil_div(s.terms / 2, s.line); }
  CORTADO_FN i64 lines() const { return s.panels() * chunks(); }

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const StrassenWeights p = *this;
    const auto fetch = [&](i64 line) {
      return gather(p.quadrant(c, line, 0), p.quadrant(c, line, 1), p.quadrant(c, line, 2), p.quadrant(c, line, 3));
    };
    const auto work = named([&](i64 line, auto q0, auto q1, auto q2, auto q3) {
      const auto of = [&](i64 quadrant) {
        return quadrant < 2 ? (quadrant == 0 ? q0 : q1) : (quadrant == 2 ? q2 : q3);
      };
      const i64 first = line % p.chunks() * p.s.line, terms = math::min(p.s.line, p.s.terms / 2 - first),
                panel = p.s.panel;
      for (i64 product = 0; product < strassen::products; ++product) {
        const auto pair = strassen::of_left(product);
        auto q =
            c.out_streamed(p.to_buf, p.to + p.s.place(line / p.chunks(), product) + first * panel, terms, panel, panel);
        const auto a = of(pair.first), b = of(pair.second);
        const float sign = pair.sign;
        if (pair.is_one())
          c.each2d(terms, panel, [&](i64 r, i64 lane) { q.set(r, lane, a(r, lane)); });
        else
          c.each2d(terms, panel, [&](i64 r, i64 lane) { q.set(r, lane, a(r, lane) + sign * b(r, lane)); });
        c.put(q);
      }
    });
    c.lines(p.lines(), Depth::one, fetch, work);
  }

 private:
  template <class C>
  CORTADO_FN auto quadrant(C& c, i64 line, i64 q) const {
    Box<float> box = Box<float>::matrix(
        w, s.terms, s.outputs, term_pitch, q % 2 * (s.terms / 2) + line % chunks() * s.line,
        q / 2 * (s.outputs / 2) + line / chunks() * s.panel, math::min(s.line, s.terms / 2), s.panel);
    box.pitch[3] = output_pitch;
    return c.stage(from_buf[q], box);
  }
};

}  // namespace cortado
