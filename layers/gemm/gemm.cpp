#include "layers/gemm/gemm.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/machine/estimate.h"
#include "core/machine/integers.h"
#include "core/machine/launch_elementwise.h"
#include "layers/gemm/programs.h"

namespace cortado {
namespace {

struct Tiles {
  i64 m, n, k;
  int sums = 1;  ///< slots: with two, a block starts while the one before is put
  bool widens = true;
};

template <class T>
void book(PlanBuilder& builder, const Tiles& t, Gemm<T>& program) {
  program.a_buf = builder.operand<T>("a", t.m * t.k, program.depth, false, t.widens);
  program.b_buf = builder.operand<T>("b", t.k * t.n, program.depth, program.b.col != 1, t.widens);
  program.acc_buf = builder.tile<T>("sums", t.m * t.n, t.sums);
  program.tile_m = t.m;
  program.tile_n = t.n;
  program.tile_k = t.k;
}

template <class T>
bool fits(const MachineSpec& spec, const Gemm<T>& g, const Tiles& t) {
  Gemm<T> trial = g;
  PlanBuilder builder(spec);
  book(builder, t, trial);
  return builder.fits();
}

/// The cost of a slab of a block on a machine whose cache holds used data: the multiply-adds, staging (a byte costs
/// about as much as eight of them), and a start-up.
template <class T>
double cached_seconds(const MachineSpec& spec, const Gemm<T>& g, const Tiles& t) {
  const i64 meshes = std::max(1, spec.cpes / (spec.mesh_rows * spec.mesh_cols));
  const i64 blocks = g.count * ceil_div(g.m, t.m * spec.mesh_rows) * ceil_div(g.n, t.n * spec.mesh_cols);
  const double rounds = static_cast<double>(ceil_div(blocks, meshes)),
               slabs = static_cast<double>(g.parts * ceil_div(g.k, t.k));
  // What lies in memory as it would be staged need not be.
  const bool a_lies = g.a.col == 1 ? t.k == g.a.row : t.m == g.a.col, b_lies = g.b.col == 1 && t.n == g.b.row;
  const i64 staged = (a_lies ? 0 : t.m * t.k) + (b_lies ? 0 : t.k * t.n);
  const double work = static_cast<double>(t.m * t.n * t.k) / 8 + 4.0 * static_cast<double>(staged) + 500;
  return rounds * (slabs * work + static_cast<double>(2 * t.m * t.n));
}

/// The cost where tiles arrive by DMA while the slab before is multiplied (swCaffe IV-A): the longer of both, for every
/// slab of every block.
template <class T>
double staged_seconds(const MachineSpec& spec, const Gemm<T>& g, const Tiles& t) {
  constexpr double element = sizeof(T);
  const double cpes = spec.mesh_rows * spec.mesh_cols;
  const auto stage = [&](i64 rows, i64 cols) {
    return transfer_seconds(spec, cpes * static_cast<double>(rows), element * static_cast<double>(cols));
  };
  const double transfers =
      (g.a.col == 1 ? stage(t.m, t.k) : stage(t.k, t.m)) + (g.b.col == 1 ? stage(t.k, t.n) : stage(t.n, t.k));
  TileShape shape;
  shape.m = t.m, shape.n0 = t.n, shape.k = t.k;
  const auto operands = static_cast<double>((t.m + t.n) * t.k);
  const double multiply =
      shared_multiply_seconds(spec, shape, 1, element * operands) + widen_seconds(spec, operands, sizeof(T));
  const i64 blocks = g.count * ceil_div(g.m, t.m * spec.mesh_rows) * ceil_div(g.n, t.n * spec.mesh_cols);
  const double slabs = static_cast<double>(g.parts * ceil_div(g.k, t.k * spec.mesh_cols));
  const double put = put_seconds(spec, cpes * static_cast<double>(t.m), element * static_cast<double>(t.n)) +
                     (g.beta == T(0) ? 0 : stage(t.m, t.n));
  const double slab = slabs * std::max(transfers, multiply);
  const double end = t.sums > 1 ? std::max(0.0, slabs * transfers + put - slab) : put + spec.transfer_latency;
  return static_cast<double>(blocks) * (slab + end) + transfers;
}

/// The cheapest tiles that fit the scratchpad.
template <class T>
Tiles choose_tiles(const MachineSpec& spec, const Gemm<T>& g, bool widens) {
  const bool staged = is_modelled(spec);
  const i64 vector = std::max<i64>(1, spec.simd_bytes / static_cast<i64>(sizeof(T)));
  Tiles best = {4, vector, 4};
  double best_cost = 0;
  const auto consider = [&](const Tiles& t) {
    if (!fits(spec, g, t)) return;
    const double cost = staged ? staged_seconds(spec, g, t) : cached_seconds(spec, g, t);
    if (best_cost == 0 || cost < best_cost) best_cost = cost, best = t;
  };
  if (staged) {
    for (const i64 m : tile_sizes(g.m, spec.mesh_rows, 4, 128))
      for (const i64 n : tile_sizes(g.n, spec.mesh_cols, vector, 256))
        for (const i64 k : tile_sizes(g.k, spec.mesh_cols, 4, 128))
          for (const int sums : {2, 1}) consider({m, n, k, sums, widens});
    return best;
  }
  // Equal parts, so that no small one is left over.
  const auto part = [](i64 n, i64 most, i64 unit) { return round_up(ceil_div(n, ceil_div(n, most)), unit); };
  for (const i64 m : {4, 8, 16, 32, 64, 128, 256, 512})
    for (const i64 n : {1, 2, 4, 6, 8, 12, 16, 24, 32})
      for (const i64 k : {4, 16, 32, 64, 128, 256, 512})
        consider({part(g.m, m, 1), part(g.n, n * vector, vector), part(g.k, k, 1)});
  return best;
}

Gemm<float> program_of(const MatrixProduct& p) {
  const auto& g = p.gemm;
  Gemm<float> program;
  program.a = g.transpose_a ? Strided<float>{g.a, 1, g.lda} : Strided<float>{g.a, g.lda, 1};
  program.b = g.transpose_b ? Strided<float>{g.b, 1, g.ldb} : Strided<float>{g.b, g.ldb, 1};
  program.y = g.y;
  program.ldy = g.ldy;
  program.m = g.m;
  program.n = g.n;
  program.k = g.k;
  program.count = p.count;
  program.stride_a = p.stride_a;
  program.stride_b = p.stride_b;
  program.stride_y = p.stride_y;
  program.parts = p.parts;
  program.part_a = p.part_a;
  program.part_b = p.part_b;
  program.alpha = g.alpha;
  program.beta = g.beta;
  return program;
}

template <class T>
void run_tile_program(CoreGroup& group, Gemm<T> program, bool widens = true) {
  // Where staging is a copy by the core itself, a second slot only takes room.
  program.depth = group.spec().lines_in_scratch ? Depth::two : Depth::one;
  const Tiles tiles = choose_tiles(group.spec(), program, widens);
  PlanBuilder builder(group.spec());
  book(builder, tiles, program);
  group.launch(program, builder.plan(0));
}

void run_library(MatrixLibrary& library, const MatrixProduct& p) {
  MatrixLibrary::Gemm gemm = p.gemm;
  for (i64 part = 0; part < p.parts; ++part) {
    gemm.a = p.gemm.a + part * p.part_a;
    gemm.b = p.gemm.b + part * p.part_b;
    if (part > 0) gemm.beta = 1;
    if (p.count == 1)
      library.gemm(gemm);
    else
      library.gemm_batch(gemm, p.count, p.stride_a, p.stride_b, p.stride_y);
  }
}

}  // namespace

Multiplier preferred_multiplier(CoreGroup& group) {
  return group.library() != nullptr ? Multiplier::library : Multiplier::tile_program;
}

std::string why_not(Multiplier multiplier, CoreGroup& group) {
  if (multiplier == Multiplier::library && group.library() == nullptr) return group.why_no_library();
  return "";
}

double estimated_seconds(const MachineSpec& spec, Multiplier multiplier, const MatrixProduct& product) {
  if (!is_modelled(spec) || multiplier != Multiplier::tile_program) return 0;
  const Gemm<float> program = program_of(product);
  return spec.launch_seconds + staged_seconds(spec, program, choose_tiles(spec, program, true));
}

void multiply(CoreGroup& group, Multiplier multiplier, const MatrixProduct& product) {
  if (product.gemm.m == 0 || product.gemm.n == 0 || product.count == 0) return;
  const std::string reason = why_not(multiplier, group);
  if (!reason.empty()) throw PlanError("matrix product", reason);
  if (multiplier == Multiplier::library)
    run_library(*group.library(), product);
  else
    run_tile_program(group, program_of(product), multiplier != Multiplier::published);
}

void multiply(CoreGroup& group, i64 m, i64 n, i64 k, const double* a, const double* b, double* y) {
  Gemm<double> program;
  program.a = {a, k, 1};
  program.b = {b, n, 1};
  program.y = y;
  program.ldy = n;
  program.m = m;
  program.n = n;
  program.k = k;
  run_tile_program(group, program);
}

void add_to_columns(CoreGroup& group, const float* bias, float* y, i64 rows, i64 width) {
  elementwise(group, rows, width, AddToColumns{}, from(y, per_column(bias)), to(y));
}

template <class T>
void sum_columns(CoreGroup& group, const T* x, i64 rows, i64 width, float* sums) {
  const RowLines s{rows, width, line_elements(group.spec(), width, 4)};
  PlanBuilder book(group.spec());
  const SumColumns<T> program{reads(book, "x", x, s), writes(book, "sums", sums, RowLines{1, width, s.block})};
  group.launch(program, book.plan(s.blocks()));
}

template void sum_columns(CoreGroup&, const float*, i64, i64, float*);
template void sum_columns(CoreGroup&, const bf16*, i64, i64, float*);

}  // namespace cortado
