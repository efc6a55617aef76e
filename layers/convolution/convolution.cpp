#include "layers/convolution/convolution.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/formats/caffe.pb.h"
#include "layers/gemm/gemm.h"
#include "layers/relu/relu.h"

namespace cortado {
namespace {
struct Pair {
  i64 h, w;
};

/// A spatial field of Caffe's: `repeated` once or once per axis, or as two fields `_h` and `_w`.
template <class Repeated>
Pair spatial(const Repeated& values, bool has_h, i64 h, bool has_w, i64 w, i64 otherwise, const Layer& layer,
             const char* name) {
  const std::string where = "layer '" + layer.name() + "'";
  if (has_h || has_w) {
    if (!values.empty() || has_h != has_w)
      throw ConfigError(where, std::string("give ") + name + " or both " + name + "_h and _w", "not a mixture");
    return {h, w};
  }
  if (values.empty()) {
    if (otherwise < 0) throw ConfigError(where, std::string(name) + " is missing");
    return {otherwise, otherwise};
  }
  if (values.size() > 2)
    throw ConfigError(where, std::string(name) + " is given " + std::to_string(values.size()) + " times for 2 axes");
  return {values.Get(0), values.Get(values.size() - 1)};
}

std::size_t index_of(ConvolutionDirection direction) { return static_cast<std::size_t>(direction); }
}  // namespace

void ConvolutionLayer::setup(const Blobs& bottom, const Blobs& top) {
  const auto& p = parameter().convolution_param();
  if (bottom.size() != top.size()) bad_config("every bottom needs a top of its own");
  if (p.axis() != 1 && p.axis() != -3)
    bad_config("axis must be 1: channels stand second", "two spatial axes are supported");
  if (bottom[0]->axes() != 4) bad_shape("expects N x C x H x W, the bottom has shape " + to_string(bottom[0]->shape()));
  const Pair kernel = spatial(p.kernel_size(), p.has_kernel_h(), p.kernel_h(), p.has_kernel_w(), p.kernel_w(), -1,
                              *this, "kernel_size");
  const Pair stride =
      spatial(p.stride(), p.has_stride_h(), p.stride_h(), p.has_stride_w(), p.stride_w(), 1, *this, "stride");
  const Pair pad = spatial(p.pad(), p.has_pad_h(), p.pad_h(), p.has_pad_w(), p.pad_w(), 0, *this, "pad");
  const Pair dilation = spatial(p.dilation(), false, 0, false, 0, 1, *this, "dilation");
  if (std::min({kernel.h, kernel.w, stride.h, stride.w, dilation.h, dilation.w}) < 1)
    bad_config("kernel_size, stride and dilation must be at least 1");
  shape_.kh = kernel.h, shape_.kw = kernel.w, shape_.sh = stride.h, shape_.sw = stride.w;
  shape_.ph = pad.h, shape_.pw = pad.w, shape_.dh = dilation.h, shape_.dw = dilation.w;
  shape_.oc = p.num_output();
  shape_.g = p.group();
  shape_.ic = bottom[0]->dim(1);
  if (shape_.oc < 1) bad_config("num_output must be at least 1");
  if (shape_.g < 1 || shape_.oc % shape_.g != 0 || shape_.ic % shape_.g != 0)
    bad_config("group " + std::to_string(shape_.g) + " does not divide " + std::to_string(shape_.ic) + " input and " +
               std::to_string(shape_.oc) + " output channels");
  bias_ = p.bias_term();
  add_parameter({shape_.oc, shape_.group_ic(), shape_.kh, shape_.kw}, p.weight_filler());
  if (bias_) add_parameter({shape_.oc}, p.bias_filler());
}

ConvolutionShape ConvolutionLayer::shape_of(const Blob& bottom) const {
  if (bottom.axes() != 4 || bottom.dim(1) != shape_.ic)
    bad_shape("expects " + std::to_string(shape_.ic) + " channels, a bottom has shape " + to_string(bottom.shape()));
  ConvolutionShape s = shape_;
  s.precision = bottom.precision();
  s.mb = bottom.dim(0), s.ih = bottom.dim(2), s.iw = bottom.dim(3);
  const i64 room_h = s.ih + 2 * s.ph - (s.dh * (s.kh - 1) + 1), room_w = s.iw + 2 * s.pw - (s.dw * (s.kw - 1) + 1);
  if (room_h < 0 || room_w < 0)
    bad_shape("a kernel of " + std::to_string(s.kh) + " x " + std::to_string(s.kw) + " does not fit the bottom's " +
              std::to_string(s.ih) + " x " + std::to_string(s.iw));
  s.oh = room_h / s.sh + 1, s.ow = room_w / s.sw + 1;
  return s;
}

void ConvolutionLayer::reshape(const Blobs& bottom, const Blobs& top) {
  shape_ = shape_of(*bottom[0]);
  for (std::size_t i = 0; i < bottom.size(); ++i) {
    if (bottom[i]->shape() != bottom[0]->shape()) bad_shape("bottoms must have equal shapes");
    top[i]->reshape({shape_.mb, shape_.oc, shape_.oh, shape_.ow}, shape_.precision);
  }
  refusals_.clear();
  for (const auto direction : convolution_directions) chosen_[index_of(direction)] = choose(direction);
}

/// The wanted candidate, or the first that accepts; remembers why others were passed over.
const ConvolutionCandidate* ConvolutionLayer::choose(ConvolutionDirection direction) {
  const auto wanted = wanted_.find(to_string(direction));
  std::string reasons;
  const ConvolutionCandidate* chosen = nullptr;
  for (const auto& candidate : convolution_candidates()) {
    const std::string reason = candidate->refuse(group(), shape_, direction);
    const std::string line = std::string(to_string(direction)) + " " + shape_.text() + ": " + candidate->name();
    if (!reason.empty()) {
      refusals_.push_back(line + " cannot run: " + reason);
      reasons += (reasons.empty() ? "" : "; ") + candidate->name() + ": " + reason;
    } else if (wanted != wanted_.end() ? candidate->name() == wanted->second
                                       : chosen == nullptr && candidate->pays(shape_)) {
      chosen = candidate.get();
    } else {
      refusals_.push_back(line + " was passed over: " +
                          (wanted != wanted_.end()   ? "another was asked for"
                           : candidate->pays(shape_) ? "stands later in the list"
                                                     : "does not pay for so few channels or pixels"));
    }
  }
  if (chosen == nullptr)
    throw PlanError("layer '" + name() + "'",
                    std::string("no candidate for ") + to_string(direction) + " of " + shape_.text() +
                        (wanted != wanted_.end() ? " named " + wanted->second : "") + ": " + reasons);
  return chosen;
}

void ConvolutionLayer::run(ConvolutionDirection direction, const ConvolutionArguments& arguments) {
  const auto* candidate = chosen_[index_of(direction)];
  run_plan(to_string(direction), [&] {
    candidate->run(group(), shape_, direction, arguments, workspace(candidate->workspace(group(), shape_, direction)));
  });
}

/// A ReLU behind a bias that is learned.
bool ConvolutionLayer::absorb(Layer& next) {
  const auto* const relu = dynamic_cast<const ReluLayer*>(&next);
  if (relu == nullptr || relu->slope() < 0 || rectifies_ || !bias_ || !param_propagate_down(1)) return false;
  slope_ = relu->slope();
  return rectifies_ = true;
}

void ConvolutionLayer::forward(const Blobs& bottom, const Blobs& top) {
  with_element(shape_.precision, [&](auto element) {
    using T = decltype(element);
    for (std::size_t i = 0; i < bottom.size(); ++i) {
      T* const y = top[i]->mutable_data<T>();
      run(ConvolutionDirection::forward, {bottom[i]->data<T>(), blobs()[0]->data(), nullptr, y});
      if (bias_) add_to_rows(group(), blobs()[1]->data(), shape_.oc, y, shape_.mb * shape_.oc, shape_.pixels(), slope_);
    }
  });
}

void ConvolutionLayer::backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) {
  with_element(shape_.precision, [&](auto element) {
    using T = decltype(element);
    for (std::size_t i = 0; i < bottom.size(); ++i) {
      T* const dy = top[i]->mutable_diff<T>();
      if (rectifies_)
        rectify_and_sum(group(), top[i]->data<T>(), dy, shape_.mb, shape_.oc, shape_.pixels(), slope_,
                        blobs()[1]->mutable_diff());
      else if (bias_ && param_propagate_down(1))
        sum_to_bias(group(), dy, shape_.mb, shape_.oc, shape_.pixels(), blobs()[1]->mutable_diff());
      if (param_propagate_down(0))
        run(ConvolutionDirection::weight_gradient, {bottom[i]->data<T>(), nullptr, dy, blobs()[0]->mutable_diff()});
      if (propagate_down[i])
        run(ConvolutionDirection::input_gradient, {nullptr, blobs()[0]->data(), dy, bottom[i]->mutable_diff<T>()});
    }
  });
}

