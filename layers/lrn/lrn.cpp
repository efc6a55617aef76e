#include "layers/lrn/lrn.h"

#include <algorithm>

#include "core/formats/caffe.pb.h"
#include "core/machine/integers.h"
#include "layers/lrn/programs.h"

namespace cortado {

void LrnLayer::setup(const Blobs&, const Blobs&) {
  if (parameter().lrn_param().local_size() % 2 == 0)
    bad_config("local_size must be odd, it is " + std::to_string(parameter().lrn_param().local_size()));
  scale_ = std::make_unique<Blob>(group());
}

void LrnLayer::reshape(const Blobs& bottom, const Blobs& top) {
  if (bottom[0]->axes() != 4) bad_shape("expects N x C x H x W, the bottom has shape " + to_string(bottom[0]->shape()));
  top[0]->reshape_like(*bottom[0]);
  scale_->reshape(bottom[0]->shape());
}

/// Blocks such that `arrays` of them fit a scratchpad, where there is one.
LrnShape LrnLayer::cut(const Blob& bottom, i64 arrays) const {
  const auto& p = parameter().lrn_param();
  const bool across = p.norm_region() == caffe::LRNParameter::ACROSS_CHANNELS;
  const auto n = static_cast<i64>(p.local_size());
  LrnShape s{across,
             bottom.dim(0),
             bottom.dim(1),
             bottom.dim(2),
             bottom.dim(3),
             1,
             (n - 1) / 2,
             p.alpha() / static_cast<float>(across ? n : n * n),
             across ? p.k() : 1,
             p.beta()};
  const MachineSpec& spec = group().spec();
  const i64 floats = spec.scratch_bytes / 4 / arrays - 32;  // bookings are rounded up
  if (bottom.layout() == Layout::nchw16c)
    s.block = std::clamp<i64>(std::min<i64>(floats, 32 * 1024) / s.channels, 1, s.plane());  // rows that a cache holds
  else if (across && spec.works_from_caches() && !spec.lines_in_scratch)
    s.block = even_part(s.plane(), std::min<i64>(s.images * s.plane() / spec.cpes, 4096));  // planes follow each other
  else if (across)
    s.block = std::clamp<i64>(floats / s.channels, 1, std::max<i64>(1, std::min<i64>(s.plane(), 256)));
  else
    s.block = std::clamp<i64>(floats / s.width - 2 * s.reach, 1, s.height);
  return s;
}

bool LrnLayer::keeps_blocks(const Blobs& /*bottom*/) const {
  return parameter().lrn_param().norm_region() == caffe::LRNParameter::ACROSS_CHANNELS;
}

void LrnLayer::forward(const Blobs& bottom, const Blobs& top) {
  if (bottom[0]->layout() == Layout::nchw16c)
    return with_element(bottom[0]->precision(),
                        [&](auto element) { forward_blocks<decltype(element)>(*bottom[0], *top[0]); });
  const LrnShape s = cut(*bottom[0], 4);
  PlanBuilder book(group().spec());
  const Buf x = book.line("x", 4 * s.read(), Depth::two), scale = book.line("scale", 4 * s.owned(), 1);
  const Buf y = book.line("y", 4 * s.owned(), 1);
  with_element(bottom[0]->precision(), [&](auto element) {
    using T = decltype(element);
    group().launch(
        LrnForward<T>{s, bottom[0]->data<T>(), scale_->mutable_data(), top[0]->mutable_data<T>(), x, scale, y},
        book.plan(s.lines()));
  });
}

void LrnLayer::backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) {
  if (propagate_down[0])
    with_element(bottom[0]->precision(), [&](auto element) { run_backward<decltype(element)>(*top[0], *bottom[0]); });
}

template <class T>
void LrnLayer::forward_blocks(const Blob& bottom, Blob& top) {
  LrnBlocksForward<T> p{};
  p.s = cut(bottom, 4);
  p.x = bottom.data<T>(), p.scale = scale_->mutable_data(), p.y = top.mutable_data<T>();
  PlanBuilder book(group().spec());
  p.x_buf = book.tile("x", 4 * p.s.owned(), 1);
  p.scale_buf = book.line("scale", 4 * p.s.owned(), 1);
  p.y_buf = book.tile("y", 4 * block_channels * p.s.block, 1);
  group().launch(p, book.plan(p.s.lines()));
}

