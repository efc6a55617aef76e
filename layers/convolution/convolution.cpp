#include "layers/convolution/convolution.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/formats/caffe.pb.h"
#include "core/machine/launch_elementwise.h"
#include "core/net/layer_table.h"
#include "layers/eltwise/sum_gradient.h"

namespace cortado {
namespace {
/// The pixels of a kernel of at most two axes, before anybody has checked that they can be counted.
double area_of(const caffe::ConvolutionParameter& p) {
  if (p.has_kernel_h() || p.has_kernel_w()) return double{1} * p.kernel_h() * p.kernel_w();
  return p.kernel_size_size() == 0 ? 1 : double{1} * p.kernel_size(0) * p.kernel_size(p.kernel_size_size() - 1);
}
}  // namespace

bool WindowedLayer::keeps_bf16(const caffe::LayerParameter& parameter) {
  constexpr double largest_kernel = 512;  // positions whose pairs of terms fit a scratchpad of 128 KB
  const auto& p = parameter.convolution_param();
  return p.kernel_size_size() <= 2 && area_of(p) <= largest_kernel;
}

PixelStride ConvolutionLayer::pixel_stride(const caffe::LayerParameter& parameter) {
  const auto& p = parameter.convolution_param();
  const auto all = [](const auto& values, std::uint32_t wanted) {
    return std::all_of(values.begin(), values.end(), [&](std::uint32_t value) { return value == wanted; });
  };
  const bool of_sides = p.has_kernel_h() && p.has_kernel_w() && p.kernel_h() == 1 && p.kernel_w() == 1;
  const bool of_size = p.kernel_size_size() > 0 && all(p.kernel_size(), 1);
  const bool of_pixels = p.kernel_size_size() > 0 ? of_size && !p.has_kernel_h() && !p.has_kernel_w() : of_sides;
  const bool padded = !all(p.pad(), 0) || p.pad_h() > 0 || p.pad_w() > 0;
  if (!of_pixels || padded || p.axis() != 1) return every_pixel;
  if (p.has_stride_h() && p.has_stride_w() && p.stride_size() == 0) return {p.stride_h(), p.stride_w()};
  if (p.has_stride_h() || p.has_stride_w() || p.stride_size() < 1 || p.stride_size() > 2) return every_pixel;
  return {p.stride(0), p.stride(p.stride_size() - 1)};
}

void ConvolutionLayer::set_pixel_stride(caffe::LayerParameter& parameter, PixelStride stride) {
  auto& p = *parameter.mutable_convolution_param();
  p.clear_stride();
  p.clear_stride_h();
  p.clear_stride_w();
  if (stride == every_pixel) return;
  p.set_stride_h(stride.h);
  p.set_stride_w(stride.w);
}

void WindowedLayer::read_parameter(const Blobs& bottom, const Blobs& top) {
  const auto& p = parameter().convolution_param();
  const int axes = bottom[0]->axes();
  if (bottom.size() != top.size()) bad_config("every bottom needs a top of its own");
  channel_axis_ = bottom[0]->canonical_axis(p.axis());
  window_ = read_window(*this, p, axes - channel_axis_ - 1);
  bias_ = p.bias_term();
  const i64 in = bottom[0]->dim(channel_axis_), out = sizes(in).outputs;
  shape_.g = sizes(in).groups;
  if (out < 1) bad_config("num_output must be at least 1");
  if (shape_.g < 1 || in % shape_.g != 0 || out % shape_.g != 0)
    bad_config("group " + std::to_string(shape_.g) + " does not divide " + std::to_string(in) + " input and " +
               std::to_string(out) + " output channels");
  if (window_.axes() <= 2) return;
  volume_ = std::make_unique<Volume>(group());
  stacked_ = std::make_unique<Blob>(group());
  images_ = std::make_unique<Blob>(group());
}

Shape WindowedLayer::weights(i64 in, i64 out) const {
  Shape shape = {out, in / shape_.g};
  shape.insert(shape.end(), window_.kernel.begin(), window_.kernel.end());
  return shape;
}

void WindowedLayer::check_bottoms(const Blobs& bottom, i64 channels) const {
  for (const Blob* b : bottom) {
    if (b->axes() != channel_axis_ + 1 + static_cast<int>(window_.axes()) || b->dim(channel_axis_) != channels)
      bad_shape("expects " + std::to_string(channels) + " channels, a bottom has shape " + to_string(b->shape()));
    if (b->shape() != bottom[0]->shape()) bad_shape("bottoms must have equal shapes");
  }
}

void WindowedLayer::shape_tops(const Blob& bottom, const Blobs& top, i64 channels, const std::vector<i64>& extents,
                               Layout layout) const {
  Shape shape(bottom.shape().begin(), bottom.shape().begin() + channel_axis_);
  shape.push_back(channels);
  shape.insert(shape.end(), extents.begin(), extents.end());
  for (Blob* t : top) t->reshape(shape, bottom.precision(), layout);
}

void WindowedLayer::plan(i64 samples, i64 in_channels, i64 out_channels, const std::vector<i64>& in,
                         const std::vector<i64>& out, Precision precision, Layout src, Layout dst) {
  ConvolutionShape& s = shape_;
  s.precision = precision;
  s.src = src, s.dst = dst;
  s.mb = samples, s.ic = in_channels, s.oc = out_channels;
  set_planes(s, window_, in, out);
  if (volume_) {
    if (precision != Precision::fp32)
      bad_config("more than two spatial axes need single precision", "say precision: FP32 in the layer");
    volume_->reshape(samples, in_channels, out_channels, in, out, window_);
    s.mb = volume_->images();
    s.ic = in_channels * volume_->channels_per_channel();
    stacked_->reshape({s.mb, s.ic, s.ih, s.iw});
    images_->reshape({s.mb, s.oc, s.oh, s.ow});
  }
  kept_version_ = 0;
  for (const auto direction : convolution_directions) choose(direction);
}

void WindowedLayer::choose(ConvolutionDirection direction) {
  std::vector<Choice<ConvolutionPlan>::Candidate> candidates;
  for (const auto& row : convolution_candidates())
    candidates.push_back({row.name,
                          [this, &row, shape = shape_, direction] { return row.plan(group(), shape, direction); },
                          !row.pays || row.pays(group().spec(), shape_, direction)});
  choices_.choose(static_cast<std::size_t>(direction), name(), shape_.text(), std::move(candidates));
}

/// Packed weights stay where the parameters do.
void WindowedLayer::keep_weights(i64 floats, ConvolutionArguments& arguments) {
  const auto bytes = static_cast<std::size_t>(floats) * sizeof(float);
  if (bytes == 0) return;
  if (kept_weights_.bytes() < bytes) kept_weights_ = ClusterMemory(group(), bytes);
  arguments.kept = kept_weights_.as<float>();
  arguments.are_kept = kept_version_ == context().run.parameter_version;
  kept_version_ = context().run.parameter_version;
}

void WindowedLayer::run(ConvolutionDirection direction, ConvolutionArguments arguments) {
  const ConvolutionPlan& plan = plan_of(direction);
  if (direction == ConvolutionDirection::forward && context().run.parameter_version != 0)
    keep_weights(plan.kept_weights, arguments);
  run_plan(to_string(direction), [&] { plan.run(group(), arguments, workspace(plan.workspace)); });
}

void WindowedLayer::run_weight_gradient(const void* x, const void* dy) {
  ConvolutionArguments arguments{x, nullptr, dy};
  Blob& weights = *blobs()[0];
  if (shape_.mb > 0 && plan_of(ConvolutionDirection::weight_gradient).sets) {
    const Blob::Sum sum = weights.sum_diff();
    arguments.out = sum.to, arguments.sets = sum.sets;
  } else {
    arguments.out = weights.mutable_diff();
  }
  run(ConvolutionDirection::weight_gradient, arguments);
}

WindowedLayer::Sizes WindowedLayer::sizes(i64 /*in*/) const {
  const auto& p = parameter().convolution_param();
  return {p.group(), p.num_output()};
}

bool WindowedLayer::could_block(i64 channels) const {
  const auto& p = parameter().convolution_param();
  using Blocks = ConvolutionCandidate::Blocks;
  if (!group().spec().works_from_caches() || p.kernel_size_size() > 2 || channels % block_channels != 0) return false;
  for (const auto direction : convolution_directions)
    for (const auto& candidate : convolution_candidates())
      if (candidate.name == choices_.wanted(to_string(direction)) && candidate.blocks == Blocks::none) return false;
  return true;
}

bool ConvolutionLayer::keeps_blocks(const Blobs& bottom) const {
  return could_block(bottom[0]->dim(1)) && fits_blocks(*bottom[0], Layout::nchw16c, Layout::nchw);
}

/// Candidates that take blocks hold the weights of a whole window from one block of channels to others in a scratchpad.
bool ConvolutionLayer::fits_blocks(const Blob& bottom, Layout src, Layout dst) const {
  constexpr double most_for_a_pixel = 4.0 * block_channels * (1 + 3 * block_channels);  // in use, of any candidate
  const auto& p = parameter().convolution_param();
  if (area_of(p) * most_for_a_pixel <= static_cast<double>(group().spec().scratch_bytes)) return true;
  if (bottom.axes() != 4 || p.axis() != 1) return true;  // refused elsewhere
  const SlidingWindow window = read_window(*this, p, 2);
  const Sizes sizes = this->sizes(bottom.dim(1));
  ConvolutionShape s;
  s.mb = bottom.dim(0), s.ic = bottom.dim(1), s.oc = sizes.outputs, s.g = sizes.groups;
  if (s.g < 1 || s.oc < 1 || s.ic % s.g != 0 || s.oc % s.g != 0) return true;  // so is this
  s.precision = bottom.precision(), s.src = src, s.dst = dst;
  set_planes(s, window, spatial_sizes(bottom, 2), window_outputs(*this, window, bottom));
  const auto& candidates = convolution_candidates();
  return std::all_of(std::begin(convolution_directions), std::end(convolution_directions), [&](auto direction) {
    return std::any_of(candidates.begin(), candidates.end(), [&](const ConvolutionCandidate& candidate) {
      return candidate.blocks != ConvolutionCandidate::Blocks::none &&
             candidate.plan(group(), s, direction).refused.empty();
    });
  });
}

void ConvolutionLayer::setup(const Blobs& bottom, const Blobs& top) {
  const auto& p = parameter().convolution_param();
  read_parameter(bottom, top);
  const i64 in = bottom[0]->dim(channel_axis_), out = sizes(in).outputs;
  add_parameter(weights(in, out), p.weight_filler());
  if (!bias_) return;
  add_parameter({out}, p.bias_filler());
  ones_ = std::make_unique<Blob>(group(), Shape{out});
  ones_->write_data(std::vector<float>(static_cast<std::size_t>(out), 1.0f).data());
}

void ConvolutionLayer::reshape(const Blobs& bottom, const Blobs& top) {
  const i64 in_channels = blobs()[0]->dim(1) * shape_.g, out_channels = blobs()[0]->dim(0);
  check_bottoms(bottom, in_channels);
  const std::vector<i64> in = spatial_sizes(*bottom[0], window_.axes()),
                         out = window_outputs(*this, window_, *bottom[0]);
  Shape shape(bottom[0]->shape().begin(), bottom[0]->shape().begin() + channel_axis_);
  shape.push_back(out_channels);
  shape.insert(shape.end(), out.begin(), out.end());
  choose_layout(*bottom[0], shape);
  shape_tops(*bottom[0], top, out_channels, out, layout_.layout);
  plan(samples(*bottom[0]), in_channels, out_channels, in, out, bottom[0]->precision(), bottom[0]->layout(),
       top[0]->layout());
}

std::vector<std::string> ConvolutionLayer::refusals() const {
  std::vector<std::string> lines = WindowedLayer::refusals();
  const Layout other = layout_.layout == Layout::nchw ? Layout::nchw16c : Layout::nchw;
  lines.push_back(std::string(layout_direction) + ": " + to_string(other) + " was passed over: " + layout_.why);
  return lines;
}

std::string ConvolutionLayer::refuse_blocks(const Blob& bottom, i64 channels) const {
  if (bottom.axes() != 4 || channel_axis_ != 1) return "blocks are of the channels of images";
  if (channels % block_channels != 0) return "sixteen does not divide its channels";
  if (!could_block(channels))
    return "no candidate that is asked for, or that knows this window or machine, takes blocks";
  return fits_blocks(bottom, bottom.layout(), Layout::nchw16c) ? "" : "its kernel in blocks does not fit a scratchpad";
}

/// Tops' layout, and why. What is chosen once stays, because what stands behind the layer was built for it, unless the
/// plans asked for name another one.
void ConvolutionLayer::choose_layout(const Blob& bottom, const Shape& top) {
  const std::string asked = wanted_layout(), refused = refuse_blocks(bottom, top[1]);
  const auto take = [&](Layout layout, const std::string& why) {
    layout_ = {layout, refused.empty() ? why : refused, true};
  };
  if (!asked.empty()) {
    if (asked != to_string(Layout::nchw) && asked != to_string(Layout::nchw16c))
      throw PlanError("layer '" + name() + "'", "no layout is called " + asked, "blobs are nchw or nchw16c");
    if (asked == to_string(Layout::nchw16c) && !refused.empty())
      throw PlanError("layer '" + name() + "'", "cannot make its tops " + asked + ": " + refused);
    return take(asked == to_string(Layout::nchw) ? Layout::nchw : Layout::nchw16c, "another was asked for");
  }
  if (layout_.is_chosen) return;
  if (!refused.empty()) return take(Layout::nchw, "");
  if (context().layouts != nullptr) {
    const auto tuned = context().layouts->find(layout_key(top, bottom.precision()));
    if (tuned != context().layouts->end()) return take(tuned->second, "tuning found the other one to be faster");
  }
  // What follows works on a group of sixteen channels at a time. Cores with caches share groups (parts_of_channels);
  // elsewhere there must be one for every CPE.
  const MachineSpec& spec = group().spec();
  const int least = spec.works_from_caches() ? std::min(spec.cpes, 2) : spec.cpes;
  if (top[1] / block_channels < least) return take(Layout::nchw, "there are too few blocks");
  take(Layout::nchw16c, "blocks pay where there are enough");
}

/// A rectifier behind a bias that is learned; sums over what has none.
bool ConvolutionLayer::accept(const Epilogue& work) {
  if (volume_) return false;
  if (const auto* const rectifier = std::get_if<epilogue::Rectifier>(&work)) {
    if (rectifies_ || !bias_ || !param_propagate_down(1)) return false;
    if (rectifier->runs_backward && !rectifier->shows_in_result()) return false;
    rectify_ = rectifier->by;
    return rectifies_ = true;
  }
  if (const auto* const sums = std::get_if<epilogue::TopSums>(&work)) {
    if (bias_) return false;
    top_sums_ = sums->sums;
    return true;
  }
  if (const auto* const map = std::get_if<epilogue::FixedMap>(&work)) {
    if (rectifies_ || fixed_map_) return false;
    fixed_map_ = *map;
    return true;
  }
  const auto* const join = std::get_if<epilogue::JoinGradient>(&work);
  if (join == nullptr || parameter().bottom_size() != 1) return false;
  other_ = join->other, slope_of_bottom_ = join->slope;
  return true;
}

/// The memory in which the candidate can leave sums for the top's reader, who is told; nullptr means that it can leave
/// none.
float* ConvolutionLayer::room_for_sums() {
  const i64 parts = plan_of(ConvolutionDirection::forward).partial_sums;
  const auto bytes = static_cast<std::size_t>(parts * 2 * shape_.oc) * sizeof(float);
  if (sums_.bytes() < bytes) sums_ = ClusterMemory(group(), bytes);
  float* const sums = parts == 0 ? nullptr : sums_.as<float>();
  top_sums_->first = sums, top_sums_->parts = parts;
  return sums;
}

ChannelMap ConvolutionLayer::map_of_top() {
  ChannelMap map;
  map.channels = shape_.oc, map.rectify = rectify_;
  const float* const bias = bias_ ? blobs()[1]->data() : nullptr;
  if (!fixed_map_) {
    if (bias_) map.scale = ones_->data(), map.bias = bias;
    return map;
  }
  const auto values = fixed_map_->values();
  map.scale = values.scale, map.bias = values.bias, map.rectify = fixed_map_->rectify;
  if (!bias_) return map;
  if (mapped_bias_ == nullptr) mapped_bias_ = std::make_unique<Blob>(group(), Shape{shape_.oc});
  elementwise(group(), shape_.oc, MapBias{}, from(values.scale, bias, values.bias), to(mapped_bias_->mutable_data()));
  map.bias = mapped_bias_->data();
  return map;
}

void ConvolutionLayer::forward(const Blobs& bottom, const Blobs& top) {
  const ChannelMap map = map_of_top();
  const bool maps = shape_.mb > 0 && plan_of(ConvolutionDirection::forward).maps;
  with_element(shape_.precision, [&](auto element) {
    using T = decltype(element);
    for (std::size_t i = 0; i < bottom.size(); ++i) {
      if (volume_) volume_->stack(bottom[i]->data(), stacked_->mutable_data());
      const Blob& x = volume_ ? *stacked_ : *bottom[i];
      T* const y = (volume_ ? *images_ : *top[i]).template mutable_data<T>();
      ConvolutionArguments arguments{x.data<T>(), blobs()[0]->data(), nullptr, y};
      if (top_sums_ != nullptr && top_sums_->are_wanted) arguments.sums = room_for_sums();
      if (maps) arguments.map = map;
      run(ConvolutionDirection::forward, arguments);
      if (map.is_there() && !maps)
        outputs().affine<T>(group(), y, nullptr, fixed_map_ ? map.scale : nullptr, map.bias, y, map.rectify);
      if (volume_) volume_->order(images_->data(), top[i]->mutable_data());
    }
  });
}

void ConvolutionLayer::backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) {
  with_element(shape_.precision, [&](auto element) {
    using T = decltype(element);
    for (std::size_t i = 0; i < bottom.size(); ++i) {
      if (volume_) volume_->unorder(top[i]->diff(), images_->mutable_diff());
      T* const dy = (volume_ ? *images_ : *top[i]).template mutable_diff<T>();
      if (rectifies_)
        outputs().rectify(group(), room(), top[i]->data<T>(), rectify_.slope, dy, blobs()[1]->mutable_diff());
      else if (bias_ && param_propagate_down(1))
        outputs().sum(group(), room(), dy, blobs()[1]->mutable_diff());
      if (param_propagate_down(0)) {
        if (volume_) volume_->stack(bottom[i]->data(), stacked_->mutable_data());
        const Blob& x = volume_ ? *stacked_ : *bottom[i];
        run_weight_gradient(x.data<T>(), dy);
      }
      if (propagate_down[i]) {
        Blob& x = volume_ ? *stacked_ : *bottom[i];
        if (other_ != nullptr)
          join_gradient<T>(x, dy);
        else
          run(ConvolutionDirection::input_gradient, {nullptr, blobs()[0]->data(), dy, x.mutable_diff<T>()});
        if (volume_) volume_->unstack(stacked_->diff(), bottom[i]->mutable_diff(), bottom[i]->count());
      }
    }
  });
}

