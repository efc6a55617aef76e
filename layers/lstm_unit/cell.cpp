#include "layers/lstm_unit/cell.h"

#include "core/machine/launch_elementwise.h"
#include "layers/lstm_unit/programs.h"

namespace cortado {

void LstmCell::forward(CoreGroup& group, const float* gates, const float* c_prev, const float* cont, float* activations,
                       float* c, float* h) const {
  const RowLines s{sequences, width, line_elements(group.spec(), width, 17)};
  PlanBuilder book(group.spec());
  const LstmForward p{reads(book, "gates", gates, GateLines{s}),
                      reads(book, "previous cell", c_prev, s),
                      reads(book, "cont", cont, RowValues{s}),
                      writes(book, "activations", activations, GateLines{s}),
                      writes(book, "cell", c, s),
                      writes(book, "h", h, s)};
  group.launch(p, book.plan(s.lines()));
}

void LstmCell::backward(CoreGroup& group, const float* activations, const float* c_prev, const float* c,
                        const float* dc, const float* dh, float* dgates, float* dc_prev) const {
  const RowLines s{sequences, width, line_elements(group.spec(), width, 21)};
  PlanBuilder book(group.spec());
  const LstmBackward p{reads(book, "activations", activations, GateLines{s}),
                       reads(book, "previous cell", c_prev, s),
                       reads(book, "cell", c, s),
                       reads(book, "cell's gradient", dc, s),
                       reads(book, "h's gradient", dh, s),
                       writes(book, "gates' gradient", dgates, GateLines{s}),
                       writes(book, "previous cell's gradient", dc_prev, s)};
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
