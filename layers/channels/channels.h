#pragma once
#include "core/machine/core_group.h"
#include "layers/channels/programs.h"

namespace cortado {

/// Work with one value per channel, for convolutions, BatchNorm and Scale. Arrays are outer x channels x inner, or in
/// blocks of sixteen channels outer x channels / 16 x inner x 16. All functions queue their programs.
struct Channels {
  i64 outer = 1, channels = 1, inner = 1;
  Layout layout = Layout::nchw;
  i64 count() const { return outer * channels * inner; }

  /// Computes y = v where v > 0, slope v elsewhere, with v = (x - shift) scale + bias. nullptr means without that
  /// operand; one of the three must be there. y may be x.
  template <class T>
  void affine(CoreGroup& group, const T* x, const float* shift, const float* scale, const float* bias, T* y,
              float slope = 1) const;
  /// Computes plain = sum dy, product = sum dy x of each channel; `adds` adds to the old sums.
  template <class T>
  void gradients(CoreGroup& group, const T* x, const T* dy, bool adds, float* plain, float* product) const;
  /// Computes plain += sum dy.
  template <class T>
  void sum(CoreGroup& group, const T* dy, float* plain) const;
  /// Computes dy = dy where y > 0, slope dy elsewhere; then plain += sum dy.
  template <class T>
  void rectify(CoreGroup& group, const T* y, float slope, T* dy, float* plain) const;
  /// The same sizes for programs, in either layout.
  ChannelRows rows(const MachineSpec& spec) const;
  BlockRows blocks(const MachineSpec& spec) const;
};

}  // namespace cortado
