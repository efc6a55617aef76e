#pragma once
#include "comm/codec/format.h"

namespace cortado::codec {

/// Values beyond a threshold are sent as t or -t (Strom 2015). The rest is kept and added to the next values. Codes
/// have two bits a value, whatever is sent, so sizes do not depend on data.
///
/// Strom's t is the threshold, given for the whole net. Here the threshold is t / 2, so that values go to the nearest
/// of -t, 0 and t. Every run of 64 has its own t, 1.75 times the mean size. That lies between the factors with the
/// least error for normal (1.53) and for Laplacian values (2).
struct TernaryThreshold {
  static constexpr const char* name = "threshold";
  static constexpr int words = 64, per_word = 16, runs = 16;
  static constexpr bool scaled = true, state = true;

  template <class C, class Value>
  CORTADO_FN static auto scale(C& c, i64 n, Value value, float given) {
    const auto sizes = sum(c, n, [&](i64 i) { return math::abs(value(i)); });
    return one_scale(sizes * (1.75f / static_cast<float>(math::max(n, i64{1}))), given);
  }
  /// The code of a value: 1 is t, 2 is -t, 0 is nothing.
  template <class Value, class S>
  CORTADO_FN static auto pack(Value value, S scale) {
    return pack_fields<per_word / runs, 2>([&](int r) { return choice(value(r), scale, 1u, 2u, 0u); });
  }
  template <class Word, class S>
  CORTADO_FN static auto unpack(Word word, i64 r, S scale) {
    const auto code = field<per_word>(word, r);
    const auto t = math::float_of(scale);
    return math::select(code == 1u, t, math::select(code == 2u, -t, 0.0f));
  }
  template <class T, class S>
  CORTADO_FN static auto decoded(T value, S scale) {
    const auto t = math::float_of(scale);
    return choice(value, scale, t, -t, decltype(-t)(0.0f));
  }

 private:
  /// Chooses among the three values that stand for t, -t and nothing.
  template <class T, class S, class R>
  CORTADO_FN static auto choice(T value, S scale, R plus, R minus, R none) {
    const auto threshold = 0.5f * math::float_of(scale);
    return math::select(value > threshold, plus, math::select(-value > threshold, minus, none));
  }
};

}  // namespace cortado::codec
