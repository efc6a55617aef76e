#pragma once
#include "core/machine/channel_lanes.h"
#include "core/machine/rectify.h"

namespace cortado {

/// A map that a convolution applies to its sums before it writes them: y = rectify(scale[c] sum + bias[c]) for channel
/// c.
struct ChannelMap {
  const float* scale = nullptr;  ///< nullptr: sums are written as they are
  const float* bias = nullptr;
  i64 channels = 0;  ///< that both arrays have
  Rectify rectify;
  Buf scale_buf = {}, bias_buf = {};

  CORTADO_FN bool is_there() const { return scale != nullptr; }

  /// The map of channels that follow each other, as columns.
  template <class Block>
  struct Values {
    Block scale, bias;
    Rectify rectify;
    template <class V>
    CORTADO_FN auto operator()(V sum, i64 column) const {
      return rectify(scale(0, column) * sum + bias(0, column));
    }
  };
  /// `count` channels from `first` on; beyond the last one the map gives 0.
  template <class C>
  CORTADO_FN auto values(C& c, i64 first, i64 count) const {
    const auto staged = [&](Buf buf, const float* from) {
      return c.stage(buf, Box<float>::matrix(from, 1, channels, channels, 0, first, 1, count));
    };
    const auto of_scale = staged(scale_buf, scale), of_bias = staged(bias_buf, bias);
    return Values<std::decay_t<decltype(of_scale)>>{of_scale, of_bias, rectify};
  }

  /// Maps `pixels` rows of sixteen channels, from `channel` on, of an output that has been set and not been put.
  template <class C, class Out>
  CORTADO_FN void apply(C& c, Out& out, i64 pixels, i64 channel) const {
    const auto map = values(c, channel, block_channels);
    c.each2d(pixels, block_channels, [&](i64 r, i64 lane) { out.set(r, lane, map(out.at(r, lane), lane)); });
  }
};

/// Books the values of up to `count` channels.
inline void book(ChannelMap& map, i64 count, PlanBuilder& builder) {
  map.scale_buf = builder.tile<float>("scales of outputs", count, 1);
  map.bias_buf = builder.tile<float>("biases of outputs", count, 1);
}

}  // namespace cortado
