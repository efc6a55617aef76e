#include "core/data/sample_order.h"

#include <algorithm>

#include "core/base/random.h"

namespace cortado {
namespace {
constexpr int rounds = 6;
}

Permutation::Permutation(i64 n, std::uint64_t key) : n_(n), half_bits_(1), key_(key) {
  while ((std::uint64_t{1} << (2 * half_bits_)) < static_cast<std::uint64_t>(n)) ++half_bits_;
}

i64 Permutation::operator()(i64 i) const {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  auto x = static_cast<std::uint64_t>(i);
  do {
    std::uint64_t left = x >> half_bits_, right = x & mask;
    for (int r = 0; r < rounds; ++r) {
      const std::uint64_t next = left ^ (random_bits(key_ + static_cast<std::uint64_t>(r), right) & mask);
      left = right;
      right = next;
    }
    x = (left << half_bits_) | right;
  } while (x >= static_cast<std::uint64_t>(n_));
  return static_cast<i64>(x);
}

i64 Permutation::inverse(i64 i) const {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  auto x = static_cast<std::uint64_t>(i);
  do {
    std::uint64_t left = x >> half_bits_, right = x & mask;
    for (int r = rounds - 1; r >= 0; --r) {
      const std::uint64_t before = right ^ (random_bits(key_ + static_cast<std::uint64_t>(r), left) & mask);
      right = left;
      left = before;
    }
    x = (left << half_bits_) | right;
  } while (x >= static_cast<std::uint64_t>(n_));
  return static_cast<i64>(x);
}

i64 SampleOrder::operator()(i64 position) const {
  const i64 within = position % samples_;
  if (kind_ == Kind::sequential) return within;
  const std::uint64_t key = random_bits(seed_, static_cast<std::uint64_t>(position / samples_));
  return kind_ == Kind::shuffled ? Permutation(samples_, key)(within) : in_blocks(within, key);
}

/// The last block may be short; wherever the permutation puts it, all blocks after it begin earlier.
i64 SampleOrder::in_blocks(i64 within, std::uint64_t key) const {
  const i64 blocks = (samples_ + block_ - 1) / block_, last = blocks - 1, rest = samples_ - last * block_;
  const Permutation order(blocks, key);
  const i64 begin_of_last = order.inverse(last) * block_;
  const i64 shifted = within < begin_of_last + rest ? within : within + block_ - rest;
  const i64 block = order(shifted / block_);
  const i64 size = block == last ? rest : block_;
  return block * block_ + Permutation(size, random_bits(key, static_cast<std::uint64_t>(block)))(shifted % block_);
}

}  // namespace cortado
