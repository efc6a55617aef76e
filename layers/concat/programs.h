#pragma once
#include "core/machine/copy_lines.h"

namespace cortado {

/// Rows that begin `pitch` values apart.
struct PitchedRows : RowLines {
  i64 pitch;
  CORTADO_FN LineAt where(i64 line) const { return {row(line) * pitch + first(line), count(line)}; }
};

}  // namespace cortado
