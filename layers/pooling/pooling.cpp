#include "layers/pooling/pooling.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/formats/caffe.pb.h"

namespace cortado {
namespace {
constexpr const char *planes_plan = "planes", *rows_plan = "rows";

i64 floor_div(i64 a, i64 b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }
}  // namespace

bool PoolingLayer::takes_max() const { return parameter().pooling_param().pool() == caffe::PoolingParameter::MAX; }
bool PoolingLayer::averages() const { return parameter().pooling_param().pool() == caffe::PoolingParameter::AVE; }
bool PoolingLayer::by_lot() const { return !takes_max() && !averages(); }

Layer::Arity PoolingLayer::tops() const { return {1, takes_max() ? 2 : 1}; }

bool PoolingLayer::keeps_bf16(const caffe::LayerParameter& parameter) {
  return parameter.top_size() == 1 && parameter.pooling_param().pool() != caffe::PoolingParameter::STOCHASTIC;
}

void PoolingLayer::setup(const Blobs& /*bottom*/, const Blobs& /*top*/) {
  const auto& p = parameter().pooling_param();
  global_ = p.global_pooling();
  round_up_ = p.round_mode() == caffe::PoolingParameter::CEIL;
  const bool sides = p.has_kernel_h() || p.has_kernel_w();
  if (global_ && (p.has_kernel_size() || sides)) bad_config("global_pooling takes no kernel size");
  if (!global_ && p.has_kernel_size() == sides) bad_config("needs kernel_size, or kernel_h and kernel_w, not both");
  if (sides && !(p.has_kernel_h() && p.has_kernel_w())) bad_config("needs both kernel_h and kernel_w");
  if (p.has_pad_h() != p.has_pad_w() || (p.has_pad() && p.has_pad_h())) bad_config("takes pad, or pad_h and pad_w");
  if (p.has_stride_h() != p.has_stride_w() || (p.has_stride() && p.has_stride_h()))
    bad_config("takes stride, or stride_h and stride_w");
  const auto chosen = [](bool side, std::uint32_t of_side, std::uint32_t common) {
    return static_cast<int>(side ? of_side : common);
  };
  shape_.kh = chosen(p.has_kernel_h(), p.kernel_h(), p.kernel_size());
  shape_.kw = chosen(p.has_kernel_w(), p.kernel_w(), p.kernel_size());
  shape_.sh = chosen(p.has_stride_h(), p.stride_h(), p.stride());
  shape_.sw = chosen(p.has_stride_w(), p.stride_w(), p.stride());
  shape_.ph = chosen(p.has_pad_h(), p.pad_h(), p.pad());
  shape_.pw = chosen(p.has_pad_w(), p.pad_w(), p.pad());
  check_window();
}

void PoolingLayer::check_window() const {
  if (shape_.sh < 1 || shape_.sw < 1) bad_config("its stride must be positive");
  if (global_) {
    if (shape_.ph != 0 || shape_.pw != 0 || shape_.sh != 1 || shape_.sw != 1)
      bad_config("global_pooling takes no pad and no stride");
    return;
  }
  if (shape_.kh < 1 || shape_.kw < 1) bad_config("its kernel size must be positive");
  if (shape_.ph < 0 || shape_.pw < 0 || shape_.ph >= shape_.kh || shape_.pw >= shape_.kw)
    bad_config("its pad must be smaller than its kernel");
  if (by_lot() && (shape_.ph > 0 || shape_.pw > 0)) bad_config("stochastic pooling takes no pad");
}

int PoolingLayer::output_size(int extent, int kernel, int stride, int pad) const {
  const i64 room = i64{extent} + 2 * i64{pad} - kernel;
  i64 size = (round_up_ ? floor_div(room + stride - 1, stride) : floor_div(room, stride)) + 1;
  // Caffe's rule: with padding, the last window must start inside the plane.
  if ((shape_.ph > 0 || shape_.pw > 0) && (size - 1) * stride >= extent + pad) --size;
  if (size < 1)
    bad_shape("its window of " + std::to_string(kernel) + " does not fit a bottom of " + std::to_string(extent),
              "use a smaller kernel or a larger input");
  return static_cast<int>(size);
}

void PoolingLayer::reshape(const Blobs& bottom, const Blobs& top) {
  const Blob& x = *bottom[0];
  if (x.axes() != 4) bad_shape("its bottom has shape " + to_string(x.shape()) + ", it needs N x C x H x W");
  shape_.planes = x.count(0, 2);
  shape_.h = static_cast<int>(x.dim(2));
  shape_.w = static_cast<int>(x.dim(3));
  if (global_) {
    shape_.kh = shape_.h;
    shape_.kw = shape_.w;
  }
  shape_.oh = output_size(shape_.h, shape_.kh, shape_.sh, shape_.ph);
  shape_.ow = output_size(shape_.w, shape_.kw, shape_.sw, shape_.pw);
  const Shape shape = {x.dim(0), x.dim(1), shape_.oh, shape_.ow};
  precision_ = x.precision();
  shape_.layout = x.layout();
  top[0]->reshape(shape, precision_, x.layout());
  if (top.size() > 1) top[1]->reshape(shape);  // the mask
  const std::size_t bytes = static_cast<std::size_t>(top[0]->count()) * sizeof(int);
  if (!averages() && mask_.bytes() < bytes) mask_ = ClusterMemory(group(), bytes);
  if (by_lot() && sums_.bytes() < bytes) sums_ = ClusterMemory(group(), bytes);
  for (const char* direction : {"forward", "backward"}) chosen_[direction] = choose(direction);
}

bool PoolingLayer::averages_planes() const {
  const bool whole =
      shape_.oh == 1 && shape_.ow == 1 && shape_.kh - shape_.ph >= shape_.h && shape_.kw - shape_.pw >= shape_.w;
  return whole && averages() && shape_.layout == Layout::nchw;
}

namespace {
/// Launches a planned program that reads one array and writes another.
template <class Program, class T>
void launch(CoreGroup& group, Planned<Program> planned, const T* Program::*from, const T* in, T* Program::*to, T* out) {
  planned.program.*from = in;
  planned.program.*to = out;
  group.launch(planned.program, planned.plan);
}
}  // namespace

void PoolingLayer::forward(const Blobs& bottom, const Blobs& top) {
  run_plan("forward", [&] {
    if (chosen_.at("forward") == rows_plan && !averages_planes())
      return forward_by_rows(bottom[0]->data(), top[0]->mutable_data());
    with_element(precision_, [&](auto element) {
      using T = decltype(element);
      forward_by_planes(bottom[0]->data<T>(), top[0]->mutable_data<T>());
    });
  });
  if (top.size() > 1) write_mask(*top[1]);
}

template <class T>
void PoolingLayer::forward_by_planes(const T* x, T* y) {
  const MachineSpec& spec = group().spec();
  if (averages_planes()) {
    using Program = PlaneAverageForward<T>;
    return launch(group(), plan_plane_average_forward<T>(spec, shape_), &Program::x, x, &Program::y, y);
  }
  if (!takes_max()) {
    using Program = PoolPlanesForward<false, T>;
    return launch(group(), plan_planes_forward<false, T>(spec, shape_), &Program::x, x, &Program::y, y);
  }
  auto planned = plan_planes_forward<true, T>(spec, shape_);
  using Program = PoolPlanesForward<true, T>;
  planned.program.mask = mask_.as<int>();
  launch(group(), planned, &Program::x, x, &Program::y, y);
}

void PoolingLayer::forward_by_lot(const float* x, float* y) {
  const auto go = [&](auto planned) {
    using Program = decltype(planned.program);
    planned.program.sums = sums_.as<float>();
    planned.program.mask = mask_.as<int>();
    planned.program.key = random_key(0);
    planned.program.first = run().first_sample(shape_.planes) * shape_.oh * shape_.ow;
    launch(group(), planned, &Program::x, x, &Program::y, y);
  };
  if (run().phase == Phase::train)
    go(plan_stochastic_forward<true>(group().spec(), shape_));
  else
    go(plan_stochastic_forward<false>(group().spec(), shape_));
}

void PoolingLayer::forward_by_rows(const float* x, float* y) {
  if (by_lot()) return forward_by_lot(x, y);
  const MachineSpec& spec = group().spec();
  if (!takes_max())
    return launch(group(), plan_average_forward(spec, shape_), &AveragePoolForward::x, x, &AveragePoolForward::y, y);
  auto planned = plan_max_forward(spec, shape_);
  planned.program.mask = mask_.as<int>();
  launch(group(), planned, &MaxPoolForward::x, x, &MaxPoolForward::y, y);
}

void PoolingLayer::write_mask(Blob& top) {
  MaskToTop program{};
  program.mask = mask_.as<int>();
  program.top = top.mutable_data();
  program.n = top.count();
  program.depth = Depth::two;
  program.block = line_elements(group().spec(), program.n, 4);
  PlanBuilder book(group().spec());
  program.in = book.line("in", 4 * program.block, program.depth);
  program.out = book.line("out", 4 * program.block, program.depth);
  group().launch(program, book.plan((program.n + program.block - 1) / program.block));
}

void PoolingLayer::backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) {
  if (!propagate_down[0]) return;
  if (by_lot() && run().phase == Phase::test) bad_config("stochastic pooling has a gradient in training only");
  run_plan("backward", [&] {
    if (chosen_.at("backward") == rows_plan && !averages_planes())
      return backward_by_rows(top[0]->diff(), bottom[0]->mutable_diff());
    with_element(precision_, [&](auto element) {
      using T = decltype(element);
      backward_by_planes(top[0]->diff<T>(), bottom[0]->mutable_diff<T>());
    });
  });
}

