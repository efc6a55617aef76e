#include <algorithm>

#include "core/formats/caffe.pb.h"
#include "core/net/layer_table.h"
#include "layers/channels/channels.h"
#include "layers/upsample/programs.h"

namespace cortado {
namespace {

/// Upsample of two forks, of N x C x H x W.
///
/// With one bottom, YOLO's: every pixel becomes scale_h x scale_w pixels of its value.
///
/// With two, SegNet's: the second is the mask that a MAX Pooling's second top gives. Pixels go to the places of their
/// plane that the mask names; the others are 0. The top's sizes are upsample_h and upsample_w, or the bottom's times
/// the scale, one less where pad_out_h or pad_out_w say so. The mask has no gradient. Where it names a place twice the
/// last pixel counts, and all of these pixels get the place's gradient, as in SegNet's.
class UpsampleLayer : public Layer {
 public:
  using Layer::Layer;
  Arity bottoms() const override { return {1, 2}; }
  bool allows_backward_to(std::size_t i) const override { return i == 0; }
  bool has_zero_gradient(std::size_t i) const override { return i == 1; }
  void setup(const Blobs& bottom, const Blobs&) override {
    const auto& p = parameter().upsample_param();
    const bool has_sizes = p.has_upsample_h() || p.has_upsample_w(), has_mask = bottom.size() > 1;
    if (p.has_upsample_h() != p.has_upsample_w()) bad_config("upsample_param needs both upsample_h and upsample_w");
    if (has_sizes && (p.upsample_h() < 1 || p.upsample_w() < 1))
      bad_config("upsample_param.upsample_h and upsample_w must be positive");
    if (!has_mask && !p.has_scale() && !p.has_scale_h())
      bad_config("upsample_param needs scale where there is no mask", "the mask is a MAX Pooling's second top");
    if (!has_mask && (has_sizes || p.pad_out_h() || p.pad_out_w()))
      bad_config("upsample_param takes upsample_h, upsample_w, pad_out_h and pad_out_w with a mask only",
                 "the mask is a MAX Pooling's second top");
    if (!has_sizes) read_scale();
    if (!has_sizes && ((p.pad_out_h() && scale_h_ != 2) || (p.pad_out_w() && scale_w_ != 2)))
      bad_config("upsample_param takes pad_out_h and pad_out_w with scale: 2 only", "give upsample_h and upsample_w");
    spans_ = std::make_unique<Blob>(group());
    wrong_ = std::make_unique<Blob>(group());
  }

  void reshape(const Blobs& bottom, const Blobs& top) override {
    const Blob& x = *bottom[0];
    const auto& p = parameter().upsample_param();
    if (x.axes() != 4) bad_shape("its bottom has shape " + to_string(x.shape()) + ", it needs N x C x H x W");
    const i64 height = scale_h_ > 0 ? x.dim(2) * scale_h_ - (p.pad_out_h() ? 1 : 0) : i64{p.upsample_h()};
    const i64 width = scale_w_ > 0 ? x.dim(3) * scale_w_ - (p.pad_out_w() ? 1 : 0) : i64{p.upsample_w()};
    top[0]->reshape({x.dim(0), x.dim(1), std::max<i64>(0, height), std::max<i64>(0, width)});
    const MachineSpec& spec = group().spec();
    if (bottom.size() == 1) {
      const i64 fit = line_elements(spec, x.dim(3), 3 + 2 * static_cast<int>(std::min<i64>(scale_w_, 1 << 20)));
      pixels_ = {x.count(0, 3), x.dim(3), fit};
      return;
    }
    if (bottom[1]->shape() != x.shape())
      bad_shape("its second bottom, the mask, has shape " + to_string(bottom[1]->shape()) + ", the first one's is " +
                to_string(x.shape()));
    const i64 planes = x.count(0, 2), pixels = x.count(2), places = top[0]->count(2),
              some = std::max<i64>(x.dim(3), 256);
    pixels_ = {planes, pixels, std::max<i64>(1, std::min({pixels, some, line_elements(spec, x.count(), 8)}))};
    places_ = {planes, places, std::max<i64>(1, std::min(places, line_elements(spec, top[0]->count(), 8)))};
    spans_->reshape({3 * pixels_.lines()});
    wrong_->reshape({1});
  }

