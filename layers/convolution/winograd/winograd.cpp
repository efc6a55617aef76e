#include <algorithm>
#include <array>
#include <type_traits>

#include "core/machine/parts.h"
#include "layers/convolution/candidates.h"
#include "layers/convolution/winograd/phases.h"
#include "layers/convolution/winograd/programs.h"

namespace cortado {
namespace {

/// Tiles of WinogradConvolve, at most.
struct TileForm {
  i64 tiles;       ///< of Winograd's
  i64 vectors;     ///< of outputs
  i64 own_blocks;  ///< blocks of inputs of a batch up to which tiles make the points of weights themselves
};
constexpr TileForm wide = {14, 8, 0},  // inputs' points stay in a cache while those of weights stream past them
    tall = {56, 2, 4},                 // those of weights, which outgrow caches, are used more often when they come
    tall_of_six = {56, 2, 2};          // of F(6x6, 3x3), whose points of weights take longer to make
/// Terms of weights whose points a tile makes at a time: they stay in a second-level cache beside the sums.
constexpr i64 own_terms = 64;

/// What a variant does differently from `winograd` itself: for the tuner, who measures them.
struct WinogradVariant {
  const char* suffix;    ///< of its name
  i64 cached;            ///< floats of matrices that a weight gradient works on at a time
  const TileForm* form;  ///< of the other directions; null: the likely one
  bool small;            ///< F(4x4, 3x3), and not F(6x6, 3x3) where that takes fewer products
};

constexpr WinogradVariant winograd_variants[] = {{"", i64{4} << 20, nullptr, false},
                                                 {":4x4", i64{4} << 20, nullptr, true},
                                                 {":small_parts", i64{1} << 20, nullptr, false},
                                                 {":large_parts", i64{16} << 20, nullptr, false},
                                                 {":wide_tiles", i64{4} << 20, &wide, false},
                                                 {":tall_tiles", i64{4} << 20, &tall, false}};

/// Winograd's F, for kernels of 3 x 3 F(6x6) or F(4x4), or F(2x2), and at strides of the inputs' phases. Forward one
/// program makes points of inputs, their products and, from those, outputs; the input gradient is the forward
/// convolution with turned weights. The weight gradient is the exact transpose of the forward algorithm: points of a
/// part of the batch at a time, then, in one program, their products and the weights' gradients. Errors:
/// docs/design/cpu.md.
class WinogradConvolution : public ConvolutionCandidate {
 public:
  /// `halves`: F(2x2, 3x3). `variant` is one of winograd_variants.
  WinogradConvolution(bool halves, const WinogradVariant& variant) : halves_(halves), variant_(variant) {}
  std::string name() const override { return std::string(halves_ ? "winograd_2x2" : "winograd") + variant_.suffix; }
  std::string refuse(CoreGroup& group, const ConvolutionShape& shape, ConvolutionDirection direction) const override;
  bool pays(const MachineSpec& spec, const ConvolutionShape& shape, ConvolutionDirection direction) const override;
  bool takes_blocks() const override { return true; }
  i64 workspace(CoreGroup& group, const ConvolutionShape& shape, ConvolutionDirection direction) const override;
  i64 kept_weights(CoreGroup& group, const ConvolutionShape& shape) const override;
  i64 sum_parts(CoreGroup& group, const ConvolutionShape& shape) const override;
  bool sets_weights(const ConvolutionShape& shape) const override { return !is_strided(shape); }
  void run(CoreGroup& group, const ConvolutionShape& shape, ConvolutionDirection direction,
           const ConvolutionArguments& arguments, float* workspace) const override;

 private:
  void run_in_phases(CoreGroup& group, const ConvolutionShape& shape, ConvolutionDirection direction,
                     const ConvolutionArguments& arguments, float* workspace) const;
  /// Of a shape that is as_dense.
  void run_dense(CoreGroup& group, const ConvolutionShape& s, ConvolutionDirection direction,
                 const ConvolutionArguments& arguments, float* workspace) const;
  template <class F>
  void run_as(CoreGroup& group, const ConvolutionShape& s, ConvolutionDirection direction,
              const ConvolutionArguments& arguments, float* workspace) const;
  /// Calls f with the structure F for a direction of a shape that is as_dense.
  template <class Function>
  auto with_structure(const ConvolutionShape& s, ConvolutionDirection direction, const WinogradVariant& variant,
                      Function f) const;
  template <class Function>
  auto with_structure(const ConvolutionShape& s, ConvolutionDirection direction, Function f) const {
    return with_structure(s, direction, variant_, f);
  }

