#pragma once
#include "core/machine/integers.h"
#include "core/machine/math.h"
#include "core/machine/program.h"
#include "core/machine/sums.h"
#include "layers/convolution/set_or_add.h"
#include "layers/convolution/sizes.h"

namespace cortado {

/// Weights of direct plans, as operands: floats, or pairs of bf16 that are neighbours among the terms. Terms are input
/// channels (or pairs of them), outputs output channels; for the input gradient the other way round.
///
///   [group][slice of terms][panel of outputs]            a piece, which one step multiplies, whole vectors long
///     forward:          [unit of terms][kernel position][term][lane]
///     weight gradient:  [term][kernel position][lane]
///
/// Lanes beyond the last channel are zero.
struct PackedWeights {
  i64 g, outputs, terms, taps;  ///< per group
  i64 panel, slice;             ///< outputs of a panel, terms of a slice
  i64 unit;                     ///< terms of a slice that follow each other: all, or those next to each other in blocks

  CORTADO_FN i64 panels() const { return ceil_div(outputs, panel); }
  CORTADO_FN i64 slices() const { return ceil_div(terms, slice); }
  CORTADO_FN i64 piece() const { return taps * slice * panel; }
  CORTADO_FN i64 pieces() const { return g * slices() * panels(); }
  CORTADO_FN i64 floats() const { return pieces() * piece(); }
  /// The begin of a panel's piece.
  CORTADO_FN i64 place(i64 group, i64 slice_index, i64 panel_index) const {
    return ((group * slices() + slice_index) * panels() + panel_index) * piece();
  }

  /// The origin of piece `i`, in order of memory: its group, its first term and its first output.
  struct Place {
    i64 group, term, output;
  };
  CORTADO_FN Place place_of(i64 i) const {
    return {i / panels() / slices(), i / panels() % slices() * slice, i % panels() * panel};
  }
};

/// Weights (oc x ic/g x kh x kw) to PackedWeights for activations of T. A line is one panel of one slice, whose weights
/// come turned: a row for each channel and kernel position, a column for each output.
template <class T>
struct PackWeights {
  static constexpr const char* label = "pack_weights";
  static constexpr i64 together = OperandOf<T>::terms;  ///< channels in a term
  const float* w;
  Operand<T>* to;
  PackedWeights packed;
  i64 channels;                     ///< of a group
  i64 output_pitch, channel_pitch;  ///< in w
  i64 group_pitch, kw, kernel;      ///< weights of a group; columns and size of a whole kernel
  KernelPart y, x;
  Buf from_buf, to_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const PackWeights p = *this;
    const i64 slice = p.packed.slice, panel = p.packed.panel;
    const auto fetch = [&](i64 line) {
      const auto from = p.packed.place_of(line);
      Box<float> box;
      box.base = p.w + from.group * p.group_pitch;
      const i64 extent[4] = {1, p.channels, p.kernel, p.packed.outputs},
                pitch[4] = {0, p.channel_pitch, 1, p.output_pitch};
      const i64 origin[4] = {0, from.term * together, 0, from.output}, size[4] = {1, slice * together, p.kernel, panel};
      box.set(extent, pitch, origin, size);
      return c.stage(p.from_buf, box);
    };
    c.lines(p.packed.pieces(), Depth::one, fetch, [&](i64 line, auto& in) {
      const i64 taps = p.packed.taps, unit = p.packed.unit;
      Operand<T>* const to = p.to + line * p.packed.piece();
      for (i64 i = 0; i < taps * slice / unit; ++i) {
        const i64 t = i % taps, term = i / taps * unit;
        const i64 tap = p.y.position(t / p.x.count) * p.kw + p.x.position(t % p.x.count);
        auto q = c.out_streamed(p.to_buf, to + i * unit * panel, unit, panel, panel);
        c.each2d(unit, panel,
                 [&](i64 r, i64 j) { q.set(r, j, p.operand(in, (term + r) * together * p.kernel + tap, j)); });
        c.put(q);
      }
    });
  }

 private:
  /// Element (r, j) of the staged weights, with that of the next channel in a pair.
  template <class In>
  CORTADO_FN auto operand(const In& in, i64 r, i64 j) const {
    if constexpr (together == 1)
      return in(r, j);
    else
      return bf16x2{in(r, j), in(r + kernel, j)};
  }
};

/// dw (oc x ic/g x kh x kw) += the sum of `parts` arrays of PackedWeights. A line is one panel of one slice; each part
/// of it comes turned.
struct UnpackWeights {
  static constexpr const char* label = "unpack_weights";
  const float* from;
  float* dw;
  PackedWeights packed;
  i64 parts;
  bool sets;  ///< dw is their sum; else it is added to
  Buf from_buf;
  SetOrAdd to;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const UnpackWeights p = *this;
    const i64 taps = p.packed.taps;
    each_line(c, p.packed.pieces(), [&](i64 line) {
      const auto at = p.packed.place_of(line);
      const i64 rows = math::min(p.packed.panel, p.packed.outputs - at.output),
                cols = math::min(p.packed.slice, p.packed.terms - at.term) * taps,
                first = at.group * p.packed.outputs + at.output;
      c.pipeline(
          p.parts, Depth::two,
          [&](i64 part) {
            Box<float> box = Box<float>::matrix(p.from + part * p.packed.floats() + line * p.packed.piece(),
                                                p.packed.panel, cols, 1, 0, 0, p.packed.panel, cols);
            box.pitch[3] = p.packed.panel;
            return c.stage(p.from_buf, box);
          },
          [&](i64 part, auto& in) {
            for (i64 r = 0; r < rows; ++r)
              p.to.leave(c, p.sets && part == 0, p.dw + ((first + r) * p.packed.terms + at.term) * taps, cols,
                         [&](i64 i) { return in(r, i); });
          });
    });
  }
};

}  // namespace cortado
