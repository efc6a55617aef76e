#include "layers/channels/channels.h"

#include <algorithm>

#include "layers/gemm/gemm.h"

namespace cortado {

ChannelRows Channels::rows(const MachineSpec& spec) const {
  return {outer, channels, inner, line_elements(spec, inner, 6)};
}

/// Pieces short enough to be added up in float, and to give every CPE some.
BlockRows Channels::blocks(const MachineSpec& spec) const {
  constexpr i64 most = 1024;
  const i64 pixels = line_elements(spec, inner * block_channels, 6) / block_channels;
  return {outer, channels / block_channels, inner, std::clamp<i64>(pixels, 1, most)};
}

template <class T>
void Channels::affine(CoreGroup& group, const T* x, const float* shift, const float* scale, const float* bias, T* y,
                      float slope) const {
  PlanBuilder book(group.spec());
  if (layout == Layout::nchw16c) {
    BlockAffine<T> p{blocks(group.spec()), x, shift, scale, bias, slope, y, {}, {}, {}, {}, {}};
    p.x_buf = book.line("x", p.s.piece * block_channels * 4, Depth::two);
    p.shift_buf = book.line("shift", block_channels * 4, Depth::two);
    p.scale_buf = book.line("scale", block_channels * 4, Depth::two);
    p.bias_buf = book.line("bias", block_channels * 4, Depth::two);
    p.y_buf = book.line("y", p.s.piece * block_channels * 4, 1);
    return group.launch(p, book.plan(p.s.lines()));
  }
  ChannelAffine<T> p{rows(group.spec()), x, shift, scale, bias, slope, y, {}, {}, {}, {}, {}};
  p.x_buf = book.line("x", p.s.block * 4, Depth::two);
  p.shift_buf = book.line("shift", 4, Depth::two);
  p.scale_buf = book.line("scale", 4, Depth::two);
  p.bias_buf = book.line("bias", 4, Depth::two);
  p.y_buf = book.line("y", p.s.block * 4, 1);
  group.launch(p, book.plan(p.s.lines()));
}

template <class T>
void Channels::gradients(CoreGroup& group, const T* x, const T* dy, bool adds, float* plain, float* product) const {
  PlanBuilder book(group.spec());
  if (layout == Layout::nchw16c) {
    BlockGradients<T> p{blocks(group.spec()), x, dy, plain, product, adds, {}, {}, {}, {}};
    p.x_buf = book.line("x", p.s.piece * block_channels * 4, Depth::two);
    p.dy_buf = book.line("dy", p.s.piece * block_channels * 4, Depth::two);
    p.plain_buf = book.line("sum of dy", block_channels * 4, 1);
    p.product_buf = book.line("sum of dy x", block_channels * 4, 1);
    return group.launch(p, book.plan(p.s.groups));
  }
  ChannelGradients<T> p{rows(group.spec()), x, dy, plain, product, adds, {}, {}, {}, {}};
  p.x_buf = book.line("x", p.s.block * 4, Depth::two);
  p.dy_buf = book.line("dy", p.s.block * 4, Depth::two);
  p.plain_buf = book.line("sum of dy", 4, 1);
  p.product_buf = book.line("sum of dy x", 4, 1);
  group.launch(p, book.plan(channels));
}

template <class T>
void Channels::sum(CoreGroup& group, const T* dy, float* plain) const {
  if (layout == Layout::nchw) return sum_to_bias(group, dy, outer, channels, inner, plain);
  BlockSums<T> p{blocks(group.spec()), dy, plain, {}, {}};
  PlanBuilder book(group.spec());
  p.dy_buf = book.line("dy", p.s.piece * block_channels * 4, Depth::two);
  p.sums_buf = book.line("sums", block_channels * 4, 1);
  group.launch(p, book.plan(p.s.groups));
}

template <class T>
void Channels::rectify(CoreGroup& group, const T* y, float slope, T* dy, float* plain) const {
  if (layout == Layout::nchw) return rectify_and_sum(group, y, dy, outer, channels, inner, slope, plain);
  BlockRectify<T> p{blocks(group.spec()), y, dy, plain, slope, {}, {}, {}, {}};
  PlanBuilder book(group.spec());
  p.y_buf = book.line("y", p.s.piece * block_channels * 4, Depth::two);
  p.dy_buf = book.line("dy", p.s.piece * block_channels * 4, Depth::two);
  p.rectified_buf = book.line("rectified dy", p.s.piece * block_channels * 4, 1);
  p.sums_buf = book.line("sums", block_channels * 4, 1);
  group.launch(p, book.plan(p.s.groups));
}

template void Channels::affine(CoreGroup&, const float*, const float*, const float*, const float*, float*, float) const;
template void Channels::affine(CoreGroup&, const bf16*, const float*, const float*, const float*, bf16*, float) const;
template void Channels::sum(CoreGroup&, const float*, float*) const;
template void Channels::sum(CoreGroup&, const bf16*, float*) const;
template void Channels::rectify(CoreGroup&, const float*, float, float*, float*) const;
template void Channels::rectify(CoreGroup&, const bf16*, float, bf16*, float*) const;
template void Channels::gradients(CoreGroup&, const float*, const float*, bool, float*, float*) const;
template void Channels::gradients(CoreGroup&, const bf16*, const bf16*, bool, float*, float*) const;

}  // namespace cortado
