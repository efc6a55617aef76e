#pragma once
#include "core/base/types.h"

namespace cortado {

/// A permutation of [0, n) that needs no memory. It is a Feistel network keyed by `key` over the next even number of
/// bits. It is walked until it falls inside (Black, Rogaway, "Ciphers with arbitrary finite domains", 2002).
class Permutation {
 public:
  Permutation(i64 n, std::uint64_t key);
  i64 operator()(i64 i) const;
  /// The j with (*this)(j) == i.
  i64 inverse(i64 i) const;

 private:
  i64 n_;
  int half_bits_;
  std::uint64_t key_;
};

/// The order in which a run visits samples. Positions p = 0, 1, 2, ... run over all epochs and all ranks, and wrap
/// round. The order depends on (seed, position) alone. So any number of ranks reads the same global batches, and a
/// resumed run goes on where the first stopped. Each epoch visits every sample once: - sequential: as stored;
/// - shuffled: in a fresh permutation;
/// - blocks: the blocks of `block` neighbours in a fresh permutation, then the samples within each. A batch lies in few
///   places of the storage, and its samples are as mixed as the stored order is.
class SampleOrder {
 public:
  enum class Kind { sequential, shuffled, blocks };
  SampleOrder(i64 samples, Kind kind, std::uint64_t seed, i64 block = 1)
      : samples_(samples), kind_(kind), seed_(seed), block_(block) {}
  i64 operator()(i64 position) const;

 private:
  i64 in_blocks(i64 within, std::uint64_t key) const;

  i64 samples_;
  Kind kind_;
  std::uint64_t seed_;
  i64 block_;
};

}  // namespace cortado
