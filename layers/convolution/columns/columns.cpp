#include "layers/convolution/columns/columns.h"

#include <algorithm>

#include "core/machine/parts.h"
#include "layers/convolution/columns/programs.h"

namespace cortado {
namespace {
/// The most rows of output per line that fit, so that lines are long and rows under neighbouring bands come in twice
/// as seldom as can be.
template <class Program, class Book>
i64 most_rows(const MachineSpec& spec, i64 rows, Program& program, Book book) {
  for (; rows > 1; rows = (rows + 1) / 2) {
    PlanBuilder builder(spec);
    book(program, builder, rows);
    if (builder.fits()) return rows;
  }
  return 1;
}

void book_im2col(Im2col& p, PlanBuilder& book, i64 rows) {
  p.line_rows = rows;
  p.x_buf = book.line("input rows", std::min(p.s.ih, p.s.rows_under(rows)) * p.s.iw * 4, p.depth);
  p.column_buf = book.line("column", rows * p.s.ow * 4, 1);
}

void book_col2im(Col2im& p, PlanBuilder& book, i64 rows) {
  p.line_rows = rows;
  p.column_buf = book.line("column rows", std::min(p.s.oh, rows / p.s.sh + 2) * p.s.ow * 4, p.depth);
  p.x_buf = book.line("input rows", rows * p.s.iw * 4, 1);
}
}  // namespace

std::string refuse_im2col(const MachineSpec& spec, const ConvolutionShape& s) {
  Im2col p{s.sizes(1), nullptr, nullptr, 1, {}, {}, Depth::two};
  PlanBuilder book(spec);
  book_im2col(p, book, 1);
  return book.fits() ? "" : "im2col of one row " + book.reason();
}

std::string refuse_col2im(const MachineSpec& spec, const ConvolutionShape& s) {
  Col2im p{s.sizes(1), nullptr, nullptr, 1, {}, {}, Depth::two};
  PlanBuilder book(spec);
  book_col2im(p, book, 1);
  return book.fits() ? "" : "col2im of one row " + book.reason();
}

void run_im2col(CoreGroup& group, const ConvolutionShape& s, const float* x, i64 images, float* columns, bool by_rows) {
  Im2col p{s.sizes(images), x, columns, 1, {}, {}, by_rows ? Depth::one : Depth::two};
  const i64 rows = by_rows ? 1 : most_rows(group.spec(), s.oh, p, book_im2col);
  PlanBuilder book(group.spec());
  book_im2col(p, book, rows);
  group.launch(p, book.plan(images * s.ic * ((s.oh + rows - 1) / rows)));
}

void run_col2im(CoreGroup& group, const ConvolutionShape& s, const float* columns, i64 images, float* x, bool by_rows) {
  Col2im p{s.sizes(images), columns, x, 1, {}, {}, by_rows ? Depth::one : Depth::two};
  const i64 rows = by_rows ? 1 : most_rows(group.spec(), s.ih, p, book_col2im);
  PlanBuilder book(group.spec());
  book_col2im(p, book, rows);
  group.launch(p, book.plan(images * s.ic * ((s.ih + rows - 1) / rows)));
}

}  // namespace cortado
