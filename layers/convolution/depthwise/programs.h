#pragma once
#include "layers/convolution/depthwise/gradient_program.h"
#include "layers/convolution/depthwise/sum_program.h"

namespace cortado {

/// dw = the sums of all shares, or dw plus them. A line is sixteen channels.
struct DepthwiseGradientSums {
  static constexpr const char* label = "depthwise_gradient_sums";
  i64 channels, taps, shares;
  bool sets;
  const float* sums;
  float* dw;
  Buf sums_buf, old_buf, dw_buf;

  CORTADO_FN i64 blocks() const { return (channels + block_channels - 1) / block_channels; }

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const DepthwiseGradientSums p = *this;
    const auto fetch = [&](i64 block) { return c.stage(p.old_buf, p.old(block)); };
    c.lines(p.blocks(), Depth::one, fetch, [&](i64 block, auto& before) {
      const i64 channel = block * block_channels;
      auto q = out_lanes<false>(c, p.dw_buf, p.dw + channel * p.taps, p.taps, p.taps, p.present(block));
      const bool adds = !p.sets;
      c.each2d(p.taps, block_channels, [&](i64 t, i64 lane) { q.set(t, lane, adds ? before(t, lane) : 0.0f); });
      c.pipeline(
          p.shares, Depth::one,
          [&](i64 share) {
            return c.get2d(p.sums_buf, p.sums + (share * p.blocks() + block) * p.taps * block_channels, p.taps,
                           block_channels, block_channels);
          },
          [&](i64, auto& part) {
            c.each2d(p.taps, block_channels, [&](i64 t, i64 lane) { q.set(t, lane, q.at(t, lane) + part(t, lane)); });
          });
      c.put(q);
    });
  }

 private:
  CORTADO_FN i64 present(i64 block) const { return math::min(i64{block_channels}, channels - block * block_channels); }
  CORTADO_FN Box<float> old(i64 block) const {
    return channel_lanes(static_cast<const float*>(dw) + block * block_channels * taps, Layout::nchw, 1, taps,
                         present(block), {0, 1}, {0, taps});
  }
};

/// Weights of groups of as many inputs as outputs, turned for the input gradient:
/// [group][output][input][tap] to [group][input][output][tap]. A line is an input channel.
struct TurnGroups {
  static constexpr const char* label = "turn_groups";
  i64 channels, copies, taps;  ///< of all groups, of a group; of a kernel
  const float* from;
  float* to;
  Buf from_buf, to_buf;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const TurnGroups p = *this;
    const auto fetch = [&](i64 i) {
      const i64 of_group = i % p.copies, first = (i - of_group) * p.copies + of_group;
      return c.get2d(p.from_buf, p.from + first * p.taps, p.copies, p.taps, p.copies * p.taps);
    };
    c.lines(p.channels, Depth::two, fetch, [&](i64 i, auto& in) {
      auto q = c.out2d(p.to_buf, p.to + i * p.copies * p.taps, p.copies, p.taps, p.taps);
      c.each2d(p.copies, p.taps, [&](i64 r, i64 t) { q.set(r, t, in(r, t)); });
      c.put(q);
    });
  }
};

}  // namespace cortado
