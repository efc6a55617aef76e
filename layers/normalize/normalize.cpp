#include <algorithm>

#include "core/formats/caffe.pb.h"
#include "core/machine/launch_elementwise.h"
#include "core/net/layer_table.h"
#include "layers/channels/channels.h"
#include "layers/normalize/programs.h"

namespace cortado {
namespace {
constexpr int most_lines = 9;  // of a program, as scratchpads hold them

RowLines rows_of(const MachineSpec& spec, i64 rows, i64 width) {
  return {rows, width, line_elements(spec, width, most_lines)};
}
ChannelPlanes planes_of(const MachineSpec& spec, i64 outer, i64 channels, i64 inner) {
  const i64 most = line_elements(spec, outer * inner, most_lines);
  return {{{outer, inner, std::max<i64>(1, std::min(inner, most))}, channels}};
}

/// Normalize of SSD's fork: y = scale x / sqrt(eps + the sum of x^2). The sum is over a sample's channels at each
/// position, or over all of a sample with `across_spatial`. `scale` is learned, one for all or one for each channel; it
/// begins with 1 unless scale_filler says otherwise. The bottom is N x C x ...
class NormalizeLayer : public Layer {
 public:
  using Layer::Layer;
  void setup(const Blobs& bottom, const Blobs&) override {
    const auto& p = parameter().norm_param();
    if (bottom[0]->axes() < 2)
      bad_shape("its bottom has shape " + to_string(bottom[0]->shape()) + ", it needs N x C x ...");
    if (!(p.eps() >= 0)) bad_config("norm_param.eps must not be negative, it is " + std::to_string(p.eps()));
    caffe::FillerParameter filler = p.scale_filler();
    if (!p.has_scale_filler()) filler.set_value(1);
    add_parameter(p.channel_shared() ? Shape{} : Shape{bottom[0]->dim(1)}, filler);
    inverse_ = std::make_unique<Blob>(group());
    terms_ = std::make_unique<Blob>(group());
  }

  void reshape(const Blobs& bottom, const Blobs& top) override {
    const Blob& x = *bottom[0];
    if (x.axes() < 2 || (!is_shared() && x.dim(1) != blobs()[0]->count()))
      bad_shape("its bottom has shape " + to_string(x.shape()) + ", it needs N x " +
                (is_shared() ? "C" : std::to_string(blobs()[0]->count())) + " x ...");
    samples_ = x.dim(0), channels_ = x.dim(1), inner_ = x.count(2);
    by_rows_ = parameter().norm_param().across_spatial() || inner_ == 1;
    inverse_->reshape(by_rows_ ? Shape{samples_} : Shape{samples_, inner_});
    top[0]->reshape(x.shape());
  }

  void forward(const Blobs& bottom, const Blobs& top) override {
    const float* const x = bottom[0]->data();
    float* const y = top[0]->mutable_data();
    const float eps = parameter().norm_param().eps();
    float* const inverse = inverse_->mutable_data();
    PlanBuilder book(group().spec());
    if (by_rows_) {
      const RowLines s = rows_of(group().spec(), samples_, channels_ * inner_);
      const NormalizeRows p{scale_of(book, column_scale(workspace(s.width)), s.block), reads(book, "x", x, s),
                            writes(book, "inverse norm", inverse, RowLines::whole(samples_)), writes(book, "y", y, s),
                            eps};
      return group().launch(p, book.plan(samples_));
    }
    const ChannelPlanes s = planes_of(group().spec(), samples_, channels_, inner_);
    const NormalizePositions p{scale_of(book, blobs()[0]->data(), 1), reads(book, "x", x, s),
                               writes(book, "inverse norms", inverse, s.positions), writes(book, "y", y, s), eps};
    group().launch(p, book.plan(s.lines()));
  }

  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override {
    const float *const x = bottom[0]->data(), *const dy = top[0]->diff();
    if (param_propagate_down(0)) add_scale_gradient(x, dy);
    if (!propagate_down[0]) return;
    float* const dx = bottom[0]->mutable_diff();
    if (by_rows_)
      rows_backward(x, dy, dx);
    else
      positions_backward(x, dy, dx);
  }

