#include "layers/channels/channels.h"

namespace cortado {

ChannelRows Channels::rows(const MachineSpec& spec) const {
  return {outer, channels, inner, line_elements(spec, inner, 6)};
}

template <class T>
void Channels::affine(CoreGroup& group, const T* x, const float* shift, const float* scale, const float* bias,
                      T* y) const {
  ChannelAffine<T> p{rows(group.spec()), x, shift, scale, bias, y, {}, {}, {}, {}, {}};
  PlanBuilder book(group.spec());
  p.x_buf = book.line("x", p.s.block * 4, Depth::two);
  p.shift_buf = book.line("shift", 4, Depth::two);
  p.scale_buf = book.line("scale", 4, Depth::two);
  p.bias_buf = book.line("bias", 4, Depth::two);
  p.y_buf = book.line("y", p.s.block * 4, 1);
  group.launch(p, book.plan(p.s.lines()));
}

template <class T>
void Channels::gradients(CoreGroup& group, const T* x, const T* dy, bool adds, float* plain, float* product) const {
  ChannelGradients<T> p{rows(group.spec()), x, dy, plain, product, adds, {}, {}, {}, {}};
  PlanBuilder book(group.spec());
  p.x_buf = book.line("x", p.s.block * 4, Depth::two);
  p.dy_buf = book.line("dy", p.s.block * 4, Depth::two);
  p.plain_buf = book.line("sum of dy", 4, 1);
  p.product_buf = book.line("sum of dy x", 4, 1);
  group.launch(p, book.plan(channels));
}

template void Channels::affine(CoreGroup&, const float*, const float*, const float*, const float*, float*) const;
template void Channels::affine(CoreGroup&, const bf16*, const float*, const float*, const float*, bf16*) const;
template void Channels::gradients(CoreGroup&, const float*, const float*, bool, float*, float*) const;
template void Channels::gradients(CoreGroup&, const bf16*, const bf16*, bool, float*, float*) const;

}  // namespace cortado