/// Joins the gradient by the candidate as it makes the bottom's gradient, or, if it cannot, afterwards.
template <class T>
void ConvolutionLayer::join_gradient(Blob& bottom, const T* dy) {
  if (plan_of(ConvolutionDirection::input_gradient).joins) {
    ConvolutionArguments arguments{bottom.data<T>(), blobs()[0]->data(), dy, other_->mutable_diff<T>()};
    arguments.other = other_->diff<T>(), arguments.slope = slope_of_bottom_;
    return run(ConvolutionDirection::input_gradient, arguments);
  }
  run(ConvolutionDirection::input_gradient, {nullptr, blobs()[0]->data(), dy, bottom.mutable_diff<T>()});
  gradient_of_sum<T>(group(), {&bottom, other_}, true, slope_of_bottom_, *other_);
}

PlanBook ConvolutionLayer::plans() const {
  PlanBook book = WindowedLayer::plans();
  book[layout_direction] = to_string(shape_.dst);
  return book;
}

Layer::Cost WindowedLayer::cost(const Blobs& bottom, const Blobs&) const {
  const double n = static_cast<double>(bottom.size()), flops = n * shape_.flops();
  const double activations = n * static_cast<double>(shape_.mb * (shape_.src_image() + shape_.dst_image())),
               weights = static_cast<double>(shape_.oc * shape_.terms()),
               bytes = static_cast<double>(bytes_of(shape_.precision)) * activations + 4 * weights;
  return {flops, 2 * flops, bytes, 2 * bytes};
}

void add_convolution(LayerTable& table) { table.add<ConvolutionLayer>("Convolution"); }

}  // namespace cortado
