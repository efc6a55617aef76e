#include "layers/convolution/winograd/winograd.h"

#include <algorithm>

#include "layers/convolution/winograd/phases.h"
#include "layers/convolution/winograd/plan_forward.h"
#include "layers/convolution/winograd/plan_gradient.h"

namespace cortado {
namespace {

/// True if F(6x6, 3x3) takes so many products less than F(4x4, 3x3) that they outweigh its 28 points more of each
/// weight, which must be made, stored and read, whatever the tiles. A weight gradient needs enough tiles for sums of
/// them.
bool six_pays(const ConvolutionShape& s, ConvolutionDirection direction) {
  using winograd::F4x3, winograd::F6x3, winograd::points_of;
  constexpr i64 enough = 200, worth = 650;
  const i64 saved =
      s.mb * (points_of<F4x3>(s.oh) * points_of<F4x3>(s.ow) - points_of<F6x3>(s.oh) * points_of<F6x3>(s.ow));
  if (direction != ConvolutionDirection::weight_gradient) return saved >= worth;
  return saved > 0 && s.mb * ceil_div(s.oh, F6x3::outputs) * ceil_div(s.ow, F6x3::outputs) >= enough;
}

/// True if making the points of weights, each as long as ten products, outweighs what a 3 x 3 kernel's tiles save.
bool has_few_tiles(const ConvolutionShape& s) {
  using winograd::F4x3, winograd::points_of;
  return 9 * s.mb * s.oh * s.ow < s.mb * points_of<F4x3>(s.oh) * points_of<F4x3>(s.ow) + 10 * F4x3::products;
}

/// Calls f with the structure F for a direction of a shape that is as_dense.
template <class Function>
auto with_structure(const ConvolutionShape& s, ConvolutionDirection direction, const WinogradVariant& variant,
                    Function f) {
  if (s.kh == 5) return f(winograd::F4x5());
  if (s.kh == 4) return f(winograd::F5x4());
  if (variant.halves) return f(winograd::F2x3());
  return variant.small || !six_pays(s, direction) ? f(winograd::F4x3()) : f(winograd::F6x3());
}

/// The shape whose tiles a direction works on: at strides that of the phases, and an input gradient at stride 1 is a
/// forward convolution.
ConvolutionShape as_dense(ConvolutionShape s, ConvolutionDirection direction) {
  if (is_strided(s)) s = shape_of_phases(s);
  if (direction != ConvolutionDirection::input_gradient) return s;
  std::swap(s.ic, s.oc);
  std::swap(s.src, s.dst);
  std::swap(s.ih, s.oh);
  std::swap(s.iw, s.ow);
  s.ph = s.kh - 1 - s.ph, s.pw = s.kw - 1 - s.pw;
  return s;
}

/// Plans a shape that is as_dense.
ConvolutionPlan plan_dense(const MachineSpec& spec, const ConvolutionShape& s, ConvolutionDirection direction,
                           const WinogradVariant& variant) {
  ConvolutionPlan plan;
  with_element(s.precision, [&](auto element) {
    using T = decltype(element);
    plan = with_structure(s, direction, variant, [&](auto f) {
      using F = decltype(f);
      if (direction == ConvolutionDirection::weight_gradient)
        return winograd::plan_weight_gradient<F, T>(spec, s, variant);
      return winograd::plan_forward<F, T>(spec, s, direction == ConvolutionDirection::input_gradient, variant);
    });
  });
  return plan;
}

/// Images that a strided convolution takes at a time: their phases stay in a cache.
struct PhasedImages {
  i64 images;
  MakePhases make_phases;
  ConvolutionPlan dense;
};

/// Forward or the weight gradient at strides, some images at a time. The workspace has the phases of images and of
/// weights, or their gradients, in whole cache lines each, and then that of the dense plans.
ConvolutionPlan plan_in_phases(const MachineSpec& spec, const ConvolutionShape& s, ConvolutionDirection direction,
                               const WinogradVariant& variant) {
  constexpr i64 cached = i64{4} << 20;
  const bool is_gradient = direction == ConvolutionDirection::weight_gradient;
  const ConvolutionShape dense = as_dense(s, direction);
  const i64 together = even_part(dense.mb, std::max<i64>(1, cached / dense.src_image())),
            of_images = round_up(together * dense.src_image(), i64{16}),
            of_weights = round_up(dense.oc * dense.terms(), i64{16});
  std::string refused;
  const auto part_of = [&](i64 images) {
    ConvolutionShape part = dense;
    part.mb = images;
    return PhasedImages{images, plan_phases(spec, s, images, refused), plan_dense(spec, part, direction, variant)};
  };
  const PhasedImages whole = part_of(together), last = part_of(s.mb % together > 0 ? s.mb % together : together);
  const auto weights = plan_phases_of_weights(spec, s, refused);

  ConvolutionPlan plan = whole.dense;
  if (plan.refused.empty()) plan.refused = last.dense.refused.empty() ? refused : last.dense.refused;
  plan.workspace = of_images + of_weights + std::max(whole.dense.workspace, last.dense.workspace);
  plan.decisions.insert(plan.decisions.end(), last.dense.decisions.begin(), last.dense.decisions.end());
  const i64 sums = whole.dense.partial_sums / together;  // of an image
  plan.partial_sums = sums * s.mb;
  plan.sets = false;
  plan.run = [=](CoreGroup& group, const ConvolutionArguments& arg, float* workspace) {
    float *const of_phases = workspace + of_images, *const rest = of_phases + of_weights;
    if (is_gradient)
      group.zero(of_phases, static_cast<std::size_t>(of_weights) * sizeof(float));
    else if (!arg.are_kept)
      weights.to_phases(group, arg.w, of_phases);
    with_element(s.precision, [&](auto element) {
      using T = decltype(element);
      for (i64 first = 0; first < s.mb; first += together) {
        const PhasedImages& part = s.mb - first < together ? last : whole;
        part.make_phases(group, arg.x_as<T>() + first * s.src_image(), workspace);
        ConvolutionArguments of_part{workspace, of_phases, nullptr, of_phases};
        if (is_gradient) {
          of_part.dy = arg.dy_as<T>() + first * s.dst_image();
        } else {
          of_part.out = arg.out_as<T>() + first * s.dst_image();
          of_part.map = arg.map;
          of_part.kept = arg.kept, of_part.are_kept = arg.are_kept || (arg.kept != nullptr && first > 0);
          if (arg.sums != nullptr) of_part.sums = arg.sums + sums * first * 2 * s.oc;
        }
        part.dense.run(group, of_part, rest);
      }
    });
    if (is_gradient) weights.add_from_phases(group, of_phases, arg.out_as<float>());
  };
  return plan;
}

std::string refuse(const MachineSpec& spec, const ConvolutionShape& s, ConvolutionDirection direction,
                   const WinogradVariant& variant) {
  if (!spec.works_from_caches())
    return "keeps planes and matrices of points where a cache holds them: written for cores with caches";
  const Phases phases = phases_of(s);
  const bool known = phases.taps_h == phases.taps_w &&
                     (variant.halves ? s.kh == 3 && !is_strided(s) : phases.taps_h >= 3 && phases.taps_h <= 5);
  if (!known || s.dh != 1 || s.dw != 1)
    return std::string("is for kernels of 3 x 3 ") +
           (variant.halves ? "at stride 1" : "to 5 x 5 in phases of the stride") + ", without dilation";
  if (is_strided(s) && direction == ConvolutionDirection::input_gradient)
    return "makes no input gradients at strides beyond 1";
  const bool pads_far = direction != ConvolutionDirection::forward && (s.ph >= s.kh || s.pw >= s.kw);
  return pads_far ? "pads by more than the kernel reaches" : "";
}

}  // namespace

ConvolutionCandidate::Planner winograd_convolution(const WinogradVariant& variant) {
  return [variant](CoreGroup& group, const ConvolutionShape& shape, ConvolutionDirection direction) {
    ConvolutionPlan plan;
    plan.refused = refuse(group.spec(), shape, direction, variant);
    if (!plan.refused.empty()) return plan;
    return is_strided(shape) ? plan_in_phases(group.spec(), shape, direction, variant)
                             : plan_dense(group.spec(), as_dense(shape, direction), direction, variant);
  };
}

bool winograd_pays(const MachineSpec& spec, const ConvolutionShape& shape, ConvolutionDirection direction) {
  const ConvolutionShape s = as_dense(shape, ConvolutionDirection::forward);
  // The products are of float whatever is stored; other plans multiply bf16 faster, matrix units most of all.
  const int others = s.precision == Precision::bf16 ? spec.bf16_speed : 1;
  if (others > 2 || std::min(s.oh, s.ow) < 7) return false;
  if (!is_strided(shape) && s.kh == 3 && direction != ConvolutionDirection::weight_gradient && has_few_tiles(s))
    return false;
  const bool is_light = others == 1 && direction == ConvolutionDirection::forward;
  const i64 least = is_strided(shape) ? (is_light ? 12 : 32)
                    : s.kh == 5       ? (others == 1 ? 16 : 32)
                                      : (others == 1 ? 48 : 64);
  const i64 groups =
      winograd::padded(s.group_ic()) * winograd::padded(s.group_oc()) / (winograd::lanes * winograd::lanes);
  if (direction == ConvolutionDirection::weight_gradient && groups < spec.cpes) return false;
  if (is_strided(shape) || s.kh == 5) return std::min(s.group_ic(), s.group_oc()) >= least;
  // For a tile, products are as many as inputs times outputs, and transforms as many as their sum.
  const i64 large_planes = others == 1 && std::min(s.oh, s.ow) >= 24 ? 8 : 0;
  return 2 * s.group_ic() * s.group_oc() >= (least - large_planes) * (s.group_ic() + s.group_oc());
}

}  // namespace cortado
