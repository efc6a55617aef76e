#include "layers/lstm_unit/cell.h"

#include "core/machine/launch_elementwise.h"
#include "layers/lstm_unit/programs.h"

namespace cortado {

void LstmCell::forward(CoreGroup& group, const float* gates, const float* c_prev, const float* cont, float* activations,
                       float* c, float* h) const {
  const LstmRows s{{sequences, width, line_elements(group.spec(), width, 17)}};
  LstmForward p{s, gates, c_prev, cont, activations, c, h, {}, {}, {}, {}, {}, {}};
  PlanBuilder book(group.spec());
  p.gate_buf = book.line<float>("gates", s.block * 4, Depth::two);
  p.c_prev_buf = book.line<float>("previous cell", s.block, Depth::two);
  p.cont_buf = book.line<float>("cont", 1, Depth::two);
  p.activation_buf = book.line<float>("activations", s.block * 4, 1);
  p.c_buf = book.line<float>("cell", s.block, 1);
  p.h_buf = book.line<float>("h", s.block, 1);
  group.launch(p, book.plan(s.lines()));
}

void LstmCell::backward(CoreGroup& group, const float* activations, const float* c_prev, const float* c,
                        const float* dc, const float* dh, float* dgates, float* dc_prev) const {
  const LstmRows s{{sequences, width, line_elements(group.spec(), width, 21)}};
  LstmBackward p{s, activations, c_prev, c, dc, dh, dgates, dc_prev, {}, {}, {}, {}, {}, {}, {}};
  PlanBuilder book(group.spec());
  p.activation_buf = book.line<float>("activations", s.block * 4, Depth::two);
  p.c_prev_buf = book.line<float>("previous cell", s.block, Depth::two);
  p.c_buf = book.line<float>("cell", s.block, Depth::two);
  p.dc_buf = book.line<float>("cell's gradient", s.block, Depth::two);
  p.dh_buf = book.line<float>("h's gradient", s.block, Depth::two);
  p.dgate_buf = book.line<float>("gates' gradient", s.block * 4, 1);
  p.dc_prev_buf = book.line<float>("previous cell's gradient", s.block, 1);
  group.launch(p, book.plan(s.lines()));
}

void scale_rows(CoreGroup& group, i64 rows, i64 width, const float* scale, const float* x, const float* base,
                float* y) {
  if (base == nullptr)
    elementwise(group, rows, width, ScaleRow{}, from(x, per_row(scale, rows)), to(y));
  else
    elementwise(group, rows, width, AddScaledRow{}, from(x, base, per_row(scale, rows)), to(y));
}

}  // namespace cortado
