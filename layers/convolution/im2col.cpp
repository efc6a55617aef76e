#include "layers/convolution/im2col.h"

#include "core/base/error.h"
#include "core/formats/caffe.pb.h"
#include "layers/convolution/columns/columns.h"
#include "layers/convolution/window.h"

namespace cortado {

void Im2colLayer::reshape(const Blobs& bottom, const Blobs& top) {
  const Blob& x = *bottom[0];
  const auto& p = parameter().convolution_param();
  const int axis = x.canonical_axis(p.axis());
  const SlidingWindow window = read_window(*this, p, x.axes() - axis - 1);
  const std::vector<i64> in = spatial_sizes(x, window.axes()), out = window_outputs(*this, window, x);
  const i64 samples = x.count(0, axis), columns = x.dim(axis) * count_of(window.kernel);
  Shape shape(x.shape().begin(), x.shape().begin() + axis);
  shape.push_back(columns);
  shape.insert(shape.end(), out.begin(), out.end());
  top[0]->reshape(shape);
  shape_ = {};
  shape_.mb = samples, shape_.ic = x.dim(axis);
  set_planes(shape_, window, in, out);
  if (window.axes() > 2) {
    if (!volume_) volume_ = std::make_unique<Volume>(group());
    if (!stacked_) stacked_ = std::make_unique<Blob>(group());
    if (!columns_) columns_ = std::make_unique<Blob>(group());
    volume_->reshape(samples, shape_.ic, columns, in, out, window);
    shape_.mb = volume_->images(), shape_.ic *= volume_->channels_per_channel();
    stacked_->reshape({shape_.mb, shape_.ic, shape_.ih, shape_.iw});
    columns_->reshape({shape_.mb, columns, shape_.oh, shape_.ow});
  }
  for (const std::string& reason : {refuse_im2col(group().spec(), shape_), refuse_col2im(group().spec(), shape_)})
    if (!reason.empty()) throw PlanError("layer '" + name() + "'", reason);
}

void Im2colLayer::forward(const Blobs& bottom, const Blobs& top) {
  if (volume_) volume_->stack(bottom[0]->data(), stacked_->mutable_data());
  run_im2col(group(), shape_, (volume_ ? *stacked_ : *bottom[0]).data(), shape_.mb,
             (volume_ ? *columns_ : *top[0]).mutable_data(), false);
  if (volume_) volume_->order(columns_->data(), top[0]->mutable_data());
}

void Im2colLayer::backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) {
  if (!propagate_down[0]) return;
  if (volume_) volume_->unorder(top[0]->diff(), columns_->mutable_diff());
  run_col2im(group(), shape_, (volume_ ? *columns_ : *top[0]).diff(), shape_.mb,
             (volume_ ? *stacked_ : *bottom[0]).mutable_diff(), false);
  if (volume_) volume_->unstack(stacked_->diff(), bottom[0]->mutable_diff(), bottom[0]->count());
}

Layer::Cost Im2colLayer::cost(const Blobs& bottom, const Blobs& top) const {
  const auto bytes = 4 * static_cast<double>(bottom[0]->count() + top[0]->count());
  return {0, static_cast<double>(top[0]->count()), bytes, bytes};
}

}  // namespace cortado
