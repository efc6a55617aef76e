#include "layers/channels/channels.h"

#include "layers/channels/programs.h"

namespace cortado {
namespace {
ChannelRows rows_of(const Channels& s, const MachineSpec& spec) {
  return {s.outer, s.channels, s.inner, line_elements(spec, s.inner, 6)};
}
}  // namespace

void Channels::affine(CoreGroup& group, const float* x, const float* shift, const float* scale, const float* bias,
                      float* y) const {
  ChannelAffine p{rows_of(*this, group.spec()), x, shift, scale, bias, y, {}, {}, {}, {}, {}};
  PlanBuilder book(group.spec());
  p.x_buf = book.line("x", p.s.block * 4, Depth::two);
  p.shift_buf = book.line("shift", 4, Depth::two);
  p.scale_buf = book.line("scale", 4, Depth::two);
  p.bias_buf = book.line("bias", 4, Depth::two);
  p.y_buf = book.line("y", p.s.block * 4, 1);
  group.launch(p, book.plan(p.s.lines()));
}

void Channels::moments(CoreGroup& group, const float* x, float* mean, float* variance) const {
  ChannelMoments p{rows_of(*this, group.spec()), x, mean, variance, {}, {}, {}};
  PlanBuilder book(group.spec());
  p.x_buf = book.line("x", p.s.block * 4, Depth::two);
  p.mean_buf = book.line("mean", 4, 1);
  p.variance_buf = book.line("variance", 4, 1);
  group.launch(p, book.plan(channels));
}

void Channels::gradients(CoreGroup& group, const float* x, const float* dy, bool adds, float* plain,
                         float* product) const {
  ChannelGradients p{rows_of(*this, group.spec()), x, dy, plain, product, adds, {}, {}, {}, {}};
  PlanBuilder book(group.spec());
  p.x_buf = book.line("x", p.s.block * 4, Depth::two);
  p.dy_buf = book.line("dy", p.s.block * 4, Depth::two);
  p.plain_buf = book.line("sum of dy", 4, 1);
  p.product_buf = book.line("sum of dy x", 4, 1);
  group.launch(p, book.plan(channels));
}

void Channels::normalise_backward(CoreGroup& group, const float* y, const float* dy, const float* sum_dy,
                                  const float* sum_dy_y, double values, const float* inverse, float* dx) const {
  NormaliseBackward p{rows_of(*this, group.spec()),   y,  dy, sum_dy, sum_dy_y, inverse, dx,
                      static_cast<float>(1 / values), {}, {}, {},     {},       {},      {}};
  PlanBuilder book(group.spec());
  p.y_buf = book.line("y", p.s.block * 4, Depth::two);
  p.dy_buf = book.line("dy", p.s.block * 4, Depth::two);
  p.a_buf = book.line("sum of dy", 4, Depth::two);
  p.b_buf = book.line("sum of dy y", 4, Depth::two);
  p.c_buf = book.line("inverse", 4, Depth::two);
  p.dx_buf = book.line("dx", p.s.block * 4, 1);
  group.launch(p, book.plan(p.s.lines()));
}

}  // namespace cortado
