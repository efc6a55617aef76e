#include "layers/concat/copy_rows.h"

#include "core/machine/launch_copy_lines.h"
#include "layers/concat/programs.h"

namespace cortado {

template <class T>
void copy_rows(CoreGroup& group, const T* from, i64 from_pitch, T* to, i64 to_pitch, i64 rows, i64 width) {
  const RowLines lines{rows, width, line_elements(group.spec(), width, 3)};
  copy_lines(group, from, PitchedRows{lines, from_pitch}, to, PitchedRows{lines, to_pitch});
}

template void copy_rows(CoreGroup&, const float*, i64, float*, i64, i64, i64);
template void copy_rows(CoreGroup&, const bf16*, i64, bf16*, i64, i64, i64);

}  // namespace cortado
