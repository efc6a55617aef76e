#include "layers/split/split.h"

#include "core/machine/launch_elementwise.h"
#include "layers/split/programs.h"

namespace cortado {

void SplitLayer::reshape(const Blobs& bottom, const Blobs& top) {
  for (Blob* t : top) t->reshape_like(*bottom[0]);
}

void SplitLayer::forward(const Blobs& bottom, const Blobs& top) {
  // Not in reshape: shaping a net must not allocate its values.
  for (Blob* t : top) t->share_data(*bottom[0]);
}

void SplitLayer::backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) {
  if (!propagate_down[0]) return;
  with_element(bottom[0]->precision(), [&](auto element) { add<decltype(element)>(top, *bottom[0]); });
}

template <class T>
void SplitLayer::add(const Blobs& top, Blob& bottom) {
  if (top.empty()) return bottom.zero_diff();
  T* const sum = bottom.mutable_diff<T>();
  if (top.size() == 1) return group().copy(sum, top[0]->diff<T>(), static_cast<std::size_t>(bottom.bytes()));
  for (std::size_t i = 1; i < top.size(); ++i)
    elementwise(group(), bottom.count(), AddPairs{}, from(i == 1 ? top[0]->diff<T>() : sum, top[i]->diff<T>()),
                to(sum));
}

Layer::Cost SplitLayer::cost(const Blobs& bottom, const Blobs& top) const {
  const double n = static_cast<double>(bottom[0]->count()), sums = static_cast<double>(top.size()) - 1;
  return {0, n * sums, 0, 12 * n * sums};
}

}  // namespace cortado
