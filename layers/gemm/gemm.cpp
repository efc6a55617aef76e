#include "layers/gemm/gemm.h"

#include <algorithm>

#include "core/base/error.h"
#include "layers/gemm/programs.h"

namespace cortado {
namespace {

struct Tiles {
  i64 m, n, k;
};

i64 ceil_div(i64 n, i64 by) { return (n + by - 1) / by; }
i64 round_up(i64 n, i64 to) { return ceil_div(n, to) * to; }

template <class T>
void book(PlanBuilder& builder, const Tiles& t, Gemm<T>& program) {
  constexpr i64 element = sizeof(T);
  program.a_buf = builder.tile("a", t.m * t.k * element, program.depth);
  // Where tiles arrive by DMA, columns that are neighbours in memory are turned into rows in a slot of their own.
  const bool turns = builder.spec().lines_in_scratch && program.b.col != 1;
  program.b_buf = builder.tile("b", t.k * t.n * element, turns ? 3 : static_cast<int>(program.depth));
  program.acc_buf = builder.tile("sums", t.m * t.n * element, 1);
  program.tile_m = t.m;
  program.tile_n = t.n;
  program.tile_k = t.k;
}

/// Tiles as large as fit the scratchpad: more columns and rows mean fewer bytes per flop (swCaffe IV-A), but there must
/// be a block for every mesh, and no tile need exceed the matrix.
template <class T>
Tiles choose_tiles(const MachineSpec& spec, const Gemm<T>& g) {
  const i64 vector = std::max<i64>(1, spec.simd_bytes / static_cast<i64>(sizeof(T))),
            meshes = std::max(1, spec.cpes / (spec.mesh_rows * spec.mesh_cols));
  const Tiles most = {round_up(g.m, 4), round_up(g.n, vector), round_up(g.k, 4)};
  Tiles best = {4, vector, 4};
  double best_cost = 0;
  for (const i64 m : {4, 8, 16, 32, 64, 128, 256})
    for (const i64 n : {1, 2, 3, 4, 6, 8, 12, 16, 24, 32})
      for (const i64 k : {4, 16, 32, 64, 128, 256}) {
        const Tiles t = {std::min(m, most.m), std::min(n * vector, most.n), std::min(k, most.k)};
        Gemm<T> trial = g;
        PlanBuilder builder(spec);
        book(builder, t, trial);
        if (!builder.fits()) continue;
        const i64 blocks = g.count * ((g.m + t.m * spec.mesh_rows - 1) / (t.m * spec.mesh_rows)) *
                           ((g.n + t.n * spec.mesh_cols - 1) / (t.n * spec.mesh_cols));
        const double rounds = static_cast<double>(ceil_div(blocks, meshes));
        const double slabs = static_cast<double>(ceil_div(g.k, t.k));
        // Per slab: the multiply-adds, what is staged (a byte costs about as much as eight of them), and a start-up.
        const double work =
            static_cast<double>(t.m * t.n * t.k) / 8 + 4.0 * static_cast<double>((t.m + t.n) * t.k) + 500;
        const double cost = rounds * (slabs * work + static_cast<double>(2 * t.m * t.n));
        if (best_cost == 0 || cost < best_cost) {
          best_cost = cost;
          best = t;
        }
      }
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
  program.alpha = g.alpha;
  program.beta = g.beta;
  return program;
}

template <class T>
void run_tile_program(CoreGroup& group, Gemm<T> program) {
  const Tiles tiles = choose_tiles(group.spec(), program);
  PlanBuilder builder(group.spec());
  book(builder, tiles, program);
  group.launch(program, builder.plan(0));
}

void run_library(MatrixLibrary& library, const MatrixProduct& p) {
  if (p.count == 1)
    library.gemm(p.gemm);
  else
    library.gemm_batch(p.gemm, p.count, p.stride_a, p.stride_b, p.stride_y);
}

}  // namespace

Multiplier preferred_multiplier(CoreGroup& group) {
  return group.library() != nullptr ? Multiplier::library : Multiplier::tile_program;
}

std::string why_not(Multiplier multiplier, CoreGroup& group) {
  if (multiplier == Multiplier::library && group.library() == nullptr) return group.why_no_library();
  return "";
}

void multiply(CoreGroup& group, Multiplier multiplier, const MatrixProduct& product) {
  if (product.gemm.m == 0 || product.gemm.n == 0 || product.count == 0) return;
  const std::string reason = why_not(multiplier, group);
  if (!reason.empty()) throw PlanError("matrix product", reason);
  if (multiplier == Multiplier::library)
    run_library(*group.library(), product);
  else
    run_tile_program(group, program_of(product));
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

void add_to_rows(CoreGroup& group, const float* bias, i64 bias_count, float* y, i64 rows, i64 width) {
  AddToRows program{bias, y, rows, width, bias_count, line_elements(group.spec(), width, 2), {}, {}};
  PlanBuilder builder(group.spec());
  program.bias_buf = builder.line("bias", sizeof(float), Depth::two);
  program.y_buf = builder.line("y", program.block * 4, 1);
  group.launch(program, builder.plan(rows * ((width + program.block - 1) / program.block)));
}

void add_to_columns(CoreGroup& group, const float* bias, float* y, i64 rows, i64 width) {
  AddToColumns program{bias, y, rows, width, line_elements(group.spec(), width, 4), {}, {}};
  PlanBuilder builder(group.spec());
  program.bias_buf = builder.line("bias", program.block * 4, Depth::two);
  program.y_buf = builder.line("y", program.block * 4, 1);
  group.launch(program, builder.plan(rows * ((width + program.block - 1) / program.block)));
}

void sum_to_bias(CoreGroup& group, const float* x, i64 outer, i64 count, i64 inner, float* sums) {
  PlanBuilder builder(group.spec());
  if (inner == 1) {
    SumColumns program{x, sums, outer, count, line_elements(group.spec(), count, 4), {}, {}};
    program.x_buf = builder.line("x", program.block * 4, Depth::two);
    program.sum_buf = builder.line("sums", program.block * 4, 1);
    group.launch(program, builder.plan((count + program.block - 1) / program.block));
    return;
  }
  SumToBias program{x, sums, count, outer, inner, line_elements(group.spec(), inner, 3), {}, {}};
  program.x_buf = builder.line("x", program.block * 4, Depth::two);
  program.sum_buf = builder.line("sum", sizeof(float), 1);
  group.launch(program, builder.plan(count));
}

}  // namespace cortado
