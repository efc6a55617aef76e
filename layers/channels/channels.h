#pragma once
#include <algorithm>
#include <functional>

#include "core/machine/core_group.h"
#include "core/machine/integers.h"
#include "layers/channels/programs.h"
#include "layers/gemm/gemm.h"

namespace cortado {

/// Gives that many floats of cluster memory, which a call needs until what it queued is done: Layer::workspace. The
/// arrays that the call reads lie elsewhere.
using Room = std::function<float*(i64 floats)>;

/// Work with one value per channel, for convolutions, BatchNorm and Scale. Arrays are outer x channels x inner, or in
/// blocks of sixteen channels outer x channels / 16 x inner x 16. All functions queue their programs.
struct Channels {
  i64 outer = 1, channels = 1, inner = 1;
  Layout layout = Layout::nchw;
  i64 count() const { return outer * channels * inner; }

  /// Computes y = rectify((x - shift) scale + bias). nullptr means without that
  /// operand; one of the three must be there. y may be x.
  template <class T>
  void affine(CoreGroup& group, const T* x, const float* shift, const float* scale, const float* bias, T* y,
              const Rectify& rectify = {}) const;
  /// Computes plain = sum dy, product = sum dy x of each channel; `adds` adds to the old sums.
  template <class T>
  void gradients(CoreGroup& group, const Room& room, const T* x, const T* dy, bool adds, float* plain,
                 float* product) const;
  /// Computes plain += sum dy.
  template <class T>
  void sum(CoreGroup& group, const Room& room, const T* dy, float* plain) const;
  /// Computes dy = dy where y > 0, slope dy elsewhere; then plain += sum dy.
  template <class T>
  void rectify(CoreGroup& group, const Room& room, const T* y, float slope, T* dy, float* plain) const;

  /// use(lines) with the array as programs see it, ChannelLines of its channel block, where a scratchpad holds
  /// `buffers` pieces.
  template <class Use>
  void with_lines(const MachineSpec& spec, int buffers, const Use& use) const {
    if (layout == Layout::nchw && spec.own_lanes > 0) return use(lines_of_lanes(spec.own_lanes));
    if (layout == Layout::nchw)
      return use(ChannelLines<1>{outer, channels, inner, line_elements(spec, inner, buffers)});
    // Short enough to be added up in float, and to give every CPE some.
    constexpr i64 most = 1024;
    const i64 pixels = line_elements(spec, inner * block_channels, 6) / block_channels;
    use(ChannelLines<block_channels>{outer, channels / block_channels, inner, std::clamp<i64>(pixels, 1, most)});
  }

  static constexpr i64 workers_of_devices = 2048;  ///< teams that a large device runs at the same time, about

 private:
  /// Pieces such that a large device's teams get one each, of at least four values for each of their `lanes`: of whole
  /// planes where these are smaller, of part of one else.
  ChannelLines<1> lines_of_lanes(i64 lanes) const {
    const i64 parts = ceil_div(workers_of_devices, std::max<i64>(1, channels)),
              values = std::max(4 * lanes, outer * inner / parts);
    if (values < inner) return {outer, channels, inner, round_up(values, lanes)};
    return {outer, channels, inner, std::max<i64>(1, inner),
            std::clamp<i64>(values / std::max<i64>(1, inner), 1, std::max<i64>(1, outer))};
  }
};

/// Parts into which workers cut each group of channels. Where cores work from caches, they are as many as give every
/// core a share, if the array is large enough. Where a device has an array in planes, their number depends on the array
/// alone, and so do results. Elsewhere it is 1.
template <i64 block>
i64 parts_of_channels(const MachineSpec& spec, const ChannelLines<block>& lines) {
  if (lines.groups < 1) return 1;
  const i64 pieces = std::max<i64>(1, lines.of_group());
  if (spec.works_from_caches()) {
    constexpr i64 least = 8192;  // values of a part
    if (lines.groups >= spec.cpes) return 1;
    const i64 worth = std::max<i64>(1, lines.of_channel() * block / least);
    return std::min({pieces, worth, ceil_div(i64{2} * spec.cpes, lines.groups)});
  }
  if (block > 1 || spec.host_memory) return 1;
  const i64 wanted = ceil_div(Channels::workers_of_devices, lines.groups);
  return pieces < 2 * wanted ? pieces : wanted;
}

/// Queues `p`, which adds sums over channels to those at p.*sums. Where the channels are cut into parts, the sums of
/// parts go to `room` first.
template <i64 block, class Program, class... Sums>
void launch_sums(CoreGroup& group, const ChannelLines<block>& lines, const Room& room, Program& p, PlanBuilder& book,
                 Sums... sums) {
  p.parts.count = parts_of_channels(group.spec(), lines);
  const Plan plan = book.plan(lines.groups * p.parts.count);
  if (p.parts.count == 1) return group.launch(p, plan);
  const i64 values = p.parts.count * lines.channels();
  float* const all = room(values * static_cast<i64>(sizeof...(Sums)));
  float* const results[] = {p.*sums...};
  const bool adds = p.adds;
  p.adds = false;
  float* next = all;
  ((p.*sums = next, next += values), ...);
  group.launch(p, plan);
  for (std::size_t i = 0; i < sizeof...(Sums); ++i) {
    if (!adds) group.zero(results[i], static_cast<std::size_t>(lines.channels()) * sizeof(float));
    sum_columns(group, all + static_cast<i64>(i) * values, p.parts.count, lines.channels(), results[i]);
  }
}

/// Queues sums[c] += the sum of Terms::term(x...) over each channel of the arrays.
template <class Terms, i64 block, class T, class... Arrays>
void sum_channels(CoreGroup& group, const ChannelLines<block>& lines, const Room& room, float* sums, const T* first,
                  const Arrays*... others) {
  constexpr int arrays = 1 + sizeof...(Arrays);
  using Program = SumChannels<block, Terms, T, arrays>;
  Program p{lines, {first, others...}, sums, true, {}, {}, {}};
  PlanBuilder book(group.spec());
  for (Buf& buf : p.x_buf) buf = book.line<T>("terms", lines.values(), Depth::two);
  p.sums_buf = book.line<float>("sums", block, 1);
  launch_sums(group, lines, room, p, book, &Program::sums);
}

}  // namespace cortado