template <class T>
void LrnLayer::backward_blocks(const Blob& top, Blob& bottom) {
  LrnBlocksBackward<T> p{};
  p.s = cut(bottom, 9);
  p.x = bottom.data<T>(), p.scale = scale_->data(), p.dy = top.diff<T>(), p.dx = bottom.mutable_diff<T>();
  p.ring = workspace(p.s.lines() * p.s.ring_floats());
  PlanBuilder book(group().spec());
  p.x_buf = book.tile("x", 4 * p.s.owned(), 1);
  p.scale_buf = book.line("scale", 4 * p.s.owned(), 1);
  p.dy_buf = book.tile("dy", 4 * p.s.owned(), 1);
  p.dx_buf = book.tile("dx", 4 * block_channels * p.s.block, 1);
  p.ring_buf = book.line("terms", 4 * p.s.ring_floats(), 1);
  group().launch(p, book.plan(p.s.lines()));
}

template <class T>
void LrnLayer::run_backward(const Blob& top, Blob& bottom) {
  if (bottom.layout() == Layout::nchw16c) return backward_blocks<T>(top, bottom);
  if (cut(bottom, 9).across)
    backward_across<T>(top, bottom);
  else
    backward_within<T>(top, bottom);
}

template <class T>
void LrnLayer::backward_across(const Blob& top, Blob& bottom) {
  LrnBackwardAcross<T> p{};
  p.s = cut(bottom, 9);
  p.x = bottom.data<T>(), p.scale = scale_->data(), p.dy = top.diff<T>(), p.dx = bottom.mutable_diff<T>();
  p.ring = workspace(p.s.lines() * p.s.ring_floats());
  PlanBuilder book(group().spec());
  p.x_buf = book.line("x", 4 * p.s.owned(), Depth::two);
  p.scale_buf = book.line("scale", 4 * p.s.owned(), Depth::two);
  p.dy_buf = book.line("dy", 4 * p.s.owned(), Depth::two);
  p.dx_buf = book.line("dx", 4 * p.s.owned(), 1);
  p.ring_buf = book.line("terms", 4 * p.s.ring_floats(), 1);
  group().launch(p, book.plan(p.s.lines()));
}

template <class T>
void LrnLayer::backward_within(const Blob& top, Blob& bottom) {
  LrnTerms<T> t{};
  t.s = cut(bottom, 10);
  t.n = bottom.count();
  const i64 sums = t.s.lines() * t.s.width;
  t.x = bottom.data<T>(), t.scale = scale_->data(), t.dy = top.diff<T>(), t.terms = workspace(t.n + sums);
  t.block = line_elements(group().spec(), t.n, 7);
  PlanBuilder terms_book(group().spec());
  t.x_buf = terms_book.line("x", t.block * 4, Depth::two);
  t.scale_buf = terms_book.line("scale", t.block * 4, Depth::two);
  t.dy_buf = terms_book.line("dy", t.block * 4, Depth::two);
  t.terms_buf = terms_book.line("terms", t.block * 4, 1);
  group().launch(t, terms_book.plan((t.n + t.block - 1) / t.block));

  LrnBackwardWithin<T> p{t.s, t.x, t.scale, t.terms, t.dy, bottom.mutable_diff<T>(), t.terms + t.n, {},
                         {},  {},  {},      {},      {}};
  PlanBuilder book(group().spec());
  p.x_buf = book.line("x", 4 * p.s.owned(), Depth::two);
  p.scale_buf = book.line("scale", 4 * p.s.owned(), Depth::two);
  p.terms_buf = book.line("terms", 4 * p.s.read(), Depth::two);
  p.dy_buf = book.line("dy", 4 * p.s.owned(), Depth::two);
  p.dx_buf = book.line("dx", 4 * p.s.owned(), 1);
  p.sums_buf = book.line("sums", 4 * p.s.width, 1);
  group().launch(p, book.plan(p.s.lines()));
}

Layer::Cost LrnLayer::cost(const Blobs& bottom, const Blobs&) const {
  const double n = static_cast<double>(bottom[0]->count()),
               size = static_cast<double>(parameter().lrn_param().local_size());
  return {n * (2 * size + 40), n * (size + 45), 12 * n, 36 * n};
}

}  // namespace cortado
