#pragma once
#include <algorithm>

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

  /// use(lines) with the array as programs see it, ChannelLines of its channel block, where a scratchpad holds
  /// `buffers` pieces.
  template <class Use>
  void with_lines(const MachineSpec& spec, int buffers, const Use& use) const {
    if (layout == Layout::nchw)
      return use(ChannelLines<1>{outer, channels, inner, line_elements(spec, inner, buffers)});
    // Short enough to be added up in float, and to give every CPE some.
    constexpr i64 most = 1024;
    const i64 pixels = line_elements(spec, inner * block_channels, 6) / block_channels;
    use(ChannelLines<block_channels>{outer, channels / block_channels, inner, std::clamp<i64>(pixels, 1, most)});
  }
};

/// Queues sums[c] += the sum of Terms::term(x...) over each channel of the arrays.
template <class Terms, i64 block, class T, class... Arrays>
void sum_channels(CoreGroup& group, const ChannelLines<block>& lines, float* sums, const T* first,
                  const Arrays*... others) {
  constexpr int arrays = 1 + sizeof...(Arrays);
  SumChannels<block, Terms, T, arrays> p{lines, {first, others...}, sums, {}, {}};
  PlanBuilder book(group.spec());
  for (Buf& buf : p.x_buf) buf = book.line<T>("terms", lines.values(), Depth::two);
  p.sums_buf = book.line<float>("sums", block, 1);
  group.launch(p, book.plan(lines.groups));
}

}  // namespace cortado
