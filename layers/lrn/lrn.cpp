#include "layers/lrn/lrn.h"

#include <algorithm>

#include "core/formats/caffe.pb.h"
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

/// Blocks such that `arrays` of them fit a scratchpad.
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
  const i64 floats = group().spec().scratch_bytes / 4 / arrays - 32;  // bookings are rounded up
  if (across)
    s.block = std::clamp<i64>(floats / s.channels, 1, std::max<i64>(1, std::min<i64>(s.plane(), 256)));
  else
    s.block = std::clamp<i64>(floats / s.width - 2 * s.reach, 1, s.height);
  return s;
}

void LrnLayer::forward(const Blobs& bottom, const Blobs& top) {
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
void LrnLayer::run_backward(const Blob& top, Blob& bottom) {
  constexpr bool in_place = LrnBackward<T>::in_place;
  const i64 n = bottom.count();
  float* const terms = workspace(in_place ? n : 2 * n);
  LrnBackward<T> p{
      cut(bottom, in_place ? 7 : 8), bottom.data<T>(), terms, nullptr, bottom.mutable_diff<T>(), {}, {}, {}, {}, {}};
  if constexpr (in_place)
    p.sums = p.dx;
  else
    p.sums = terms + n;
  launch_terms<T>(bottom, top, terms, p.sums);
  PlanBuilder book(group().spec());
  p.terms_buf = book.line("terms", 4 * p.s.read(), Depth::two);
  p.x_buf = book.line("x", 4 * p.s.owned(), Depth::two);
  p.direct_buf = book.line("direct", 4 * p.s.owned(), Depth::two);
  p.sums_buf = book.line("sums", 4 * p.s.owned(), 1);
  if (!in_place) p.dx_buf = book.line("dx", 4 * p.s.owned(), 1);
  group().launch(p, book.plan(p.s.lines()));
}

template <class T>
void LrnLayer::launch_terms(const Blob& bottom, const Blob& top, float* terms, float* direct) {
  LrnTerms<T> p{};
  p.x = bottom.data<T>();
  p.scale = scale_->data();
  p.dy = top.diff<T>();
  p.terms = terms;
  p.direct = direct;
  p.beta = parameter().lrn_param().beta();
  p.n = bottom.count();
  p.block = line_elements(group().spec(), p.n, 8);
  PlanBuilder book(group().spec());
  p.x_buf = book.line("x", p.block * 4, Depth::two);
  p.scale_buf = book.line("scale", p.block * 4, Depth::two);
  p.dy_buf = book.line("dy", p.block * 4, Depth::two);
  p.terms_buf = book.line("terms", p.block * 4, 1);
  p.direct_buf = book.line("direct", p.block * 4, 1);
  group().launch(p, book.plan((p.n + p.block - 1) / p.block));
}

Layer::Cost LrnLayer::cost(const Blobs& bottom, const Blobs&) const {
  const double n = static_cast<double>(bottom[0]->count()),
               size = static_cast<double>(parameter().lrn_param().local_size());
  return {n * (2 * size + 40), n * (size + 45), 12 * n, 36 * n};
}

}  // namespace cortado