template <class T>
void PoolingLayer::backward_by_planes(const T* dy, T* dx) {
  const MachineSpec& spec = group().spec();
  if (averages_planes()) {
    using Program = PlaneAverageBackward<T>;
    return launch(group(), plan_plane_average_backward<T>(spec, shape_), &Program::dy, dy, &Program::dx, dx);
  }
  if (!takes_max()) {
    using Program = PoolPlanesBackward<false, T>;
    return launch(group(), plan_planes_backward<false, T>(spec, shape_), &Program::dy, dy, &Program::dx, dx);
  }
  auto planned = plan_planes_backward<true, T>(spec, shape_);
  using Program = PoolPlanesBackward<true, T>;
  planned.program.mask = mask_.as<int>();
  launch(group(), planned, &Program::dy, dy, &Program::dx, dx);
}

void PoolingLayer::backward_by_rows(const float* dy, float* dx) {
  const MachineSpec& spec = group().spec();
  if (averages())
    return launch(group(), plan_average_backward(spec, shape_), &AveragePoolBackward::dy, dy, &AveragePoolBackward::dx,
                  dx);
  auto planned = plan_max_backward(spec, shape_);
  planned.program.mask = mask_.as<int>();
  launch(group(), planned, &MaxPoolBackward::dy, dy, &MaxPoolBackward::dx, dx);
}