  Cost cost(const Blobs& bottom, const Blobs&) const override {
    const auto n = static_cast<double>(bottom[0]->count());
    return {4 * n, 10 * n, 12 * n, 28 * n};
  }

 private:
  bool is_shared() const { return blobs()[0]->axes() == 0; }
  /// The learned scale as rows need it, a value for each column: it lies in `room` where it must be spread.
  const float* column_scale(float* room) const {
    const float* const scale = blobs()[0]->data();
    if (is_shared() || inner_ == 1) return scale;
    elementwise(group(), channels_, inner_, RepeatRow{}, from(per_row(scale, channels_)), to(room));
    return room;
  }

  /// A scale of which a line needs up to `most` values.
  SharedOrEach scale_of(PlanBuilder& book, const float* values, i64 most) const {
    return {values, is_shared(), book.line<float>("scale", most, Depth::two)};
  }

  void rows_backward(const float* x, const float* dy, float* dx) {
    const RowLines s = rows_of(group().spec(), samples_, channels_ * inner_);
    PlanBuilder book(group().spec());
    const NormalizeRowsBackward p{scale_of(book, column_scale(workspace(s.width)), s.block), reads(book, "x", x, s),
                                  reads(book, "dy", dy, s),
                                  reads(book, "inverse norm", inverse_->data(), RowLines::whole(samples_), Depth::one),
                                  writes(book, "dx", dx, s)};
    group().launch(p, book.plan(samples_));
  }

  void positions_backward(const float* x, const float* dy, float* dx) {
    const ChannelPlanes s = planes_of(group().spec(), samples_, channels_, inner_);
    PlanBuilder book(group().spec());
    const NormalizePositionsBackward p{scale_of(book, blobs()[0]->data(), 1),
                                       reads(book, "x", x, s),
                                       reads(book, "dy", dy, s),
                                       reads(book, "inverse norms", inverse_->data(), s.positions, Depth::one),
                                       writes(book, "dots", workspace(samples_ * inner_), s.positions),
                                       writes(book, "dx", dx, s)};
    group().launch(p, book.plan(s.lines()));
  }

  /// Sums of x dy / norm for each channel, or for each column of a row; then those of each scale.
  void add_scale_gradient(const float* x, const float* dy) {
    const i64 width = by_rows_ ? channels_ * inner_ : channels_;
    terms_->reshape({width});
    float* const terms = terms_->mutable_data();
    PlanBuilder book(group().spec());
    if (by_rows_) {
      const RowLines s = rows_of(group().spec(), samples_, width);
      const NormalizeColumnTerms p{reads(book, "x", x, s), reads(book, "dy", dy, s),
                                   reads(book, "inverse norm", inverse_->data(), RowLines::whole(samples_)),
                                   writes(book, "terms", terms, RowLines{1, width, s.block})};
      group().launch(p, book.plan(s.blocks()));
    } else {
      const ChannelPlanes s = planes_of(group().spec(), samples_, channels_, inner_);
      const NormalizeChannelTerms p{reads(book, "x", x, s), reads(book, "dy", dy, s),
                                    reads(book, "inverse norms", inverse_->data(), s.positions),
                                    writes(book, "term", terms, RowLines::whole(channels_))};
      group().launch(p, book.plan(channels_));
    }
    const i64 scales = blobs()[0]->count();
    if (width > 0) Channels{1, scales, width / scales}.sum(group(), room(), terms, blobs()[0]->mutable_diff());
  }

  bool by_rows_ = false;  // a sum is over all of a sample, which is a row
  i64 samples_ = 0, channels_ = 0, inner_ = 0;
  std::unique_ptr<Blob> inverse_;  // of the norm, one for each sum
  std::unique_ptr<Blob> terms_;    // of the gradient of a scale, one for each channel, or column of a row
};

}  // namespace

void add_normalize(LayerTable& table) { table.add<NormalizeLayer>("Normalize"); }

}  // namespace cortado
