#include "layers/convolution/winograd/phases.h"

#include <algorithm>

#include "layers/convolution/planning.h"

namespace cortado {
namespace {

template <class T>
Planned<PhasesOfImages<T>> plan_images(const MachineSpec& spec, const ConvolutionShape& s, i64 images,
                                       std::string& refused) {
  PhasesOfImages<T> p{s.sizes(images), phases_of(s), 1, nullptr, nullptr, {}, {}};
  const i64 row = p.columns() * channel_block(s.src) * s.sh;
  p.band = std::clamp<i64>(spec.scratch_bytes / 4 / (4 * row), 1, p.phases.height);
  shrink(p.band, p.phases.height, [&] { return !spec.is_spread(p.lines()); });
  PlanBuilder book(spec);
  p.x_buf = book.tile<T>("inputs", p.band * row, 1);
  p.to_buf = book.line<float>("phases", p.band * p.phases.width, 1);
  return planned(p, book, p.lines(), refused);
}

template <bool gradients>
Planned<PhasesOfWeights<gradients>> plan_weights(const MachineSpec& spec, const ConvolutionShape& s,
                                                 std::string& refused) {
  PhasesOfWeights<gradients> p{s.oc, s.group_ic(), s.kh, s.kw, phases_of(s), nullptr, nullptr, {}, {}};
  PlanBuilder book(spec);
  p.from_buf = book.line<float>("from", gradients ? p.phase_weights() : p.weights(), 1);
  p.to_buf = book.line<float>("to", gradients ? p.weights() : p.phase_weights(), 1);
  return planned(p, book, p.outputs, refused);
}

}  // namespace

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

MakePhases plan_phases(const MachineSpec& spec, const ConvolutionShape& s, i64 images, std::string& refused) {
  MakePhases make;
  with_element(s.precision, [&](auto element) {
    using T = decltype(element);
    make = [phases = plan_images<T>(spec, s, images, refused)](CoreGroup& group, const void* x, void* to) {
      launch(group, phases, [&](auto& p) { p.x = static_cast<const T*>(x), p.to = static_cast<T*>(to); });
    };
  });
  return make;
}

PhasesOfWeightsPlan plan_phases_of_weights(const MachineSpec& spec, const ConvolutionShape& s, std::string& refused) {
  return {plan_weights<false>(spec, s, refused), plan_weights<true>(spec, s, refused)};
}
void PhasesOfWeightsPlan::to_phases(CoreGroup& group, const float* weights, float* to) const {
  launch(group, there, [&](auto& p) { p.from = weights, p.to = to; });
}
void PhasesOfWeightsPlan::add_from_phases(CoreGroup& group, const float* gradients, float* dw) const {
  launch(group, back, [&](auto& p) { p.from = gradients, p.to = dw; });
}

}  // namespace cortado
