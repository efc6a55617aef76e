#pragma once
#include <algorithm>

#include "core/formats/caffe.pb.h"
#include "core/machine/machine_spec.h"
#include "layers/softmax/kernel.h"
#include "layers/softmax_loss/programs.h"

namespace cortado {

/// Values of a softmax in lines of so many positions that `planes` blocks of all classes fit beside `lines` lines of
/// one value each.
inline ClassPlanes planes_of(const MachineSpec& spec, const SoftmaxKernel& k, i64 planes, i64 lines) {
  const i64 fit = spec.scratch_bytes / ((planes * k.classes + lines) * 4) / 32 * 32;
  return {{k.outer, k.inner, std::max<i64>(1, std::min(k.inner, fit))}, k.classes};
}

inline CountedLabels counted_labels(const SoftmaxKernel& k, const caffe::LossParameter& p) {
  return {k.classes, p.has_ignore_label(), p.ignore_label()};
}

}  // namespace cortado
