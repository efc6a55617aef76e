#pragma once
#include "core/machine/core_group.h"
#include "layers/channels/programs.h"

namespace cortado {

/// Work with one value per channel on arrays seen as outer x channels x inner; what BatchNorm and Scale share. All
/// queue their programs.
struct Channels {
  i64 outer = 1, channels = 1, inner = 1;
  i64 count() const { return outer * channels * inner; }

  /// y = (x - shift) scale + bias; any of the three may be null, not all; y may be x.
  template <class T>
  void affine(CoreGroup& group, const T* x, const float* shift, const float* scale, const float* bias, T* y) const;
  /// plain = sum dy, product = sum dy x of each channel; `adds` to what is there.
  template <class T>
  void gradients(CoreGroup& group, const T* x, const T* dy, bool adds, float* plain, float* product) const;
  /// The same as programs see it.
  ChannelRows rows(const MachineSpec& spec) const;
};

}  // namespace cortado
