#pragma once
#include <type_traits>

#include "comm/codec/format.h"

namespace cortado::codec {

/// 10^-n.
CORTADO_FN constexpr float decade(int n) {
  double value = 1;
  for (int i = 0; i < n; ++i) value /= 10;
  return static_cast<float>(value);
}
/// Leaf k of the tree that bisects (0.1, 1) into `leaves` intervals: the middle of its interval.
CORTADO_FN constexpr float leaf(double k, double leaves) { return static_cast<float>(0.1 + 0.9 * (k + 0.5) / leaves); }
/// The smaller and the larger of numbers >= 0: their bits are in their order, and words' minima are one instruction.
template <class T>
CORTADO_FN T smaller(T a, T b) {
  return math::float_of(math::min(math::bits_of(a), math::bits_of(b)));
}
template <class T>
CORTADO_FN T larger(T a, T b) {
  return math::float_of(math::max(math::bits_of(a), math::bits_of(b)));
}
/// The position of a value's leaf in (0.1, 1), as a number whose integer part is k; it is kept below `leaves`.
template <class T, class L>
CORTADO_FN auto leaf_at(T value, L leaves) {
  const auto at = (value - 0.1f) * leaves * (1 / 0.9f);
  return smaller(at, decltype(at)(leaves - 0.5f));
}

/// All ones where a < limit, else zero. It holds for words below 2^31, and so for the bits of floats >= 0. Compilers
/// may turn comparisons into branches; this stays a vector.
template <class W>
CORTADO_FN auto below(W a, std::uint32_t limit) {
  return 0u - ((a - limit) >> 31);
}
/// `value` where the mask is all ones, 1 where it is zero.
template <class W>
CORTADO_FN auto factor(float value, W mask) {
  return math::float_of(math::bits_of(1.0f) + (mask & (math::bits_of(value) - math::bits_of(1.0f))));
}
/// 10^n for 0 <= n <= 7, or 10^-n: the product of the factors of n's bits. It takes some instructions; a table would be
/// read value by value.
template <bool negative = false, class W>
CORTADO_FN auto power_of_ten(W n) {
  const auto of_bit = [&](auto bit) {
    constexpr int k = decltype(bit)::value;
    constexpr float value = negative ? decade(1 << k) : 1 / decade(1 << k);
    return factor(value, 0u - ((n << (31 - k)) >> 31));
  };
  return of_bit(std::integral_constant<int, 0>()) * of_bit(std::integral_constant<int, 1>()) *
         of_bit(std::integral_constant<int, 2>());
}
/// -log10(value) + more without its fraction, or 1 less; for sums above -1. A float's bits, as a number, are its
/// logarithm 2^23 (127 + log2 value), less up to 0.087 of its units: 0.0262 decades.
template <class T>
CORTADO_FN auto decades_or_one_less(T value, float more) {
  constexpr float log10_of_2 = 0.30103f, most_missing = 0.0263f;
  const float offset = 127 * log10_of_2 - most_missing + more;
  return math::truncate(offset - math::as_float(math::bits_of(value)) * (log10_of_2 / (1 << 23)));
}
/// The number n of decades by which a value lies below 1, and 10^n.
template <class W, class T>
struct Decade {
  W n;
  T power;
};
/// Decade n begins below edge 10^-n; the value lies above edge 10^-8, so that n is 7 at most.
template <class T>
CORTADO_FN auto decade_of(T value, float edge, float log10_of_edge) {
  const auto near = decades_or_one_less(value, log10_of_edge);
  const auto power = power_of_ten(near);
  const auto one_more = below(math::bits_of(value * power), math::bits_of(0.1f * edge));
  const auto exact = power * factor(10.0f, one_more);
  return Decade<decltype(near - one_more), std::decay_t<decltype(exact)>>{near - one_more, exact};
}

/// The common part of the four 8-bit types (Dettmers 2016, section 3.1, figure 1). Bit 7 is the sign. The others are
/// `Type`'s code of |value| / scale, which lies in [0, 1]. All types round to their nearest value.
template <class Type>
struct EightBit {
  static constexpr int words = 256, per_word = 4, runs = 1;
  static constexpr bool scaled = true, state = false;

