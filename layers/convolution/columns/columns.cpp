#include "layers/convolution/columns/columns.h"

#include <algorithm>

#include "core/machine/integers.h"

namespace cortado {

static void book(Im2col& p, PlanBuilder& book) {
  p.x_buf = book.line<float>("input rows", std::min(p.s.ih, p.s.rows_under(p.line_rows)) * p.s.iw, p.depth);
  p.column_buf = book.line<float>("column", p.line_rows * p.s.ow, 1);
}

static void book(Col2im& p, PlanBuilder& book) {
  p.column_buf = book.line<float>("column rows", std::min(p.s.oh, p.line_rows / p.s.sh + 2) * p.s.ow, p.depth);
  p.x_buf = book.line<float>("input rows", p.line_rows * p.s.iw, 1);
}

namespace {
/// Plans with the most of `rows` rows per line that fit, so that lines are long and rows under neighbouring bands come
/// in twice as seldom as can be. `by_rows` plans with one.
template <class Program>
Planned<Program> plan(const MachineSpec& spec, Program p, i64 rows, bool by_rows, std::string& refused) {
  p.depth = by_rows ? Depth::one : Depth::two;
  p.line_rows = by_rows ? 1 : rows;
  while (p.line_rows > 1 && !fits(spec, p)) p.line_rows = (p.line_rows + 1) / 2;
  std::string reason;
  const auto made = planned(spec, p, p.s.images * p.s.ic * ceil_div(rows, p.line_rows), reason);
  if (refused.empty() && !reason.empty()) refused = std::string(p.label) + " of one row " + reason;
  return made;
}
}  // namespace

Planned<Im2col> plan_im2col(const MachineSpec& spec, const ConvolutionShape& s, i64 images, bool by_rows,
                            std::string& refused) {
  return plan(spec, Im2col{s.sizes(images), nullptr, nullptr, 1, {}, {}, Depth::two}, s.oh, by_rows, refused);
}

Planned<Col2im> plan_col2im(const MachineSpec& spec, const ConvolutionShape& s, i64 images, bool by_rows,
                            std::string& refused) {
  return plan(spec, Col2im{s.sizes(images), nullptr, nullptr, 1, {}, {}, Depth::two}, s.ih, by_rows, refused);
}

}  // namespace cortado
