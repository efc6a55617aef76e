#include "layers/lstm_unit/cell.h"

#include "core/machine/integers.h"
#include "layers/lstm_unit/programs.h"

namespace cortado {

void LstmCell::forward(CoreGroup& group, const float* gates, const float* c_prev, const float* cont, float* activations,
                       float* c, float* h) const {
  const LstmRows s{sequences, width, line_elements(group.spec(), width, 17)};
  LstmForward p{s, gates, c_prev, cont, activations, c, h, {}, {}, {}, {}, {}, {}};
  PlanBuilder book(group.spec());
  p.gate_buf = book.line("gates", 4 * s.block * 4, Depth::two);
  p.c_prev_buf = book.line("previous cell", s.block * 4, Depth::two);
  p.cont_buf = book.line("cont", 4, Depth::two);
  p.activation_buf = book.line("activations", 4 * s.block * 4, 1);
  p.c_buf = book.line("cell", s.block * 4, 1);
  p.h_buf = book.line("h", s.block * 4, 1);
  group.launch(p, book.plan(s.lines()));
}

void LstmCell::backward(CoreGroup& group, const float* activations, const float* c_prev, const float* c,
                        const float* dc, const float* dh, float* dgates, float* dc_prev) const {
  const LstmRows s{sequences, width, line_elements(group.spec(), width, 21)};
  LstmBackward p{s, activations, c_prev, c, dc, dh, dgates, dc_prev, {}, {}, {}, {}, {}, {}, {}};
  PlanBuilder book(group.spec());
  p.activation_buf = book.line("activations", 4 * s.block * 4, Depth::two);
  p.c_prev_buf = book.line("previous cell", s.block * 4, Depth::two);
  p.c_buf = book.line("cell", s.block * 4, Depth::two);
  p.dc_buf = book.line("cell's gradient", s.block * 4, Depth::two);
  p.dh_buf = book.line("h's gradient", s.block * 4, Depth::two);
  p.dgate_buf = book.line("gates' gradient", 4 * s.block * 4, 1);
  p.dc_prev_buf = book.line("previous cell's gradient", s.block * 4, 1);
  group.launch(p, book.plan(s.lines()));
}

void scale_rows(CoreGroup& group, i64 rows, i64 width, const float* scale, const float* x, const float* base,
                float* y) {
  ScaleRows p{x, scale, base, y, rows, width, line_elements(group.spec(), width, 6), {}, {}, {}, {}};
  PlanBuilder book(group.spec());
  p.x_buf = book.line("x", p.block * 4, Depth::two);
  p.scale_buf = book.line("scale", 4, Depth::two);
  p.base_buf = book.line("base", p.block * 4, Depth::two);
  p.y_buf = book.line("y", p.block * 4, 1);
  group.launch(p, book.plan(rows * ceil_div(width, p.block)));
}

}  // namespace cortado