  /// The scale of the block, or `given` for all blocks.
  template <class C, class Value>
  CORTADO_FN static auto scale(C& c, i64 n, Value value, float given) {
    return one_scale(Type::scale_for(largest(c, n, value)), given);
  }
  template <class Value, class S>
  CORTADO_FN static auto pack(Value value, S scale) {
    const auto s = math::float_of(scale);
    const auto inverse = math::select(s > 1e-30f, 1.0f / math::max(s, decltype(s + s)(1e-30f)), 0.0f);
    return pack_fields<per_word, 8>([&](int r) {
      const auto x = value(r);
      return Type::code(math::abs(x) * inverse) | ((math::bits_of(x) >> 24) & 0x80u);
    });
  }
  template <class Word, class S>
  CORTADO_FN static auto unpack(Word word, i64 r, S scale) {
    const auto code = field<per_word>(word, r);
    const auto size = Type::value(code & 0x7Fu) * math::float_of(scale);
    return math::float_of(math::bits_of(size) | ((code & 0x80u) << 24));
  }
};

/// Scales for the types with a dynamic range of their own: the largest absolute value.
struct ByMaximum {
  template <class T>
  CORTADO_FN static T scale_for(T most) {
    return most;
  }
};
/// The types with decimal exponents get "fitting offsets for the exponent": the power of ten that is no less than the
/// largest absolute value.
struct ByDecade {
  template <class T>
  CORTADO_FN static auto scale_for(T most) {
    const auto exponent = math::log(math::max(most, T(1e-30f))) * 0.43429448f - 1e-5f;
    const auto floor = math::as_float(math::truncate(exponent + 64.0f)) - 64.0f;
    return math::exp((floor + 1.0f) * 2.30258509f);
  }
};

/// k / 127: the linear quantisation to which the paper's 7-bit bisection of [0, 1] is equivalent. Zero and the largest
/// value are exact, as midpoints of 128 intervals would not be; the step is 1/127 instead of 1/128.
struct Linear : ByMaximum, EightBit<Linear> {
  static constexpr const char* name = "linear8";
  template <class T>
  CORTADO_FN static auto code(T a) {
    return math::truncate(math::min(a, T(1.0f)) * 127.0f + 0.5f);
  }
  template <class W>
  CORTADO_FN static auto value(W code) {
    return math::as_float(code) * (1.0f / 127);
  }
};

/// 3 bits of decimal exponent e, 4 of mantissa m: m 10^-(e + 1). Values between 15 and 17.5 of a decade are nearest
/// to its 15.
struct Mantissa : ByDecade, EightBit<Mantissa> {
  static constexpr const char* name = "mantissa8";
  template <class T>
  CORTADO_FN static auto code(T a) {
    const auto decade = decade_of(larger(a, T(2e-8f)), 1.75f, 0.243038f);
    const auto mantissa = a * 10.0f * decade.power + 0.5f;
    return (decade.n << 4) + math::truncate(smaller(mantissa, decltype(mantissa)(15.5f)));
  }
  template <class W>
  CORTADO_FN static auto value(W code) {
    return math::as_float(code & 15u) * 0.1f * power_of_ten<true>(code >> 4);
  }
};

/// 3 bits of decimal exponent e, 4 of the tree: 10^-e leaf. The smallest value stands for zero. The definition lacks a
/// zero, and gradients have plenty.
struct StaticTree : ByDecade, EightBit<StaticTree> {
  static constexpr const char* name = "static_tree8";
  static constexpr int leaves = 16;
  static constexpr std::uint32_t zero = 7 * leaves;
  template <class T>
  CORTADO_FN static auto code(T a) {
    // Between the first leaf of a decade and the last one of the next.
    constexpr float edge = 0.5f * (leaf(leaves - 1, leaves) + 10 * leaf(0, leaves)), log10_of_edge = 0.051755f;
    constexpr float half = 0.5f * decade(7) * leaf(1, leaves), second_leaf = decade(7) * (0.1f + 0.9f / leaves);
    // Values below the smallest decade's second leaf become `zero`, of which the upper part is one more.
    const auto kept = larger(a, T(1.2e-8f));
    const auto decade = decade_of(kept, edge, log10_of_edge);
    const auto made = (decade.n << 4) + math::truncate(leaf_at(kept * decade.power, float{leaves}));
    const auto bits = math::bits_of(a);
    return made + ((bits - math::bits_of(second_leaf)) >> 31) - ((bits - math::bits_of(half)) >> 31);
  }
  template <class W>
  CORTADO_FN static auto value(W code) {
    const auto size = (0.1f + (math::as_float(code & 15u) + 0.5f) * (0.9f / leaves)) * power_of_ten<true>(code >> 4);
    const auto is_zero = ~below(code, zero) & below(code, zero + 1);
    return math::float_of(math::bits_of(size) & ~is_zero);
  }
};

/// n zeros are the decimal exponent, the first one is a flag, the 6 - n bits behind it are the tree's: 10^-n leaf. All
/// zeros are 0. As a number the code is 2^(6 - n) + k.
struct DynamicTree : ByMaximum, EightBit<DynamicTree> {
  static constexpr const char* name = "dynamic_tree8";
  /// The edge below which decade n begins; above it is decade n - 1.
  CORTADO_FN static constexpr float edge(int n) {
    const double leaves = 1 << (6 - n);
    return 0.5f * (decade(n) * leaf(leaves - 1, leaves) + decade(n - 1) * leaf(0, 2 * leaves));
  }
  template <class T>
  CORTADO_FN static auto code(T a) {
    constexpr float half = 0.5f * decade(6) * leaf(0, 1);
    const auto bits = math::bits_of(a);
    const auto is_below = [&](auto n) {
      constexpr float limit = edge(decltype(n)::value);
      return (bits - math::bits_of(limit)) >> 31;
    };
    const auto n = is_below(std::integral_constant<int, 1>()) + is_below(std::integral_constant<int, 2>()) +
                   is_below(std::integral_constant<int, 3>()) + is_below(std::integral_constant<int, 4>()) +
                   is_below(std::integral_constant<int, 5>()) + is_below(std::integral_constant<int, 6>());
    const auto leaves = math::float_of(math::bits_of(64.0f) - (n << 23));
    const auto made = math::truncate(leaves + leaf_at(a * power_of_ten(n), leaves));
    return made & ~below(bits, math::bits_of(half));
  }
  template <class W>
  CORTADO_FN static auto value(W code) {
    // As a float the code is 2^(6 - n) (1 + k / leaves): its exponent tells n, its mantissa the leaf.
    const auto bits = math::bits_of(math::as_float(code)), exponent = bits & 0x7F800000u;
    const auto part = math::float_of((bits & 0x7FFFFFu) | 0x3F800000u) - 1.0f;
    const auto half_leaf = math::float_of(0x7E800000u - exponent);  // 0.5 / leaves
    const auto scale = power_of_ten<true>((math::bits_of(64.0f) - exponent) >> 23);
    return math::float_of(math::bits_of((0.1f + (part + half_leaf) * 0.9f) * scale) & ~below(code, 1));
  }
};

}  // namespace cortado::codec
