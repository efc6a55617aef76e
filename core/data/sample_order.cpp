#include <numeric>
#include <utility>

#include "core/base/random.h"
#include "core/data/batch_source.h"

namespace cortado {

i64 SampleOrder::operator()(i64 position) {
  const i64 epoch = position / samples_;
  const i64 within = position % samples_;
  if (!shuffle_) return within;
  if (epoch != epoch_) {
    // Fisher-Yates; not std::shuffle, whose result depends on the library.
    permutation_.resize(static_cast<std::size_t>(samples_));
    std::iota(permutation_.begin(), permutation_.end(), i64{0});
    const std::uint64_t key = random_bits(seed_, static_cast<std::uint64_t>(epoch));
    for (i64 i = samples_ - 1; i > 0; --i) {
      const auto j = random_bits(key, static_cast<std::uint64_t>(i)) % static_cast<std::uint64_t>(i + 1);
      std::swap(permutation_[static_cast<std::size_t>(i)], permutation_[j]);
    }
    epoch_ = epoch;
  }
  return permutation_[static_cast<std::size_t>(within)];
}

}  // namespace cortado
