#pragma once
#include "parallel_io/sets/data_set.h"
#include "parallel_io/sets/image.h"

namespace cortado {

/// Draws sample `number` of the generated digits, 28 x 28 grey. The strokes of digit `number` mod 10 have every corner
/// moved a little. They are drawn under a random affine map with a random pen, with specks, stray lines and noise. The
/// sample depends on (seed, number) alone. A linear classifier fails on one in five or more.
Image draw_digit(std::uint64_t seed, i64 number);
inline int digit_label(i64 number) { return static_cast<int>(number % 10); }

/// Digits [first, first + count) as a data set.
class DigitSet : public DataSet {
 public:
  DigitSet(std::uint64_t seed, i64 first, i64 count);
  void read(const i64* indices, i64 count, std::vector<Values>& to) const override;
  std::string where(i64 sample) const override { return "digit " + std::to_string(first_ + sample); }

 private:
  std::uint64_t seed_;
  i64 first_;
};

}  // namespace cortado
