#pragma once
#include "core/machine/view.h"

namespace cortado {

/// Values of classes, rows x classes x width, at positions, rows x width. A line has a line of positions and all their
/// classes, a row of values for each; the classes of one position lie a row of positions apart.
struct ClassPlanes {
  RowLines positions;
  i64 classes;
  CORTADO_FN i64 lines() const { return positions.lines(); }
  CORTADO_FN i64 most() const { return classes * positions.most(); }
  /// Place of a line's first value in the array.
  CORTADO_FN i64 at(i64 line) const { return positions.row(line) * classes * positions.width + positions.first(line); }
  CORTADO_FN BlockAt where(i64 line) const { return {at(line), classes, positions.count(line), positions.width}; }
};

}  // namespace cortado
