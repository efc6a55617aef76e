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
/// Where the leaf of a value in (0.1, 1) is, as a number whose integer part is k; kept within [0, leaves).
template <class T, class L>
CORTADO_FN auto leaf_at(T value, L leaves) {
  const auto at = (value - 0.1f) * leaves * (1 / 0.9f);
  const auto zero = decltype(at)(0.0f);
  return math::min(math::max(at, zero), decltype(at)(leaves - 0.5f));
}

/// All ones where a < limit, else zero, for words below 2^31 and so for the bits of floats >= 0. Chains of comparisons
/// become branches in compilers' hands, these stay vectors.
template <class W>
CORTADO_FN auto below(W a, std::uint32_t limit) {
  return 0u - ((a - limit) >> 31);
}

/// The float that `choose(0)` gives, or that of the largest e <= last for which `mask(e)` is all ones; masks are
/// nested. Both take a constant: what depends on it alone is computed by the compiler.
template <int last, int e = 1, class W, class Mask, class Choose>
CORTADO_FN auto pick(W bits, Mask mask, Choose choose) {
  if constexpr (e > last) {
    return math::float_of(bits);
  } else {
    using E = std::integral_constant<int, e>;
    using Before = std::integral_constant<int, e - 1>;
    constexpr float here = choose(E()), before = choose(Before());
    const auto next = bits + (mask(E()) & (math::bits_of(here) - math::bits_of(before)));
    return pick<last, e + 1>(next, mask, choose);
  }
}
template <int last, class Mask, class Choose>
CORTADO_FN auto pick(Mask mask, Choose choose) {
  constexpr float first = choose(std::integral_constant<int, 0>());
  return pick<last, 1>(math::bits_of(first), mask, choose);
}

/// What the four 8-bit types share (Dettmers 2016, section 3.1, figure 1): bit 7 is the sign, the others are `Type`'s
/// code of |value| / scale, which lies in [0, 1]. All round to the nearest value of the type.
template <class Type>
struct EightBit {
  static constexpr int words = 256, per_word = 4, scales = 1;
  static constexpr bool state = false;

  /// Of the block, unless one is `given` for all of them.
  template <class C, class Value>
  CORTADO_FN static auto scale(C& c, i64 n, Value value, float given) {
    return one_scale(Type::scale_for(largest(c, n, value)), given);
  }
  template <class Value, class S>
  CORTADO_FN static auto pack(Value value, const S& s) {
    const auto inverse = math::select(s.first > 1e-30f, 1.0f / math::max(s.first, decltype(s.first)(1e-30f)), 0.0f);
    return pack_fields<per_word>(
        value, [&](auto x) { return Type::code(math::abs(x) * inverse) | ((math::bits_of(x) >> 24) & 0x80u); });
  }
  template <class Word, class S>
  CORTADO_FN static auto unpack(Word word, i64 r, const S& s) {
    const auto code = field<per_word>(word, r);
    const auto size = Type::value(code & 0x7Fu) * s.first;
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
    const auto bits = math::bits_of(a);
    const auto mask = [&](auto e) {
      constexpr float limit = 1.75f * decade(decltype(e)::value);
      return below(bits, math::bits_of(limit));
    };
    const auto scale = pick<7>(mask, [](auto e) { return 10.0f / decade(e); });
    const auto exponent = pick<7>(mask, [](auto e) { return 16.0f * e; });
    return math::truncate(exponent + math::min(a * scale + 0.5f, decltype(a * scale)(15.5f)));
  }
  template <class W>
  CORTADO_FN static auto value(W code) {
    const auto scale = pick<7>([&](auto e) { return ~below(code, 16 * e); }, [](auto e) { return decade(e + 1); });
    return math::as_float(code & 15u) * scale;
  }
};

/// 3 bits of decimal exponent e, 4 of the tree: 10^-e leaf. The smallest of all stands for zero, which the definition
/// lacks and gradients have in plenty.
struct StaticTree : ByDecade, EightBit<StaticTree> {
  static constexpr const char* name = "static_tree8";
  static constexpr int leaves = 16;
  static constexpr std::uint32_t zero = 7 * leaves;
  /// Below it decade e begins, above it e - 1.
  CORTADO_FN static constexpr float edge(int e) {
    return 0.5f * (decade(e) * leaf(leaves - 1, leaves) + decade(e - 1) * leaf(0, leaves));
  }
  template <class T>
  CORTADO_FN static auto code(T a) {
    constexpr float half = 0.5f * decade(7) * leaf(1, leaves);
    const auto bits = math::bits_of(a);
    const auto mask = [&](auto e) {
      constexpr float limit = edge(decltype(e)::value);
      return below(bits, math::bits_of(limit));
    };
    const auto scale = pick<7>(mask, [](auto e) { return 1 / decade(e); });
    const auto exponent = pick<7>(mask, [](auto e) { return 16.0f * e; });
    const auto made = math::truncate(exponent + leaf_at(a * scale, float{leaves}));
    const auto is_zero = ~below(made, zero) & below(made, zero + 1), tiny = below(bits, math::bits_of(half));
    return ((made - is_zero) & ~tiny) | (tiny & zero);
  }
  template <class W>
  CORTADO_FN static auto value(W code) {
    const auto scale = pick<7>([&](auto e) { return ~below(code, 16 * e); }, [](auto e) { return decade(e); });
    const auto size = (0.1f + (math::as_float(code & 15u) + 0.5f) * (0.9f / leaves)) * scale;
    const auto is_zero = ~below(code, zero) & below(code, zero + 1);
    return math::float_of(math::bits_of(size) & ~is_zero);
  }
};

/// n zeros are the decimal exponent, the first one is a flag, the 6 - n bits after it are the tree's: 10^-n leaf; all
/// zeros are 0. As a number the code is 2^(6 - n) + k.
struct DynamicTree : ByMaximum, EightBit<DynamicTree> {
  static constexpr const char* name = "dynamic_tree8";
  CORTADO_FN static constexpr float edge(int n) {
    const double leaves = 1 << (6 - n);
    return 0.5f * (decade(n) * leaf(leaves - 1, leaves) + decade(n - 1) * leaf(0, 2 * leaves));
  }
  template <class T>
  CORTADO_FN static auto code(T a) {
    constexpr float half = 0.5f * decade(6) * leaf(0, 1);
    const auto bits = math::bits_of(a);
    const auto mask = [&](auto n) {
      constexpr float limit = edge(decltype(n)::value);
      return below(bits, math::bits_of(limit));
    };
    const auto scale = pick<6>(mask, [](auto n) { return 1 / decade(n); });
    const auto leaves = pick<6>(mask, [](auto n) { return static_cast<float>(64 >> n); });
    const auto made = math::truncate(leaves + leaf_at(a * scale, leaves));
    return made & ~below(bits, math::bits_of(half));
  }
  template <class W>
  CORTADO_FN static auto value(W code) {
    // As a float the code is 2^(6 - n) (1 + k / leaves): its exponent tells n, its mantissa the leaf.
    const auto bits = math::bits_of(math::as_float(code));
    const auto part = math::float_of((bits & 0x7FFFFFu) | 0x3F800000u) - 1.0f;
    const auto half_leaf = math::float_of(0x7E800000u - (bits & 0x7F800000u));  // 0.5 / leaves
    const auto scale = pick<6>([&](auto n) { return below(code, 128 >> n); }, [](auto n) { return decade(n); });
    return math::float_of(math::bits_of((0.1f + (part + half_leaf) * 0.9f) * scale) & ~below(code, 1));
  }
};

}  // namespace cortado::codec
