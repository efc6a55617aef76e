#include "layers/channels/channels.h"

namespace cortado {

template <class T>
void Channels::affine(CoreGroup& group, const T* x, const float* shift, const float* scale, const float* bias, T* y,
                      const Rectify& rectify) const {
  with_lines(group.spec(), 6, [&](auto lines) {
    constexpr i64 block = decltype(lines)::block;
    PlanBuilder book(group.spec());
    const float* const any = scale != nullptr ? scale : bias != nullptr ? bias : shift;
    const auto operand = [&](const char* name, const float* values, float otherwise) {
      return ChannelOperand{values != nullptr ? values : any, values != nullptr, otherwise,
                            book.line<float>(name, block, Depth::two)};
    };
    ChannelAffine<block, T> p{lines, x, {}, {}, {}, rectify, y, {}, {}};
    p.x_buf = book.line<T>("x", lines.values(), Depth::two);
    p.shift = operand("shift", shift, 0);
    p.scale = operand("scale", scale, 1);
    p.bias = operand("bias", bias, 0);
    p.y_buf = book.line<T>("y", lines.values(), 1);
    group.launch(p, book.plan(lines.lines()));
  });
}

template <class T>
void Channels::gradients(CoreGroup& group, const Room& room, const T* x, const T* dy, bool adds, float* plain,
                         float* product) const {
  with_lines(group.spec(), 6, [&](auto lines) {
    constexpr i64 block = decltype(lines)::block;
    using Program = ChannelGradients<block, T>;
    Program p{lines, x, dy, plain, product, adds, {}, {}, {}, {}, {}};
    PlanBuilder book(group.spec());
    p.x_buf = book.line<T>("x", lines.values(), Depth::two);
    p.dy_buf = book.line<T>("dy", lines.values(), Depth::two);
    p.plain_buf = book.line<float>("sum of dy", block, 1);
    p.product_buf = book.line<float>("sum of dy x", block, 1);
    launch_sums(group, lines, room, p, book, &Program::plain, &Program::product);
  });
}

template <class T>
void Channels::sum(CoreGroup& group, const Room& room, const T* dy, float* plain) const {
  if (layout == Layout::nchw && inner == 1) return sum_columns(group, dy, outer, channels, plain);
  with_lines(group.spec(), 3, [&](auto lines) { sum_channels<PlainTerms>(group, lines, room, plain, dy); });
}

template <class T>
void Channels::rectify(CoreGroup& group, const Room& room, const T* y, float slope, T* dy, float* plain) const {
  with_lines(group.spec(), 4, [&](auto lines) {
    constexpr i64 block = decltype(lines)::block;
    using Program = RectifyChannels<block, T>;
    Program p{lines, y, dy, plain, slope, true, {}, {}, {}, {}, {}};
    PlanBuilder book(group.spec());
    p.y_buf = book.line<T>("y", lines.values(), Depth::two);
    p.dy_buf = book.line<T>("dy", lines.values(), Depth::two);
    p.rectified_buf = book.line<T>("rectified dy", lines.values(), 1);
    p.sums_buf = book.line<float>("sums", block, 1);
    launch_sums(group, lines, room, p, book, &Program::sums);
  });
}

template void Channels::affine(CoreGroup&, const float*, const float*, const float*, const float*, float*,
                               const Rectify&) const;
template void Channels::affine(CoreGroup&, const bf16*, const float*, const float*, const float*, bf16*,
                               const Rectify&) const;
template void Channels::sum(CoreGroup&, const Room&, const float*, float*) const;
template void Channels::sum(CoreGroup&, const Room&, const bf16*, float*) const;
template void Channels::rectify(CoreGroup&, const Room&, const float*, float, float*, float*) const;
template void Channels::rectify(CoreGroup&, const Room&, const bf16*, float, bf16*, float*) const;
template void Channels::gradients(CoreGroup&, const Room&, const float*, const float*, bool, float*, float*) const;
template void Channels::gradients(CoreGroup&, const Room&, const bf16*, const bf16*, bool, float*, float*) const;

}  // namespace cortado
