#include <algorithm>

#include "core/formats/caffe.pb.h"
#include "core/machine/integers.h"
#include "core/machine/launch_elementwise.h"
#include "core/net/layer_table.h"
#include "layers/lrn/programs.h"

namespace cortado {
namespace {
/// An array that lies as lines see it, or is turned; rows that are `own` go back.
template <bool blocks, class T>
Buf book_read(PlanBuilder& book, const char* name, i64 values) {
  return blocks ? book.tile<T>(name, values, 1) : book.line<T>(name, values, Depth::two);
}
template <bool blocks, class T>
Buf book_own(PlanBuilder& book, const char* name, const LrnShape& s) {
  return blocks ? book.tile<T>(name, block_channels * s.block, 1) : book.line<T>(name, s.owned(), 1);
}

/// Caffe's LRN. Across channels: y = x / (k + alpha / n * sum of squares over n channels)^beta. Within a channel the
/// window is the n x n pixels around each, with alpha / n^2, and k is 1. n is local_size, odd.
class LrnLayer : public Layer {
 public:
  using Layer::Layer;
  static bool keeps_bf16(const caffe::LayerParameter& /*parameter*/) { return true; }
  bool keeps_blocks(const Blobs& /*bottom*/) const override { return across(); }
  void setup(const Blobs&, const Blobs&) override {
    if (parameter().lrn_param().local_size() % 2 == 0)
      bad_config("local_size must be odd, it is " + std::to_string(parameter().lrn_param().local_size()));
    scale_ = std::make_unique<Blob>(group());
  }

  void reshape(const Blobs& bottom, const Blobs& top) override {
    if (bottom[0]->axes() != 4)
      bad_shape("expects N x C x H x W, the bottom has shape " + to_string(bottom[0]->shape()));
    top[0]->reshape_like(*bottom[0]);
    scale_->reshape(bottom[0]->shape());
  }

  void forward(const Blobs& bottom, const Blobs& top) override {
    with_element(bottom[0]->precision(), [&](auto element) {
      using T = decltype(element);
      if (bottom[0]->layout() == Layout::nchw16c)
        run_forward<true, T>(*bottom[0], *top[0]);
      else
        run_forward<false, T>(*bottom[0], *top[0]);
    });
  }

  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override {
    if (!propagate_down[0]) return;
    with_element(bottom[0]->precision(), [&](auto element) {
      using T = decltype(element);
      if (bottom[0]->layout() == Layout::nchw16c)
        backward_across<true, T>(*top[0], *bottom[0]);
      else if (across())
        backward_across<false, T>(*top[0], *bottom[0]);
      else
        backward_within<T>(*top[0], *bottom[0]);
    });
  }

  Cost cost(const Blobs& bottom, const Blobs&) const override {
    const double n = static_cast<double>(bottom[0]->count()),
                 size = static_cast<double>(parameter().lrn_param().local_size());
    return {n * (2 * size + 40), n * (size + 45), 12 * n, 36 * n};
  }

 private:
  /// Blocks such that `arrays` of them fit a scratchpad, where there is one.
  LrnShape cut(const Blob& bottom, i64 arrays) const {
    const auto& p = parameter().lrn_param();
    const bool across = this->across();
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
      s.block =
          std::clamp<i64>(std::min<i64>(floats, 32 * 1024) / s.channels, 1, s.plane());  // rows that a cache holds
    else if (across && spec.works_from_caches() && !spec.lines_in_scratch)
      s.block =
          even_part(s.plane(), std::min<i64>(s.images * s.plane() / spec.cpes, 4096));  // planes follow each other
    else if (across && !spec.lines_in_scratch)
      s.block = even_part(s.plane(), 512);  // a device's lanes stand beside each other
    else if (across)
      s.block = std::clamp<i64>(floats / s.channels, 1, std::max<i64>(1, std::min<i64>(s.plane(), 256)));
    else
      s.block = std::clamp<i64>(floats / s.width - 2 * s.reach, 1, s.height);
    return s;
  }

  bool across() const { return parameter().lrn_param().norm_region() == caffe::LRNParameter::ACROSS_CHANNELS; }

  template <bool blocks, class T>
  void run_forward(const Blob& bottom, Blob& top) {
    LrnForward<blocks, T> p{};
    p.s = cut(bottom, 4);
    p.x = bottom.data<T>(), p.scale = scale_->mutable_data(), p.y = top.mutable_data<T>();
    PlanBuilder book(group().spec());
    p.x_buf = book_read<blocks, T>(book, "x", p.s.read());
    p.scale_buf = book.line<float>("scale", p.s.owned(), 1);
    p.y_buf = book_own<blocks, T>(book, "y", p.s);
    group().launch(p, book.plan(p.s.lines()));
  }

  template <bool blocks, class T>
  void backward_across(const Blob& top, Blob& bottom) {
    LrnBackwardAcross<blocks, T> p{};
    p.s = cut(bottom, 9);
    p.x = bottom.data<T>(), p.scale = scale_->data(), p.dy = top.diff<T>(), p.dx = bottom.mutable_diff<T>();
    p.ring = workspace(p.s.lines() * p.s.ring_floats());
    PlanBuilder book(group().spec());
    p.x_buf = book_read<blocks, T>(book, "x", p.s.owned());
    p.scale_buf = book.line<float>("scale", p.s.owned(), LrnLines<blocks>::depth);
    p.dy_buf = book_read<blocks, T>(book, "dy", p.s.owned());
    p.dx_buf = book_own<blocks, T>(book, "dx", p.s);
    p.ring_buf = book.line<float>("terms", p.s.ring_floats(), 1);
    group().launch(p, book.plan(p.s.lines()));
  }

  template <class T>
  void backward_within(const Blob& top, Blob& bottom) {
    LrnBackwardWithin<T> p{};
    p.s = cut(bottom, 10);
    const i64 n = bottom.count();
    float* const terms = workspace(n + p.s.lines() * p.s.width);
    p.x = bottom.data<T>(), p.scale = scale_->data(), p.dy = top.diff<T>(), p.dx = bottom.mutable_diff<T>();
    p.terms = terms, p.sums = terms + n;
    p.s.with_power([&](auto power) {
      elementwise(group(), n, LrnTerms<decltype(power)>{power}, from(p.x, p.scale, p.dy), to(terms));
    });
    PlanBuilder book(group().spec());
    p.x_buf = book.line<T>("x", p.s.owned(), Depth::two);
    p.scale_buf = book.line<float>("scale", p.s.owned(), Depth::two);
    p.terms_buf = book.line<float>("terms", p.s.read(), Depth::two);
    p.dy_buf = book.line<T>("dy", p.s.owned(), Depth::two);
    p.dx_buf = book.line<T>("dx", p.s.owned(), 1);
    p.sums_buf = book.line<float>("sums", p.s.width, 1);
    group().launch(p, book.plan(p.s.lines()));
  }

  std::unique_ptr<Blob> scale_;
};

}  // namespace

void add_lrn(LayerTable& table) { table.add<LrnLayer>("LRN"); }

}  // namespace cortado