  const bool halves_;
  const WinogradVariant& variant_;
};

/// Terms of a line of weights: enough to be worth a launch's line, few enough to spread.
constexpr i64 line_terms = 16;

/// Outputs of the last tile of so many pixels.
template <class F>
i64 last_outputs(i64 pixels) {
  const i64 beyond = ceil_div(pixels, F::outputs) * F::outputs - pixels;
  return std::max(F::least, F::outputs - beyond / F::fewer * F::fewer);
}
/// Points of so many pixels one way.
template <class F>
i64 points_of(i64 pixels) {
  return (ceil_div(pixels, F::outputs) - 1) * F::points + last_outputs<F>(pixels) + F::kernel - 1;
}

/// Whether F(6x6, 3x3) takes fewer products than F(4x4, 3x3) and, for a weight gradient, enough tiles for sums of them.
bool six_pays(const ConvolutionShape& s, ConvolutionDirection direction) {
  using winograd::F4x3, winograd::F6x3;
  constexpr i64 enough = 200;
  const i64 tiles = s.mb * ceil_div(s.oh, F6x3::outputs) * ceil_div(s.ow, F6x3::outputs);
  return points_of<F6x3>(s.oh) * points_of<F6x3>(s.ow) < points_of<F4x3>(s.oh) * points_of<F4x3>(s.ow) &&
         (direction != ConvolutionDirection::weight_gradient || tiles >= enough);
}

template <class Function>
auto WinogradConvolution::with_structure(const ConvolutionShape& s, ConvolutionDirection direction,
                                         const WinogradVariant& variant, Function f) const {
  if (s.kh == 5) return f(winograd::F4x5());
  if (s.kh == 4) return f(winograd::F5x4());
  if (halves_) return f(winograd::F2x3());
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

/// What a weight gradient works on at a time: whole images, or some rows of tiles of one, so that their points stay in
/// a cache.
template <class F>
struct Parts {
  i64 images, rows, cols;  ///< of tiles; rows of one image
  i64 all_rows;

  Parts(const ConvolutionShape& s, const WinogradVariant& variant) {
    all_rows = ceil_div(s.oh, F::outputs), cols = ceil_div(s.ow, F::outputs);
    const i64 of_tile = F::products * (winograd::padded(s.group_ic()) + winograd::padded(s.group_oc())),
              most = std::max<i64>(1, variant.cached / of_tile);
    images = even_part(s.mb, most / (all_rows * cols));
    rows = images > 1 ? all_rows : even_part(all_rows, most / cols);
  }
  i64 tiles() const { return images * rows * cols; }
  /// Of the points of inputs or of gradients.
  i64 floats(i64 channels) const { return F::products * winograd::distance(tiles(), channels); }
};

template <class F, bool gradients, class T>
void book(WinogradTransform<F, gradients, T>& p, PlanBuilder& book) {
  p.pixels.buf = book.tile("pixels", p.pixels.bytes(), 1);
  p.v_buf = book.tile("points", 4 * F::products * winograd::lanes, 1);
}

template <class F, bool gradients, class T>
void transform(CoreGroup& group, const WinogradPixels<F, gradients, T>& pixels, float* v) {
  WinogradTransform<F, gradients, T> p{pixels, v, {}};
  PlanBuilder builder(group.spec());
  book(p, builder);
  group.launch(p, builder.plan(pixels.tiles.lines()));
}

/// The program but for its division into tiles.
template <class F, class T>
WinogradConvolve<F, T> program_of(const ConvolutionShape& s) {
  WinogradConvolve<F, T> p{};
  p.out = {s.mb,
           s.group_oc(),
           s.oc,
           0,
           ceil_div(s.oh, F::outputs),
           ceil_div(s.ow, F::outputs),
           last_outputs<F>(s.oh),
           last_outputs<F>(s.ow)};
  p.height = s.oh, p.width = s.ow, p.layout = s.dst;
  p.in.height = s.ih, p.in.width = s.iw, p.in.pad_h = s.ph, p.in.pad_w = s.pw, p.in.layout = s.src;
  p.in.tiles = p.out;
  p.in.tiles.channels = s.group_ic(), p.in.tiles.image_channels = s.ic;
  p.filters.line_terms = line_terms;
  p.rows = p.shares = 1;
  return p;
}

template <class F, class T>
void book(WinogradConvolve<F, T>& p, PlanBuilder& book) {
  p.in.buf = book.tile("pixels of inputs", p.in.bytes(), 1);
  p.v_buf = book.spill("points of inputs", 4 * p.most_points());
  if (p.own_terms > 0) {
    p.filters.buf = book.tile("weights", p.filters.bytes(), 1);
    p.u_buf = book.spill("points of weights", 4 * F::products * winograd::distance(p.own_terms, p.panels.panel));
  } else {
    p.u_buf = book.tile("points of weights", 4 * p.panels.terms * p.panels.panel, 1);
  }
  p.acc_buf = book.spill("sums", 4 * p.most_sums());
  const i64 pixels = 4 * F::outputs * p.width * winograd::lanes;
  p.y_buf = p.layout == Layout::nchw16c ? book.line("pixels", pixels, 1) : book.tile("pixels", pixels, 1);
  p.sums_buf = book.line("sums of outputs", 8 * block_channels, 1);
}

template <class F>
const TileForm& form_of(const ConvolutionShape& s, const WinogradVariant& variant) {
  if (variant.form != nullptr) return *variant.form;
  if (std::is_same_v<F, winograd::F6x3>) return tall_of_six;
  return std::min(s.group_ic(), s.group_oc()) >= 256 ? tall : wide;
}

template <class F, class T>
bool fits(const MachineSpec& spec, WinogradConvolve<F, T> p) {
  PlanBuilder builder(spec);
  book(p, builder);
  return builder.fits() && 4 * p.most_sums() <= spec.scratch_bytes;
}

/// Of a group: as many vectors together as the form asks for, in equal panels, and as leave the sums of the form's rows
/// of Winograd's tiles, or else those of one row, no larger than the scratchpad; of none if there is no room for that.
template <class F>
WinogradPanels panels_of(const MachineSpec& spec, const ConvolutionShape& s, const TileForm& form) {
  auto p = program_of<F, float>(s);
  const i64 vectors = winograd::padded(s.group_oc()) / winograd::lanes;
  for (const i64 rows : {std::max<i64>(1, form.tiles / p.out.cols), i64{1}})
    for (i64 most = form.vectors; most > 0; --most) {
      p.rows = rows;
      p.panels = {s.group_oc(), s.group_ic(), F::products,
                  ceil_div(vectors, ceil_div(vectors, most)) * winograd::lanes};
      if (fits(spec, p)) return p.panels;
    }
  return {};
}

/// The program with its panels and tiles: as many rows as the form asks for and as fit, or down to half as many if that
/// leaves equal work for every CPE; else CPEs share the panels of a tile.
template <class F, class T>
WinogradConvolve<F, T> tiled_program(const MachineSpec& spec, const ConvolutionShape& s, const TileForm& form) {
  auto p = program_of<F, T>(s);
  p.panels = panels_of<F>(spec, s, form);
  if (p.panels.panel == 0) return p;
  const i64 all = p.all_rows(), cols = p.out.cols, enough = std::min(form.tiles, all * cols);
  const auto is_spread = [&] { return spec.is_spread(p.tiles()); };
  i64 most = even_part(all, std::max<i64>(1, form.tiles / cols));
  for (p.rows = most; p.rows > 1 && !fits(spec, p);) most = p.rows = even_part(all, p.rows - 1);
  for (; !is_spread() && p.rows > 1; p.rows = even_part(all, p.rows - 1))
    if (2 * even_part(all, p.rows - 1) * cols <= enough) break;
  if (!is_spread()) p.rows = most;
  while (!is_spread() && p.shares < p.panels.count()) ++p.shares;
  if (p.blocks() <= form.own_blocks) p.own_terms = std::min(own_terms, s.group_ic());
  if (!fits(spec, p)) p.own_terms = 0;
  return p;
}

/// Weights of a direction; `turned` for the input gradient, in whose shape inputs and outputs have changed places.
template <class F>
WinogradFilters<F> filters_of(const ConvolutionShape& s, bool turned, const float* w) {
  const i64 taps = F::kernel * F::kernel, to_term = turned ? taps * s.group_oc() : taps,
            to_output = turned ? taps : taps * s.group_ic();
  return {w, s.group_oc(), s.group_ic(), to_output, to_term, turned, line_terms, {}};
}

/// Weights to points.
template <class F>
void transform_weights(CoreGroup& group, const WinogradFilters<F>& filters, const WinogradPanels& panels,
                       float* points) {
  WinogradWeights<F> weights{filters, points, panels, {}};
  PlanBuilder book(group.spec());
  weights.filters.buf = book.tile("weights", filters.bytes(), 1);
  weights.u_buf = book.tile("points", 4 * F::products * winograd::lanes, 1);
  group.launch(weights, book.plan(weights.lines()));
}

/// Forward, or the input gradient as a forward convolution of `turned` weights. Group by group.
template <class F, class T>
void run_forward(CoreGroup& group, const ConvolutionShape& s, bool turned, const TileForm& form,
                 const ConvolutionArguments& arg, float* workspace) {
  auto p = tiled_program<F, T>(group.spec(), s, form);
  if (arg.kept != nullptr) p.own_terms = 0;
  for (i64 g = 0; g < s.g; ++g) {
    p.in.x = (turned ? arg.dy_as<T>() : arg.x_as<T>()) + g * s.group_ic() * s.ih * s.iw;
    p.y = arg.out_as<T>() + g * s.group_oc() * s.oh * s.ow;
    p.sums = arg.sums == nullptr ? nullptr : arg.sums + g * s.group_oc();
    p.filters = filters_of<F>(s, turned, arg.w + g * s.terms() * s.group_oc());
    if (p.own_terms == 0) {
      float* const points = arg.kept != nullptr ? arg.kept + g * p.panels.floats() : workspace;
      if (!arg.are_kept) transform_weights<F>(group, p.filters, p.panels, points);
      p.u = points;
    }
    PlanBuilder builder(group.spec());
    book(p, builder);
    Plan plan = builder.plan(0);
    plan.streams = group.spec().outgrows_cache(s.mb * s.dst_image() * static_cast<i64>(sizeof(T)));
    group.launch(p, plan);
  }
}

/// The program with slices of 64 inputs by 32 outputs, or fewer where that leaves equal work for every CPE.
template <class F>
WinogradGradient<F> gradient_program(const MachineSpec& spec, const WinogradTiles& of_x, const WinogradTiles& of_y) {
  WinogradGradient<F> p{};
  p.of_x = of_x, p.of_y = of_y;
  p.in_groups = even_part(of_x.groups(), 4), p.out_groups = even_part(of_y.groups(), 2);
  p.line_terms = line_terms;
  const auto is_spread = [&] { return spec.is_spread(p.tiles()); };
  while (p.in_groups > 1 && !is_spread()) p.in_groups = even_part(of_x.groups(), p.in_groups - 1);
  if (!is_spread()) p.out_groups = 1;
  return p;
}

/// dw += what the points of a part of the batch make, or is set to it.
template <class F>
void multiply_to_weights(CoreGroup& group, const float* x, const float* dy, float* dw, bool sets,
                         const WinogradTiles& of_x, const WinogradTiles& of_y) {
  auto p = gradient_program<F>(group.spec(), of_x, of_y);
  p.x = x, p.dy = dy, p.dw = dw, p.sets = sets;
  const i64 block = 4 * winograd::lanes * winograd::lanes, weights = 4 * line_terms * p.taps * winograd::lanes;
  PlanBuilder book(group.spec());
  p.x_buf = book.spill("points of inputs", 4 * p.in_groups * of_x.count() * winograd::lanes);
  p.dy_buf = book.spill("points of gradients", 4 * p.out_groups * of_y.count() * winograd::lanes);
  p.acc_buf = book.spill("sums", F::products * p.in_groups * p.out_groups * block);
  p.old_buf = book.tile("old weights", weights, 1);
  p.dw_buf = book.tile("weights", weights, 1);
  Plan plan = book.plan(p.tiles());
  plan.streams = sets;  // nobody reads it before the other layers' gradients are made
  group.launch(p, plan);
}

/// Calls work(first image, tiles of x, tiles of y) for each part.
template <class F, class Work>
void for_parts(const ConvolutionShape& s, const Parts<F>& parts, Work work) {
  for (i64 image = 0; image < s.mb; image += parts.images)
    for (i64 row = 0; row < parts.all_rows; row += parts.rows) {
      const i64 rows = std::min(parts.rows, parts.all_rows - row);
      const bool ends = row + rows == parts.all_rows;
      WinogradTiles of_x{std::min(parts.images, s.mb - image),      s.group_ic(),         s.ic, row, rows, parts.cols,
                         ends ? last_outputs<F>(s.oh) : F::outputs, last_outputs<F>(s.ow)};
      WinogradTiles of_y = of_x;
      of_y.channels = s.group_oc(), of_y.image_channels = s.oc;
      work(image, of_x, of_y);
    }
}

/// Group by group.
template <class F, class T>
void run_weight_gradient(CoreGroup& group, const ConvolutionShape& s, const Parts<F>& parts,
                         const ConvolutionArguments& arg, float* workspace) {
  float *const of_in = workspace, *const of_dy = workspace + parts.floats(s.group_ic());
  for (i64 g = 0; g < s.g; ++g) {
    const T* const in = arg.x_as<T>() + g * s.group_ic() * s.ih * s.iw;
    const T* const dy = arg.dy_as<T>() + g * s.group_oc() * s.oh * s.ow;
    float* const dw = arg.out_as<float>() + g * s.terms() * s.group_oc();
    bool sets = arg.sets;
    for_parts(s, parts, [&](i64 image, const WinogradTiles& of_x, const WinogradTiles& of_y) {
      transform<F, false, T>(group, {in + image * s.src_image(), s.ih, s.iw, s.ph, s.pw, s.src, of_x, {}}, of_in);
      transform<F, true, T>(group, {dy + image * s.dst_image(), s.oh, s.ow, 0, 0, s.dst, of_y, {}}, of_dy);
      multiply_to_weights<F>(group, of_in, of_dy, dw, sets, of_x, of_y);
      sets = false;
    });
  }
}

/// What a variant decides: of a weight gradient the images and rows of a part, else the outputs of a panel, 0 if a row
/// of tiles does not fit, and the rows, shares and own terms of a tile; then the points.
using Decisions = std::array<i64, 5>;

template <class F>
Decisions decisions(const MachineSpec& spec, const ConvolutionShape& shape, ConvolutionDirection direction,
                    const WinogradVariant& variant) {
  const ConvolutionShape s = as_dense(shape, direction);
  if (direction == ConvolutionDirection::weight_gradient) {
    const Parts<F> parts(s, variant);
    WinogradTransform<F, false, float> inputs{};  // which read more than those of gradients
    inputs.pixels.tiles.cols = parts.cols;
    PlanBuilder builder(spec);
    book(inputs, builder);
    return {builder.fits() ? parts.images : 0, parts.rows, 0, 0, F::points};
  }
  const auto p = tiled_program<F, float>(spec, s, form_of<F>(s, variant));
  return {p.panels.panel, p.rows, p.shares, p.own_terms, F::points};
}

std::string WinogradConvolution::refuse(CoreGroup& group, const ConvolutionShape& s,
                                        ConvolutionDirection direction) const {
  const MachineSpec& spec = group.spec();
  if (!spec.works_from_caches())
    return "keeps planes and matrices of points where a cache holds them: written for cores with caches";
  const Phases phases = phases_of(s);
  const bool known = phases.taps_h == phases.taps_w &&
                     (halves_ ? s.kh == 3 && !is_strided(s) : phases.taps_h >= 3 && phases.taps_h <= 5);
  if (!known || s.dh != 1 || s.dw != 1)
    return std::string("is for kernels of 3 x 3 ") + (halves_ ? "at stride 1" : "to 5 x 5 in phases of the stride") +
           ", without dilation";
  if (is_strided(s) && direction == ConvolutionDirection::input_gradient)
    return "makes no input gradients at strides beyond 1";
  if (direction != ConvolutionDirection::forward && (s.ph >= s.kh || s.pw >= s.kw))
    return "pads by more than the kernel reaches";
  const auto decided = [&](const WinogradVariant& variant) {
    return with_structure(as_dense(s, direction), direction, variant,
                          [&](auto f) { return decisions<decltype(f)>(spec, s, direction, variant); });
  };
  const Decisions own = decided(variant_);
  if (own[0] == 0) return "a row of tiles, with all its products, does not fit the scratchpad";
  if (&variant_ != winograd_variants && own == decided(winograd_variants[0]))
    return "does what " + WinogradConvolution(halves_, winograd_variants[0]).name() + " does";
  return "";
}

/// The transforms take time with the channels, the products with their square; tiles that hang over edges are computed
/// in full. A kernel of 5 x 5, or one in phases, saves so many products that few channels make up for them. Cores of a
/// weight gradient take no less than sixteen inputs by sixteen outputs.
bool WinogradConvolution::pays(const MachineSpec& spec, const ConvolutionShape& shape,
                               ConvolutionDirection direction) const {
  const ConvolutionShape s = as_dense(shape, ConvolutionDirection::forward);
  // The products are of float whatever is stored; other plans multiply bf16 faster, matrix units most of all.
  const int others = s.precision == Precision::bf16 ? spec.bf16_speed : 1;
  if (others > 2 || std::min(s.oh, s.ow) < 7) return false;
  const bool is_light = others == 1 && direction == ConvolutionDirection::forward;
  const i64 least = is_strided(shape) ? (is_light ? 12 : 32)
                    : s.kh == 5       ? (others == 1 ? 16 : 32)
                                      : (others == 1 ? 48 : 64);
  const i64 groups =
      winograd::padded(s.group_ic()) * winograd::padded(s.group_oc()) / (winograd::lanes * winograd::lanes);
  if (direction == ConvolutionDirection::weight_gradient && groups < spec.cpes) return false;
  return std::min(s.group_ic(), s.group_oc()) >= least;
}

/// Images whose phases are made at a time.
i64 images_at_a_time(const ConvolutionShape& dense) {
  constexpr i64 cached = i64{4} << 20;
  return even_part(dense.mb, std::max<i64>(1, cached / dense.src_image()));
}

/// A strided convolution's part of the images, its shape.
ConvolutionShape part_of(ConvolutionShape dense) {
  dense.mb = images_at_a_time(dense);
  return dense;
}

/// What phases of images and of weights, or their gradients, take of the workspace: whole cache lines.
struct PhaseSpace {
  i64 images, weights;  ///< floats
  explicit PhaseSpace(const ConvolutionShape& dense)
      : images(round_up(part_of(dense).mb * dense.src_image(), i64{16})),
        weights(round_up(dense.oc * dense.terms(), i64{16})) {}
  i64 floats() const { return images + weights; }
};

i64 WinogradConvolution::workspace(CoreGroup& group, const ConvolutionShape& shape,
                                   ConvolutionDirection direction) const {
  const ConvolutionShape dense = as_dense(shape, direction), s = is_strided(shape) ? part_of(dense) : dense;
  return (is_strided(shape) ? PhaseSpace(dense).floats() : 0) + with_structure(s, direction, [&](auto f) {
           using F = decltype(f);
           if (direction == ConvolutionDirection::weight_gradient) {
             const Parts<F> parts(s, variant_);
             return parts.floats(s.group_ic()) + parts.floats(s.group_oc());
           }
           const auto p = tiled_program<F, float>(group.spec(), s, form_of<F>(s, variant_));
           return p.own_terms > 0 ? 0 : p.panels.floats();
         });
}

i64 WinogradConvolution::kept_weights(CoreGroup& group, const ConvolutionShape& shape) const {
  const ConvolutionShape s = as_dense(shape, ConvolutionDirection::forward);
  return with_structure(s, ConvolutionDirection::forward, [&](auto f) {
    return s.g * panels_of<decltype(f)>(group.spec(), s, form_of<decltype(f)>(s, variant_)).floats();
  });
}

i64 WinogradConvolution::sum_parts(CoreGroup&, const ConvolutionShape& shape) const {
  if (shape.dst != Layout::nchw16c) return 0;
  return with_structure(as_dense(shape, ConvolutionDirection::forward), ConvolutionDirection::forward,
                        [&](auto f) { return shape.mb * ceil_div(shape.oh, f.outputs); });
}

void WinogradConvolution::run(CoreGroup& group, const ConvolutionShape& shape, ConvolutionDirection direction,
                              const ConvolutionArguments& arguments, float* workspace) const {
  if (is_strided(shape))
    run_in_phases(group, shape, direction, arguments, workspace);
  else
    run_dense(group, as_dense(shape, direction), direction, arguments, workspace);
}

/// Forward or the weight gradient, some images at a time.
void WinogradConvolution::run_in_phases(CoreGroup& group, const ConvolutionShape& s, ConvolutionDirection direction,
                                        const ConvolutionArguments& arg, float* workspace) const {
  const bool is_gradient = direction == ConvolutionDirection::weight_gradient;
  const ConvolutionShape dense = as_dense(s, direction);
  const PhaseSpace space(dense);
  float *const weights = workspace + space.images, *const rest = weights + space.weights;
  if (is_gradient)
    group.zero(weights, static_cast<std::size_t>(space.weights) * sizeof(float));
  else if (!arg.are_kept)
    weights_to_phases(group, s, arg.w, weights);
  ConvolutionShape part = part_of(dense);
  with_element(s.precision, [&](auto element) {
    using T = decltype(element);
    T* const images = reinterpret_cast<T*>(workspace);
    for (i64 first = 0; first < s.mb; first += part.mb) {
      part.mb = std::min(part.mb, s.mb - first);
      make_phases<T>(group, s, part.mb, arg.x_as<T>() + first * s.src_image(), images);
      ConvolutionArguments of_part{images, weights, nullptr, weights};
      if (is_gradient) {
        of_part.dy = arg.dy_as<T>() + first * s.dst_image();
      } else {
        of_part.out = arg.out_as<T>() + first * s.dst_image();
        of_part.kept = arg.kept, of_part.are_kept = arg.are_kept || (arg.kept != nullptr && first > 0);
        if (arg.sums != nullptr) of_part.sums = arg.sums + sum_parts(group, s) / s.mb * first * 2 * s.oc;
      }
      run_dense(group, part, direction, of_part, rest);
    }
  });
  if (is_gradient) add_from_phases(group, s, weights, arg.out_as<float>());
}

void WinogradConvolution::run_dense(CoreGroup& group, const ConvolutionShape& s, ConvolutionDirection direction,
                                    const ConvolutionArguments& arguments, float* workspace) const {
  with_structure(s, direction, [&](auto f) { run_as<decltype(f)>(group, s, direction, arguments, workspace); });
}

template <class F>
void WinogradConvolution::run_as(CoreGroup& group, const ConvolutionShape& s, ConvolutionDirection direction,
                                 const ConvolutionArguments& arguments, float* workspace) const {
  with_element(s.precision, [&](auto element) {
    using T = decltype(element);
    if (direction == ConvolutionDirection::weight_gradient)
      run_weight_gradient<F, T>(group, s, Parts<F>(s, variant_), arguments, workspace);
    else
      run_forward<F, T>(group, s, direction == ConvolutionDirection::input_gradient, form_of<F>(s, variant_), arguments,
                        workspace);
  });
}

}  // namespace

std::vector<std::unique_ptr<ConvolutionCandidate>> make_winograd_convolutions() {
  std::vector<std::unique_ptr<ConvolutionCandidate>> all;
  for (const auto& variant : winograd_variants) all.push_back(std::make_unique<WinogradConvolution>(false, variant));
  return all;
}
std::unique_ptr<ConvolutionCandidate> make_small_winograd_convolution() {
  return std::make_unique<WinogradConvolution>(true, winograd_variants[0]);
}

}  // namespace cortado