/// Why a plan cannot run in a direction; empty: it can.
std::string PoolingLayer::refuse(const std::string& plan, const std::string& direction) const {
  if (plan == planes_plan && averages_planes()) return "one window holds each plane";
  if (plan == planes_plan && by_lot()) return "draws go by rows";
  if (plan == rows_plan && precision_ == Precision::bf16 && !averages_planes()) return "is for single precision";
  if (plan == rows_plan && shape_.layout != Layout::nchw) return "takes planes, not blocks of channels";
  const MachineSpec& spec = group().spec();
  const auto attempt = [&](auto of_max, auto of_average) {
    if (averages())
      of_average(spec, shape_);
    else
      of_max(spec, shape_);
  };
  const bool forward = direction == "forward";
  try {
    if (forward && by_lot())
      plan_stochastic_forward<true>(spec, shape_);
    else if (plan == rows_plan && forward)
      attempt(plan_max_forward, plan_average_forward);
    else if (plan == rows_plan)
      attempt(plan_max_backward, plan_average_backward);
    else if (forward)
      attempt(plan_planes_forward<true, float>, plan_planes_forward<false, float>);
    else
      attempt(plan_planes_backward<true, float>, plan_planes_backward<false, float>);
  } catch (const PlanError& error) { return error.what(); }
  return "";
}

/// The plan asked for; else planes where memory is near the lanes, rows where lines come by transfers, if they can run.
std::string PoolingLayer::choose(const std::string& direction) const {
  const MachineSpec& spec = group().spec();
  const auto wanted = wanted_.find(direction);
  if (wanted == wanted_.end()) {
    const bool planes = !spec.lines_in_scratch && spec.host_memory;
    const char *const best = planes ? planes_plan : rows_plan, *const other = planes ? rows_plan : planes_plan;
    return refuse(best, direction).empty() ? best : other;
  }
  const std::string& name = wanted->second;
  const std::string reason =
      name != planes_plan && name != rows_plan ? "there is no such plan" : refuse(name, direction);
  if (!reason.empty()) throw PlanError("layer '" + this->name() + "'", direction + " by " + name + ": " + reason);
  return name;
}

void PoolingLayer::choose_plans(const PlanBook& wanted) { wanted_ = wanted; }

std::vector<PlanOption> PoolingLayer::plan_options() const {
  const PoolShape& s = shape_;
  const std::string text = std::string(takes_max() ? "max"
                                       : by_lot()  ? "stochastic"
                                                   : "average") +
                           std::to_string(s.planes) + "x" + std::to_string(s.h) + "x" + std::to_string(s.w) + "k" +
                           std::to_string(s.kh) + "x" + std::to_string(s.kw) + "s" + std::to_string(s.sh) + "x" +
                           std::to_string(s.sw) + "p" + std::to_string(s.ph) + "x" + std::to_string(s.pw) +
                           (precision_ == Precision::bf16 ? "bf16" : "") + (shape_.layout == Layout::nchw ? "" : "c16");
  std::vector<PlanOption> options;
  for (const char* direction : {"forward", "backward"})
    for (const char* plan : {planes_plan, rows_plan})
      options.push_back({direction, text, plan, refuse(plan, direction), 0});
  return options;
}

PlanBook PoolingLayer::plans() const { return chosen_; }

Layer::Cost PoolingLayer::cost(const Blobs& bottom, const Blobs& top) const {
  const double in = static_cast<double>(bottom[0]->count()), out = static_cast<double>(top[0]->count());
  Cost cost;
  if (averages()) cost.forward_flops = cost.backward_flops = out * shape_.kh * shape_.kw;
  cost.forward_bytes = cost.backward_bytes = 4 * (in + out * (takes_max() ? 2 : 1));
  return cost;
}

}  // namespace cortado
