#include <algorithm>
#include <cmath>

#include "core/formats/caffe.pb.h"
#include "core/net/layer_table.h"

namespace cortado {
namespace {
constexpr double same_ratio = 1e-6;

/// PriorBox of SSD's fork: boxes around the middle of every pixel of the first bottom, a map made of the image that the
/// second bottom has the size of. The top is 1 x 2 x (H W boxes 4): corners (xmin, ymin, xmax, ymax) as parts of the
/// image, then a variance for each. For each min_size there is a square of it, with max_size one of sqrt(min max), and
/// a box for each aspect ratio but 1 and, with `flip`, for its inverse. Sizes count whole pixels, as in the fork.
/// Bottoms' values do not matter, so there is no gradient.
class PriorBoxLayer : public Layer {
 public:
  using Layer::Layer;
  Arity bottoms() const override { return {2, 2}; }
  bool allows_backward_to(std::size_t /*i*/) const override { return false; }
  bool uses_shape_only(std::size_t /*i*/) const override { return true; }
  void setup(const Blobs&, const Blobs&) override {
    read_boxes();
    read_variances();
    read_sizes();
    priors_ = std::make_unique<Blob>(group());
  }

  void reshape(const Blobs& bottom, const Blobs& top) override {
    for (const Blob* b : bottom)
      if (b->axes() != 4) bad_shape("a bottom has shape " + to_string(b->shape()) + ", it needs N x C x H x W");
    const i64 h = bottom[0]->dim(2), w = bottom[0]->dim(3);
    const auto& p = parameter().prior_box_param();
    Size image = image_;
    if (!(image.width > 0)) image = {static_cast<double>(bottom[1]->dim(3)), static_cast<double>(bottom[1]->dim(2))};
    if (h < 1 || w < 1 || !(image.width > 0 && image.height > 0))
      bad_shape("bottoms of shapes " + to_string(bottom[0]->shape()) + " and " + to_string(bottom[1]->shape()) +
                " have no pixels");
    Size step = step_;
    if (!(step.width > 0)) step = {image.width / static_cast<double>(w), image.height / static_cast<double>(h)};
    top[0]->reshape({1, 2, h * w * static_cast<i64>(boxes_.size()) * 4});
    std::vector<float> values;
    values.reserve(static_cast<std::size_t>(top[0]->count()));
    const auto add = [&](double corner) {
      values.push_back(static_cast<float>(p.clip() ? std::min(std::max(corner, 0.0), 1.0) : corner));
    };
    for (i64 row = 0; row < h; ++row)
      for (i64 col = 0; col < w; ++col) {
        const double x = (static_cast<double>(col) + double{p.offset()}) * step.width,
                     y = (static_cast<double>(row) + double{p.offset()}) * step.height;
        for (const Size& box : boxes_)
          for (const int side : {-1, 1}) {
            add((x + side * box.width / 2) / image.width);
            add((y + side * box.height / 2) / image.height);
          }
      }
    const std::size_t numbers = values.size();
    for (std::size_t i = 0; i < numbers; ++i) values.push_back(variances_[i % variances_.size()]);
    priors_->reshape(top[0]->shape());
    priors_->write_data(values.data());
  }

  void forward(const Blobs&, const Blobs& top) override {
    group().copy(top[0]->mutable_data(), priors_->data(), static_cast<std::size_t>(top[0]->bytes()));
  }

  void backward(const Blobs&, const std::vector<bool>&, const Blobs&) override {}

 private:
  struct Size {
    double width, height;
  };
  void read_sizes() {
    const auto& p = parameter().prior_box_param();
    if (p.has_img_size() && (p.has_img_h() || p.has_img_w()))
      bad_config("prior_box_param takes img_size, or img_h and img_w");
    if (p.has_img_h() != p.has_img_w()) bad_config("prior_box_param needs both img_h and img_w");
    if (p.has_img_size()) image_ = {static_cast<double>(p.img_size()), static_cast<double>(p.img_size())};
    if (p.has_img_h()) image_ = {static_cast<double>(p.img_w()), static_cast<double>(p.img_h())};
    if ((p.has_img_size() || p.has_img_h()) && !(image_.width > 0 && image_.height > 0))
      bad_config("prior_box_param's image must have a size");
    if (p.has_step() && (p.has_step_h() || p.has_step_w()))
      bad_config("prior_box_param takes step, or step_h and step_w");
    if (p.has_step_h() != p.has_step_w()) bad_config("prior_box_param needs both step_h and step_w");
    if (p.has_step()) step_ = {double{p.step()}, double{p.step()}};
    if (p.has_step_h()) step_ = {double{p.step_w()}, double{p.step_h()}};
    if ((p.has_step() || p.has_step_h()) && !(step_.width > 0 && step_.height > 0))
      bad_config("prior_box_param.step must be positive");
  }

  /// The boxes of a pixel, in pixels of the image.
  void read_boxes() {
    const auto& p = parameter().prior_box_param();
    if (p.min_size_size() == 0) bad_config("prior_box_param needs min_size");
    if (p.max_size_size() > 0 && p.max_size_size() != p.min_size_size())
      bad_config("prior_box_param has " + std::to_string(p.max_size_size()) + " max_size for " +
                     std::to_string(p.min_size_size()) + " min_size",
                 "give none or one for each");
    std::vector<float> ratios = {1};
    for (const float ratio : p.aspect_ratio()) {
      if (!(ratio > 0)) bad_config("prior_box_param.aspect_ratio must be positive, it is " + std::to_string(ratio));
      const auto is_same = [&](float other) { return std::fabs(double{ratio} - double{other}) < same_ratio; };
      if (std::any_of(ratios.begin(), ratios.end(), is_same)) continue;
      ratios.push_back(ratio);
      if (p.flip()) ratios.push_back(1 / ratio);
    }
    for (int i = 0; i < p.min_size_size(); ++i) {
      const double least = std::trunc(double{p.min_size(i)});
      if (!(least > 0))
        bad_config("prior_box_param.min_size must be at least 1, it is " + std::to_string(p.min_size(i)));
      boxes_.push_back({least, least});
      if (p.max_size_size() > 0) {
        if (!(p.max_size(i) > p.min_size(i)))
          bad_config("prior_box_param.max_size " + std::to_string(p.max_size(i)) + " is not above min_size " +
                     std::to_string(p.min_size(i)));
        const double side = std::sqrt(least * std::trunc(double{p.max_size(i)}));
        boxes_.push_back({side, side});
      }
      for (const float ratio : ratios) {
        if (std::fabs(double{ratio} - 1) < same_ratio) continue;
        const double root = std::sqrt(double{ratio});
        boxes_.push_back({least * root, least / root});
      }
    }
  }

  void read_variances() {
    const auto& p = parameter().prior_box_param();
    variances_.assign(p.variance().begin(), p.variance().end());
    if (variances_.empty()) variances_ = {0.1f};
    if (variances_.size() == 1) variances_.assign(4, variances_[0]);
    if (variances_.size() != 4)
      bad_config("prior_box_param has " + std::to_string(variances_.size()) + " variances", "give none, one or four");
    for (const float v : variances_)
      if (!(v > 0)) bad_config("prior_box_param.variance must be positive, it is " + std::to_string(v));
  }

  std::vector<Size> boxes_;
  std::vector<float> variances_;   // of the four numbers of a box
  Size image_{0, 0}, step_{0, 0};  // 0: by the bottoms
  std::unique_ptr<Blob> priors_;   // as the top has them
};

}  // namespace

void add_prior_box(LayerTable& table) { table.add<PriorBoxLayer>("PriorBox"); }

}  // namespace cortado
