#pragma once
#include "core/machine/integers.h"
#include "core/machine/math.h"
#include "core/machine/program.h"
#include "layers/convolution/sizes.h"

namespace cortado {

/// A strided convolution is one at stride 1 of the *phases* of its inputs: of every `sh`-th row and `sw`-th column from
/// each of the first on. Channel c of the inputs, with its padding, becomes sh x sw planes, (c sh + row) sw + column,
/// of `height` x `width`; kernels are divided likewise, where zeros fill up their phases to taps_h x taps_w.
struct Phases {
  i64 sh, sw, height, width, taps_h, taps_w;
  CORTADO_FN i64 count() const { return sh * sw; }
};

/// Images x ic x ih x iw, or blocks of channels, to planes of phases. A line is a band of rows of the phases of a
/// channel of an image.
template <class T>
struct PhasesOfImages {
  static constexpr const char* label = "phases_of_images";
  ConvolutionSizes s;
  Phases phases;
  i64 band;  ///< rows
  const T* x;
  T* to;
  Buf x_buf, to_buf;

  CORTADO_FN i64 bands() const { return ceil_div(phases.height, band); }
  CORTADO_FN i64 lines() const { return s.images * s.ic * bands(); }
  /// Columns of inputs that phases see.
  CORTADO_FN i64 columns() const { return phases.width * s.sw; }

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const PhasesOfImages p = *this;
    const auto fetch = [&](i64 line) { return p.inputs(c, line); };
    c.lines(p.lines(), Depth::one, fetch, [&](i64 line, auto& in) {
      const i64 first = line % p.bands() * p.band, rows = math::min(p.band, p.phases.height - first);
      const i64 pixel = channel_block(p.s.src), channel = line / p.bands() % p.s.ic % pixel,
                plane = p.phases.height * p.phases.width;
      for (i64 phase = 0; phase < p.phases.count(); ++phase) {
        const i64 y = phase / p.s.sw, x = phase % p.s.sw * pixel + channel, sh = p.s.sh, step = p.s.sw * pixel;
        auto q =
            c.out2d(p.to_buf, p.to + (line / p.bands() * p.phases.count() + phase) * plane + first * p.phases.width,
                    rows, p.phases.width, p.phases.width);
        c.each2d(rows, p.phases.width, [&](i64 r, i64 j) { q.set(r, j, in(r * sh + y, j * step + x)); });
        c.put(q);
      }
    });
  }

 private:
  /// The rows under a band; zero where they are padding.
  template <class C>
  CORTADO_FN auto inputs(C& c, i64 line) const {
    const i64 pixel = channel_block(s.src), plane = s.ih * s.iw, first = line % bands() * band,
              channel = line / bands() % s.ic;
    Box<T> box;
    box.base = x;
    const i64 extent[4] = {s.images, s.ic / pixel, s.ih, s.iw * pixel},
              pitch[4] = {s.ic * plane, plane * pixel, s.iw * pixel, 1};
    const i64 origin[4] = {line / bands() / s.ic, channel / pixel, first * s.sh - s.ph, -s.pw * pixel},
              size[4] = {1, 1, band * s.sh, columns() * pixel};
    box.set(extent, pitch, origin, size);
    return c.stage(x_buf, box);
  }
};

/// Weights (oc x channels x kh x kw) to those of phases (oc x channels sh sw x taps_h x taps_w), or gradients of those
/// added to gradients of weights. A line is an output.
template <bool gradients>
struct PhasesOfWeights {
  static constexpr const char* label = gradients ? "weights_of_phases" : "phases_of_weights";
  i64 outputs, channels, kh, kw;
  Phases phases;
  const float* from;
  float* to;
  Buf from_buf, to_buf;

  CORTADO_FN i64 weights() const { return channels * kh * kw; }
  CORTADO_FN i64 phase_weights() const { return channels * phases.count() * phases.taps_h * phases.taps_w; }

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const PhasesOfWeights p = *this;
    const i64 in = gradients ? p.phase_weights() : p.weights(), out = gradients ? p.weights() : p.phase_weights();
    const auto fetch = [&](i64 line) { return c.get(p.from_buf, p.from + line * in, in); };
    c.lines(p.outputs, Depth::one, fetch, [&](i64 line, auto& w) {
      auto q = p.output(c, line * out, out);
      for (i64 channel = 0; channel < p.channels; ++channel)
        for (i64 phase = 0; phase < p.phases.count(); ++phase) p.move(c, channel, phase, w, q);
      c.put(q);
    });
  }

 private:
  template <class C>
  CORTADO_FN auto output(C& c, i64 at, i64 n) const {
    if constexpr (gradients)
      return c.update(to_buf, to + at, n);
    else
      return c.out(to_buf, to + at, n);
  }

  template <class C, class In, class Out>
  CORTADO_FN void move(C& c, i64 channel, i64 phase, const In& w, Out& q) const {
    const PhasesOfWeights p = *this;
    const i64 row = phase / p.phases.sw, col = phase % p.phases.sw;
    c.once([&] {
      for (i64 i = 0; i < p.phases.taps_h; ++i)
        for (i64 j = 0; j < p.phases.taps_w; ++j) {
          const i64 y = i * p.phases.sh + row, x = j * p.phases.sw + col,
                    at = ((channel * p.phases.count() + phase) * p.phases.taps_h + i) * p.phases.taps_w + j,
                    weight = (channel * p.kh + y) * p.kw + x;
          const bool is_inside = y < p.kh && x < p.kw;
          if constexpr (gradients) {
            if (is_inside) q.set(weight, q.at(weight) + w[at]);
          } else {
            if (is_inside)
              q.set(at, w[weight]);
            else
              q.set(at, 0.0f);
          }
        }
    });
  }
};

}  // namespace cortado
