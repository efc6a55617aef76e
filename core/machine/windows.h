#pragma once
#include "core/machine/integers.h"
#include "core/machine/math.h"
#include "core/machine/program.h"

namespace cortado {

/// The outputs that one position of a sliding window reaches: outputs o in [0, outputs) whose input o stride + first
/// lies inside, 0 <= o stride + first < inputs. The window slides along an axis, `stride` inputs from one output to the
/// next.
CORTADO_FN inline Range outputs_inside(i64 first, i64 stride, i64 inputs, i64 outputs) {
  const i64 before = math::max(i64{0}, -first), room = math::max(i64{0}, inputs - first);
  if (stride == 1) return {math::min(outputs, before), math::min(outputs, room)};  // divisions take long
  return {math::min(outputs, ceil_div(before, stride)), math::min(outputs, ceil_div(room, stride))};
}

}  // namespace cortado
