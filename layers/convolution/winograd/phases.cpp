#include "layers/convolution/winograd/phases.h"

#include <algorithm>

namespace cortado {

Phases phases_of(const ConvolutionShape& s) {
  const i64 taps_h = ceil_div(s.kh, s.sh), taps_w = ceil_div(s.kw, s.sw);
  return {s.sh, s.sw, s.oh + taps_h - 1, s.ow + taps_w - 1, taps_h, taps_w};
}

ConvolutionShape shape_of_phases(const ConvolutionShape& strided) {
  ConvolutionShape s = strided;
  const Phases phases = phases_of(strided);
  s.ic *= phases.count(), s.ih = phases.height, s.iw = phases.width, s.src = Layout::nchw;
  s.kh = phases.taps_h, s.kw = phases.taps_w, s.sh = s.sw = 1, s.ph = s.pw = 0;
  return s;
}

template <class T>
void make_phases(CoreGroup& group, const ConvolutionShape& s, i64 images, const T* x, T* to) {
  PhasesOfImages<T> p{s.sizes(images), phases_of(s), 1, x, to, {}, {}};
  const i64 row = 4 * p.columns() * channel_block(s.src) * s.sh;
  p.band = std::clamp<i64>(group.spec().scratch_bytes / 4 / row, 1, p.phases.height);
  PlanBuilder book(group.spec());
  p.x_buf = book.tile("inputs", p.band * row, 1);
  p.to_buf = book.line("phases", 4 * p.band * p.phases.width, 1);
  group.launch(p, book.plan(p.lines()));
}
template void make_phases(CoreGroup&, const ConvolutionShape&, i64, const float*, float*);
template void make_phases(CoreGroup&, const ConvolutionShape&, i64, const bf16*, bf16*);

namespace {
template <bool gradients>
void move_weights(CoreGroup& group, const ConvolutionShape& s, const float* from, float* to) {
  PhasesOfWeights<gradients> p{s.oc, s.group_ic(), s.kh, s.kw, phases_of(s), from, to, {}, {}};
  PlanBuilder book(group.spec());
  p.from_buf = book.line("from", 4 * (gradients ? p.phase_weights() : p.weights()), 1);
  p.to_buf = book.line("to", 4 * (gradients ? p.weights() : p.phase_weights()), 1);
  group.launch(p, book.plan(p.outputs));
}
}  // namespace

void weights_to_phases(CoreGroup& group, const ConvolutionShape& s, const float* weights, float* to) {
  move_weights<false>(group, s, weights, to);
}
void add_from_phases(CoreGroup& group, const ConvolutionShape& s, const float* gradients, float* dw) {
  move_weights<true>(group, s, gradients, dw);
}

}  // namespace cortado
