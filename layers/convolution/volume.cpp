#include "layers/convolution/volume.h"

#include <functional>
#include <numeric>

#include "core/tensor/blob.h"

namespace cortado {
namespace {
/// Calls `f` with every index below `extents`, in row-major order.
void for_each_index(const std::vector<i64>& extents, const std::function<void(const std::vector<i64>&)>& f) {
  std::vector<i64> index(extents.size());
  for (i64 left = count_of(extents); left > 0; --left) {
    f(index);
    for (std::size_t d = extents.size(); d-- > 0;) {
      if (++index[d] < extents[d]) break;
      index[d] = 0;
    }
  }
}

std::vector<i64> leading(const std::vector<i64>& extents) { return {extents.begin(), extents.end() - 2}; }
i64 plane(const std::vector<i64>& extents) { return extents[extents.size() - 2] * extents.back(); }
}  // namespace

void Volume::reshape(i64 samples, i64 in_channels, i64 out_channels, const std::vector<i64>& in,
                     const std::vector<i64>& out, const SlidingWindow& window) {
  const std::vector<i64> in_lead = leading(in), out_lead = leading(out), kernel = leading(window.kernel);
  const i64 in_planes = count_of(in_lead), out_planes = count_of(out_lead);
  taps_ = count_of(kernel);
  images_ = samples * out_planes;
  in_plane_ = plane(in);
  out_plane_ = plane(out);

  // The input plane (of a channel's own) under each tap of each output position; -1: padding.
  std::vector<i64> under;
  for_each_index(out_lead, [&](const std::vector<i64>& at) {
    for_each_index(kernel, [&](const std::vector<i64>& tap) {
      i64 number = 0;
      for (std::size_t d = 0; d < in_lead.size() && number >= 0; ++d) {
        const i64 z = at[d] * window.stride[d] - window.pad[d] + tap[d] * window.dilation[d];
        number = z < 0 || z >= in_lead[d] ? -1 : number * in_lead[d] + z;
      }
      under.push_back(number);
    });
  });
  std::vector<int> stacked, ordered(static_cast<std::size_t>(images_ * out_channels)), unordered;
  for (i64 n = 0; n < samples; ++n)
    for (i64 position = 0; position < out_planes; ++position) {
      for (i64 c = 0; c < in_channels; ++c)
        for (i64 tap = 0; tap < taps_; ++tap) {
          const i64 number = under[static_cast<std::size_t>(position * taps_ + tap)];
          stacked.push_back(static_cast<int>(number < 0 ? -1 : (n * in_channels + c) * in_planes + number));
        }
      for (i64 c = 0; c < out_channels; ++c) {
        const i64 whole = (n * out_channels + c) * out_planes + position;
        ordered[static_cast<std::size_t>(whole)] = static_cast<int>(unordered.size());
        unordered.push_back(static_cast<int>(whole));
      }
    }
  stacked_.pick(stacked);
  ordered_.pick(ordered);
  unordered_.pick(unordered);
}

void Volume::unstack(const float* images, float* dx, i64 count) {
  group_.zero(dx, static_cast<std::size_t>(count) * sizeof(float));
  stacked_.sum(images, in_plane_, dx);
}

}  // namespace cortado
