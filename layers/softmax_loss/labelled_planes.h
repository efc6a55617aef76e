#pragma once
#include <algorithm>

#include "core/formats/caffe.pb.h"
#include "core/machine/machine_spec.h"
#include "layers/softmax/kernel.h"
#include "layers/softmax_loss/programs.h"

namespace cortado {

/// The positions of a softmax with their labels. A line has as many positions as let `planes` blocks of all classes fit
/// beside `lines` lines of one value each.
inline LabelledPlanes planes_of(const MachineSpec& spec, const SoftmaxKernel& k, const caffe::LossParameter& p,
                                i64 planes, i64 lines) {
  const i64 fit = spec.scratch_bytes / ((planes * k.classes + lines) * 4) / 32 * 32;
  return {
      {k.outer, k.classes, k.inner, std::max<i64>(1, std::min(k.inner, fit))}, p.has_ignore_label(), p.ignore_label()};
}

}  // namespace cortado
