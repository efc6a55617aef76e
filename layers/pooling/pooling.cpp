#include "layers/pooling/pooling.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/formats/caffe.pb.h"
#include "core/machine/launch_elementwise.h"
#include "core/net/layer_table.h"
#include "layers/pooling/programs.h"

namespace cortado {
namespace {
constexpr std::size_t forward_direction = 0, backward_direction = 1;

i64 floor_div(i64 a, i64 b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

/// The windows that the parameter says, of any sense.
PoolShape windows_of(const caffe::PoolingParameter& p) {
  const auto chosen = [](bool side, std::uint32_t of_side, std::uint32_t common) {
    return static_cast<int>(side ? of_side : common);
  };
  PoolShape shape;
  shape.kh = chosen(p.has_kernel_h(), p.kernel_h(), p.kernel_size());
  shape.kw = chosen(p.has_kernel_w(), p.kernel_w(), p.kernel_size());
  shape.sh = chosen(p.has_stride_h(), p.stride_h(), p.stride());
  shape.sw = chosen(p.has_stride_w(), p.stride_w(), p.stride());
  shape.ph = chosen(p.has_pad_h(), p.pad_h(), p.pad());
  shape.pw = chosen(p.has_pad_w(), p.pad_w(), p.pad());
  return shape;
}
}  // namespace

PoolMethod PoolingLayer::method() const {
  switch (parameter().pooling_param().pool()) {
    case caffe::PoolingParameter::MAX: return PoolMethod::largest;
    case caffe::PoolingParameter::AVE: return PoolMethod::average;
    default: return PoolMethod::by_lot;
  }
}

Layer::Arity PoolingLayer::tops() const { return {1, method() == PoolMethod::largest ? 2 : 1}; }

PixelStride PoolingLayer::pixel_stride(const caffe::LayerParameter& parameter) {
  const auto& p = parameter.pooling_param();
  const bool copies = p.pool() == caffe::PoolingParameter::AVE && p.round_mode() == caffe::PoolingParameter::FLOOR &&
                      p.has_kernel_size() && p.kernel_size() == 1 && !p.has_kernel_h() && !p.has_kernel_w();
  const bool padded = p.pad() > 0 || p.pad_h() > 0 || p.pad_w() > 0;
  if (!copies || padded || p.global_pooling() || p.has_stride_h() != p.has_stride_w()) return every_pixel;
  return p.has_stride_h() ? PixelStride{p.stride_h(), p.stride_w()} : PixelStride{p.stride(), p.stride()};
}

void PoolingLayer::set_pixel_stride(caffe::LayerParameter& parameter, PixelStride stride) {
  auto& p = *parameter.mutable_pooling_param();
  p.Clear();
  p.set_pool(caffe::PoolingParameter::AVE);
  p.set_round_mode(caffe::PoolingParameter::FLOOR);
  p.set_kernel_size(1);
  p.set_stride_h(stride.h);
  p.set_stride_w(stride.w);
}

bool PoolingLayer::keeps_bf16(const caffe::LayerParameter& parameter) {
  return parameter.top_size() == 1 && parameter.pooling_param().pool() != caffe::PoolingParameter::STOCHASTIC;
}

void PoolingLayer::setup(const Blobs& /*bottom*/, const Blobs& /*top*/) {
  const auto& p = parameter().pooling_param();
  const bool sides = p.has_kernel_h() || p.has_kernel_w();
  if (p.global_pooling() && (p.has_kernel_size() || sides)) bad_config("global_pooling takes no kernel size");
  if (!p.global_pooling() && p.has_kernel_size() == sides)
    bad_config("needs kernel_size, or kernel_h and kernel_w, not both");
  if (sides && !(p.has_kernel_h() && p.has_kernel_w())) bad_config("needs both kernel_h and kernel_w");
  if (p.has_pad_h() != p.has_pad_w() || (p.has_pad() && p.has_pad_h())) bad_config("takes pad, or pad_h and pad_w");
  if (p.has_stride_h() != p.has_stride_w() || (p.has_stride() && p.has_stride_h()))
    bad_config("takes stride, or stride_h and stride_w");
  shape_ = windows_of(p);
  check_window();
}

void PoolingLayer::check_window() const {
  if (shape_.sh < 1 || shape_.sw < 1) bad_config("its stride must be positive");
  if (parameter().pooling_param().global_pooling()) {
    if (shape_.ph != 0 || shape_.pw != 0 || shape_.sh != 1 || shape_.sw != 1)
      bad_config("global_pooling takes no pad and no stride");
    return;
  }
  if (shape_.kh < 1 || shape_.kw < 1) bad_config("its kernel size must be positive");
  if (shape_.ph < 0 || shape_.pw < 0 || shape_.ph >= shape_.kh || shape_.pw >= shape_.kw)
    bad_config("its pad must be smaller than its kernel");
  if (method() == PoolMethod::by_lot && (shape_.ph > 0 || shape_.pw > 0)) bad_config("stochastic pooling takes no pad");
}

int PoolingLayer::output_size(int extent, int kernel, int stride, int pad, bool is_padded) const {
  const bool rounds_up = parameter().pooling_param().round_mode() == caffe::PoolingParameter::CEIL;
  const i64 room = i64{extent} + 2 * i64{pad} - kernel;
  i64 size = (rounds_up ? floor_div(room + stride - 1, stride) : floor_div(room, stride)) + 1;
  // Caffe's rule: with padding, the last window must start inside the plane.
  if (is_padded && (size - 1) * stride >= extent + pad) --size;
  if (size < 1)
    bad_shape("its window of " + std::to_string(kernel) + " does not fit a bottom of " + std::to_string(extent),
              "use a smaller kernel or a larger input");
  return static_cast<int>(size);
}

void PoolingLayer::place_in(const Blob& bottom, PoolShape& shape) const {
  if (bottom.axes() != 4) bad_shape("its bottom has shape " + to_string(bottom.shape()) + ", it needs N x C x H x W");
  shape.planes = bottom.count(0, 2);
  shape.h = static_cast<int>(bottom.dim(2));
  shape.w = static_cast<int>(bottom.dim(3));
  if (parameter().pooling_param().global_pooling()) {
    shape.kh = shape.h;
    shape.kw = shape.w;
  }
  const bool is_padded = shape.ph > 0 || shape.pw > 0;
  shape.oh = output_size(shape.h, shape.kh, shape.sh, shape.ph, is_padded);
  shape.ow = output_size(shape.w, shape.kw, shape.sw, shape.pw, is_padded);
  shape.layout = bottom.layout();
}

bool PoolingLayer::keeps_blocks(const Blobs& bottom) const {
  if (!keeps_bf16(parameter())) return false;
  PoolShape shape = windows_of(parameter().pooling_param());
  if (shape.sh < 1 || shape.sw < 1) return true;  // refused by setup
  place_in(*bottom[0], shape);
  shape.layout = Layout::nchw16c;
  const auto fits = [&](bool forward) {
    return plan_pooling_by_planes(group().spec(), shape, method(), bottom[0]->precision(), forward).refused.empty();
  };
  return fits(true) && fits(false);
}

void PoolingLayer::reshape(const Blobs& bottom, const Blobs& top) {
  const Blob& x = *bottom[0];
  place_in(x, shape_);
  const Shape shape = {x.dim(0), x.dim(1), shape_.oh, shape_.ow};
  precision_ = x.precision();
  top[0]->reshape(shape, precision_, x.layout());
  if (top.size() > 1) top[1]->reshape(shape);  // the mask
  const std::size_t bytes = static_cast<std::size_t>(top[0]->count()) * sizeof(int);
  if (method() != PoolMethod::average && mask_.bytes() < bytes) mask_ = ClusterMemory(group(), bytes);
  if (method() == PoolMethod::by_lot && sums_.bytes() < bytes) sums_ = ClusterMemory(group(), bytes);
  choose();
}

/// Chooses planes where memory is near the lanes, windows where lanes are many, and rows where lines come by transfers,
/// if they can run.
void PoolingLayer::choose() {
  const PoolShape& s = shape_;
  const MachineSpec& spec = group().spec();
  const char* const names[] = {"max", "average", "stochastic"};
  const std::string text = names[static_cast<int>(method())] + std::to_string(s.planes) + "x" + std::to_string(s.h) +
                           "x" + std::to_string(s.w) + "k" + std::to_string(s.kh) + "x" + std::to_string(s.kw) + "s" +
                           std::to_string(s.sh) + "x" + std::to_string(s.sw) + "p" + std::to_string(s.ph) + "x" +
                           std::to_string(s.pw) + (precision_ == Precision::bf16 ? "bf16" : "") +
                           (s.layout == Layout::nchw ? "" : "c16");
  const bool near = !spec.lines_in_scratch && spec.host_memory, many = spec.own_lanes > 0;
  for (const std::size_t direction : {forward_direction, backward_direction}) {
    const auto by = [&, this](auto planner) {
      return [this, planner, direction, shape = s, &spec] {
        return planner(spec, shape, method(), precision_, direction == forward_direction);
      };
    };
    choices_.choose(direction, name(), text,
                    {{"planes", by(plan_pooling_by_planes), near},
                     {"windows", by(plan_pooling_by_windows), many},
                     {"rows", by(plan_pooling_by_rows), !near}});
  }
}

void PoolingLayer::forward(const Blobs& bottom, const Blobs& top) {
  PoolArguments arguments{};
  with_element(precision_, [&](auto element) {
    using T = decltype(element);
    arguments.from = bottom[0]->data<T>(), arguments.to = top[0]->mutable_data<T>();
  });
  arguments.mask = mask_.as<int>();
  arguments.sums = sums_.as<float>();
  arguments.key = random_key(0);
  arguments.first = run().first_sample(shape_.planes) * shape_.oh * shape_.ow;
  arguments.trains = run().phase == Phase::train;
  run_plan("forward", [&] { choices_.plan(forward_direction).run(group(), arguments); });
  if (top.size() > 1)
    elementwise(group(), top[1]->count(), MaskToTop{}, from(mask_.as<int>()), to(top[1]->mutable_data()));
}

void PoolingLayer::backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) {
  if (!propagate_down[0]) return;
  if (method() == PoolMethod::by_lot && run().phase == Phase::test)
    bad_config("stochastic pooling has a gradient in training only");
  PoolArguments arguments{};
  with_element(precision_, [&](auto element) {
    using T = decltype(element);
    arguments.from = top[0]->diff<T>(), arguments.to = bottom[0]->mutable_diff<T>();
  });
  arguments.mask = mask_.as<int>();
  run_plan("backward", [&] { choices_.plan(backward_direction).run(group(), arguments); });
}

Layer::Cost PoolingLayer::cost(const Blobs& bottom, const Blobs& top) const {
  const double in = static_cast<double>(bottom[0]->count()), out = static_cast<double>(top[0]->count());
  Cost cost;
  if (method() == PoolMethod::average) cost.forward_flops = cost.backward_flops = out * shape_.kh * shape_.kw;
  cost.forward_bytes = cost.backward_bytes = 4 * (in + out * (method() == PoolMethod::largest ? 2 : 1));
  return cost;
}

void add_pooling(LayerTable& table) { table.add<PoolingLayer>("Pooling"); }

}  // namespace cortado
