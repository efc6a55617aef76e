#include "layers/convolution/direct/direct.h"

#include <algorithm>
#include <vector>

#include "layers/convolution/direct/tiling.h"
#include "layers/convolution/gradient_parts.h"

namespace cortado {
namespace {

/// Kernels of one pixel see an image as one row.
ConvolutionShape flattened(ConvolutionShape s) {
  if (!s.is_pointwise()) return s;
  s.iw *= s.ih, s.ow *= s.oh;
  s.ih = s.oh = 1;
  return s;
}

/// A forward convolution, with what packs its weights.
template <class T>
struct Convolution {
  Planned<PackWeights<T>> pack;
  Planned<DirectForward<T>> forward;

  i64 floats() const { return forward.program.packed.floats(); }
  void pack_weights(CoreGroup& group, const float* w, float* to) const {
    launch(group, pack, [&](auto& p) { p.w = w, p.to = reinterpret_cast<Operand<T>*>(to); });
  }
  /// `arg` has what else happens to y.
  void run(CoreGroup& group, const T* x, const float* packed, T* y, const ConvolutionArguments& arg) const {
    launch(group, forward, [&](auto& p) {
      p.x = x, p.w = reinterpret_cast<const Operand<T>*>(packed), p.y = y, p.sums = arg.sums;
      arg.map_by(p.map);
      arg.join_to(p.other);
    });
  }
};

/// `w` are weights of shape s, of which the program takes those at the kernel positions y and x, `turned` for the input
/// gradient.
template <class T>
PackWeights<T> pack_program(const PackedWeights& packed, const ConvolutionShape& s, bool turned, const KernelPart& y,
                            const KernelPart& x) {
  PackWeights<T> p{};
  p.packed = packed;
  p.channels = turned ? s.group_oc() : s.group_ic();
  p.kernel = s.kh * s.kw;
  p.output_pitch = turned ? p.kernel : s.terms();
  p.channel_pitch = turned ? s.terms() : p.kernel;
  p.group_pitch = s.group_oc() * s.terms();
  p.kw = s.kw;
  p.y = y, p.x = x;
  return p;
}

/// Notes why it cannot run, and what it decides, in `plan`.
template <class T>
Convolution<T> convolution(const MachineSpec& spec, const DirectForward<T>& program, const PackWeights<T>& pack,
                           ConvolutionPlan& plan) {
  Convolution<T> c;
  c.forward = planned(spec, program, 0, plan.refused);
  c.pack = planned(spec, pack, 0, plan.refused);
  c.forward.plan.streams =
      spec.outgrows_cache(program.s.images * program.s.oc * program.y_plane * static_cast<i64>(sizeof(T)));
  const DirectTiles& t = program.tile;
  plan.decisions.insert(plan.decisions.end(), {t.images, t.rows, t.cols, t.panels, program.packed.slice});
  plan.workspace = std::max(plan.workspace, c.floats());
  return c;
}

template <class T>
void plan_forward(const MachineSpec& spec, const ConvolutionShape& s, const DirectVariant& variant,
                  ConvolutionPlan& plan) {
  const auto program = direct::forward_program<T>(spec, s, s.kh * s.kw, variant);
  const auto pack = pack_program<T>(program.packed, s, false, {0, -1, s.kh}, {0, -1, s.kw});
  const auto c = convolution(spec, program, pack, plan);
  plan.kept_weights = plan.workspace;
  if (s.dst == Layout::nchw16c) plan.partial_sums = program.pixel_tiles();
  plan.maps = true;
  plan.run = [c](CoreGroup& group, const ConvolutionArguments& arg, float* workspace) {
    float* const packed = arg.kept != nullptr ? arg.kept : workspace;
    if (!arg.are_kept) c.pack_weights(group, arg.w, packed);
    c.run(group, arg.x_as<T>(), packed, arg.out_as<T>(), arg);
  };
}

template <class T>
void plan_weight_gradient(const MachineSpec& spec, const ConvolutionShape& s, const DirectVariant& variant,
                          ConvolutionPlan& plan) {
  const auto gradient = planned(spec, direct::weight_gradient_program<T>(spec, s, variant), 0, plan.refused);
  const DirectWeightGradient<T>& p = gradient.program;
  const auto unpack = planned(spec, UnpackWeights{nullptr, nullptr, p.packed, p.parts, false, {}, {}}, 0, plan.refused);
  plan.decisions = {p.tile.images, p.tile.rows, p.tile.cols, p.tile.panels, p.packed.slice, p.parts};
  plan.workspace = p.parts * p.packed.floats();
  plan.sets = true;
  plan.run = [gradient, unpack](CoreGroup& group, const ConvolutionArguments& arg, float* workspace) {
    launch(group, gradient, [&](auto& g) { g.x = arg.x_as<T>(), g.dy = arg.dy_as<T>(), g.dw = workspace; });
    launch(group, unpack, [&](auto& u) { u.from = workspace, u.dw = arg.out_as<float>(), u.sets = arg.sets; });
  };
}

/// Books what joining another gradient takes, too; false if that does not fit.
template <class T>
bool book_other(const MachineSpec& spec, Planned<DirectForward<T>>& forward) {
  DirectForward<T> p = forward.program;
  PlanBuilder builder(spec);
  book(p, builder);
  p.y_buf = builder.line<float>("outputs", p.tile.cols * block_channels, 1);
  book(p.other, p.tile.cols, builder);
  if (!builder.fits()) return false;
  const bool streams = forward.plan.streams;
  forward = {p, builder.plan(0)};
  forward.plan.streams = streams;
  return true;
}

/// Inputs that no kernel position meets, at strides beyond the kernel, get zeros.
template <class T>
void plan_input_gradient(const MachineSpec& spec, const ConvolutionShape& s, const DirectVariant& variant,
                         ConvolutionPlan& plan) {
  struct Part {
    Convolution<T> convolution;
    i64 first;  ///< of its inputs
  };
  std::vector<Part> made;
  const auto parts = gradient_parts(s);
  for (const auto& part : parts) {
    if (part.empty()) continue;
    auto program = direct::forward_program<T>(spec, part.shape(s), s.kh * s.kw, variant);
    program.y_plane = s.ih * s.iw, program.y_row = s.sh * s.iw, program.y_col = s.sw;
    const auto pack = pack_program<T>(program.packed, s, true, part.y.kernel, part.x.kernel);
    made.push_back({convolution(spec, program, pack, plan), part.first * channel_block(s.src)});
  }
  if (parts.size() == 1 && !made.empty() && s.src == Layout::nchw16c && plan.refused.empty())
    plan.joins = book_other(spec, made[0].convolution.forward);
  const std::size_t zeros = leave_gaps(parts) ? static_cast<std::size_t>(s.mb * s.src_image()) * sizeof(T) : 0;
  plan.run = [made, zeros](CoreGroup& group, const ConvolutionArguments& arg, float* workspace) {
    if (zeros > 0) group.zero(arg.out, zeros);
    for (const Part& part : made) {
      part.convolution.pack_weights(group, arg.w, workspace);
      part.convolution.run(group, arg.dy_as<T>(), workspace, arg.out_as<T>() + part.first, arg);
    }
  };
}

ConvolutionPlan plan_direct(const MachineSpec& spec, const ConvolutionShape& shape, ConvolutionDirection direction,
                            const DirectVariant& variant) {
  ConvolutionPlan plan;
  if (!spec.works_from_caches())
    plan.refused = "multiplies single inputs with vectors of weights: written for cores with caches, which work alone";
  if (!plan.refused.empty()) return plan;
  const ConvolutionShape s = flattened(shape);
  with_element(shape.precision, [&](auto element) {
    using T = decltype(element);
    switch (direction) {
      case ConvolutionDirection::forward: return plan_forward<T>(spec, s, variant, plan);
      case ConvolutionDirection::weight_gradient: return plan_weight_gradient<T>(spec, s, variant, plan);
      case ConvolutionDirection::input_gradient: return plan_input_gradient<T>(spec, s, variant, plan);
    }
  });
  return plan;
}

}  // namespace

ConvolutionCandidate::Planner direct_convolution(const DirectVariant& variant) {
  return [variant](CoreGroup& group, const ConvolutionShape& shape, ConvolutionDirection direction) {
    return plan_direct(group.spec(), shape, direction, variant);
  };
}

bool direct_pays(const MachineSpec&, const ConvolutionShape& s, ConvolutionDirection direction) {
  if (s.g > 1 || s.precision != Precision::fp32 || !s.in_planes()) return true;
  if (direction == ConvolutionDirection::input_gradient) return s.ic >= 32 || s.sw > 1 || 4 * s.ow >= 3 * s.iw;
  return s.terms() >= 32;
}

}  // namespace cortado