  void forward(const Blobs& bottom, const Blobs& top) override {
    if (top[0]->count() == 0) return;
    PlanBuilder book(group().spec());
    if (bottom.size() == 1) {
      const RepeatPixels p{reads(book, "x", bottom[0]->data(), pixels_),
                           writes(book, "y", top[0]->mutable_data(), repeated())};
      return group().launch(p, book.plan(pixels_.lines()));
    }
    find_spans(*bottom[1]);
    constexpr i64 at_once = 64;  // spans
    const PlacePixels p{reads(book, "x", bottom[0]->data(), pixels_, Depth::one),
                        reads(book, "mask", bottom[1]->data(), pixels_, Depth::one),
                        reads(book, "spans", spans_->data(), RowLines{pixels_.rows, 2 * pixels_.blocks(), 2 * at_once}),
                        writes(book, "y", top[0]->mutable_data(), places_)};
    group().launch(p, book.plan(places_.lines()));
  }

  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override {
    if (!propagate_down[0] || bottom[0]->count() == 0) return;
    PlanBuilder book(group().spec());
    if (bottom.size() == 1) {
      const SumRepeatedPixels p{reads(book, "dy", top[0]->diff(), repeated()),
                                writes(book, "dx", bottom[0]->mutable_diff(), pixels_)};
      return group().launch(p, book.plan(pixels_.lines()));
    }
    const TakePixels p{reads(book, "dy", top[0]->diff(), RowParts{places_}),
                       reads(book, "mask", bottom[1]->data(), pixels_),
                       reads(book, "span", spans_->data(), RowLines::whole(pixels_.lines(), 2)),
                       writes(book, "dx", bottom[0]->mutable_diff(), pixels_)};
    group().launch(p, book.plan(pixels_.lines()));
  }

  Cost cost(const Blobs& bottom, const Blobs& top) const override {
    const auto n = static_cast<double>(bottom[0]->count()), m = static_cast<double>(top[0]->count());
    return {0, m, 4 * (n + m), 4 * (n + m)};
  }

 private:
  void read_scale() {
    const auto& p = parameter().upsample_param();
    if (p.has_scale_h() != p.has_scale_w()) bad_config("upsample_param needs both scale_h and scale_w");
    if (p.has_scale() && p.has_scale_h()) bad_config("upsample_param takes scale, or scale_h and scale_w");
    scale_h_ = p.has_scale_h() ? p.scale_h() : p.scale();
    scale_w_ = p.has_scale_w() ? p.scale_w() : p.scale();
    if (scale_h_ < 1 || scale_w_ < 1) bad_config("upsample_param.scale must be positive");
  }

  RepeatedPixels repeated() const { return {pixels_, scale_h_, scale_w_}; }

  void find_spans(const Blob& mask) {
    const i64 pieces = pixels_.lines();
    float* const spans = spans_->mutable_data();
    PlanBuilder book(group().spec());
    const MaskSpans p{reads(book, "mask", mask.data(), pixels_),
                      writes(book, "span", spans, RowLines::whole(pieces, 2)),
                      writes(book, "wrong values", spans + 2 * pieces, RowLines::whole(pieces)), places_.width};
    group().launch(p, book.plan(pieces));
    group().zero(wrong_->mutable_data(), sizeof(float));
    Channels{1, 1, pieces}.sum(group(), room(), p.wrong.array, wrong_->mutable_data());
    const float wrong = wrong_->data_vector()[0];
    if (wrong > 0)
      bad_shape(std::to_string(static_cast<i64>(wrong)) +
                    " values of its second bottom, the mask, name no place of a plane of " +
                    std::to_string(places_.width) + " values",
                "the top must have the sizes of the bottom of the Pooling that gives the mask");
  }

  i64 scale_h_ = 0, scale_w_ = 0;  // 0: the parameter gives the top's sizes
  RowLines pixels_{};              // of the bottom: rows of images, or planes in pieces where there is a mask
  RowLines places_{};              // planes of the top, where there is a mask
  std::unique_ptr<Blob> spans_;    // of pieces: lowest and highest place, then the numbers of wrong values
  std::unique_ptr<Blob> wrong_;    // all of these
};

}  // namespace

void add_upsample(LayerTable& table) { table.add<UpsampleLayer>("Upsample"); }

}  // namespace cortado