std::vector<PlanOption> ConvolutionLayer::plan_options() const {
  std::vector<PlanOption> options;
  for (const auto direction : convolution_directions)
    for (const auto& candidate : convolution_candidates()) {
      PlanOption o{to_string(direction), shape_.text(), candidate->name(),
                   candidate->refuse(group(), shape_, direction), 0};
      if (o.refused.empty()) o.estimate = candidate->estimate(group(), shape_, direction);
      options.push_back(std::move(o));
    }
  return options;
}

PlanBook ConvolutionLayer::plans() const {
  PlanBook book;
  for (const auto direction : convolution_directions)
    if (const auto* candidate = chosen_[index_of(direction)]) book[to_string(direction)] = candidate->name();
  return book;
}

Layer::Cost ConvolutionLayer::cost(const Blobs& bottom, const Blobs&) const {
  const double n = static_cast<double>(bottom.size()), flops = n * shape_.flops();
  const double activations = n * static_cast<double>(shape_.mb * (shape_.src_image() + shape_.dst_image())),
               weights = static_cast<double>(shape_.oc * shape_.terms()),
               bytes = static_cast<double>(bytes_of(shape_.precision)) * activations + 4 * weights;
  return {flops, 2 * flops, bytes, 2 * bytes};
}

}  // namespace cortado
