#include "layers/convolution/im2col.h"

#include "core/base/error.h"
#include "core/formats/caffe.pb.h"
#include "layers/convolution/columns.h"
#include "layers/convolution/window.h"

namespace cortado {

void Im2colLayer::reshape(const Blobs& bottom, const Blobs& top) {
  const int axes = bottom[0]->axes();
  if (axes != 3 && axes != 4)
    bad_shape("expects N x C x H x W or N x C x W, the bottom has shape " + to_string(bottom[0]->shape()));
  const auto& p = parameter().convolution_param();
  if (p.axis() != 1 && p.axis() != 1 - axes) bad_config("axis must be 1: channels stand second");
  const SlidingWindow window = read_window(*this, p, axes - 2);
  Shape shape = {bottom[0]->dim(0), bottom[0]->dim(1) * count_of(window.kernel)};
  for (std::size_t d = 0; d < window.axes(); ++d) {
    shape.push_back(window.outputs(d, bottom[0]->dim(static_cast<int>(d) + 2)));
    if (shape.back() < 1)
      bad_shape("a kernel of " + std::to_string(window.kernel[d]) + " does not fit the bottom's shape " +
                to_string(bottom[0]->shape()));
  }
  top[0]->reshape(shape);
  ConvolutionShape& s = shape_;
  const std::size_t w = window.axes() - 1;
  s.mb = bottom[0]->dim(0), s.ic = bottom[0]->dim(1);
  s.iw = bottom[0]->dim(axes - 1), s.ow = shape.back();
  s.kw = window.kernel[w], s.sw = window.stride[w], s.pw = window.pad[w], s.dw = window.dilation[w];
  if (axes == 4) {
    s.ih = bottom[0]->dim(2), s.oh = shape[2];
    s.kh = window.kernel[0], s.sh = window.stride[0], s.ph = window.pad[0], s.dh = window.dilation[0];
  }
  for (const std::string& reason : {refuse_im2col(group().spec(), s), refuse_col2im(group().spec(), s)})
    if (!reason.empty()) throw PlanError("layer '" + name() + "'", reason);
}

void Im2colLayer::forward(const Blobs& bottom, const Blobs& top) {
  run_im2col(group(), shape_, bottom[0]->data(), shape_.mb, top[0]->mutable_data(), false);
}

void Im2colLayer::backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) {
  if (propagate_down[0]) run_col2im(group(), shape_, top[0]->diff(), shape_.mb, bottom[0]->mutable_diff(), false);
}

Layer::Cost Im2colLayer::cost(const Blobs& bottom, const Blobs& top) const {
  const auto bytes = 4 * static_cast<double>(bottom[0]->count() + top[0]->count());
  return {0, static_cast<double>(top[0]->count()), bytes, bytes};
}

}  // namespace cortado
