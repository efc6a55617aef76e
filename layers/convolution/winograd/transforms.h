#pragma once
#include "core/base/types.h"

namespace cortado {

/// Winograd's F(4x4, 3x3), F(6x6, 3x3), F(2x2, 3x3), F(5x5, 4x4) and F(4x4, 5x5) for convolutions (Lavin and Gray,
/// "Fast algorithms for convolutional neural networks", 2016, section 4). A tile of outputs and the inputs that it sees
/// take `points` squared products instead of one for each weight of each output:
///   y = At [(G w Gt) * (Bt x B)] A, `*` element by element
/// F is one of the structures here. Their one-dimensional transforms go from and to places `step` apart.
namespace winograd {
constexpr i64 lanes = 16;  ///< channels that are transformed together

/// The padded channels of a matrix of points, in whole vectors.
CORTADO_FN inline i64 padded(i64 channels) { return (channels + lanes - 1) / lanes * lanes; }
/// The distance of matrices of points, rows x padded channels. It is an odd number of lanes: otherwise the matrices
/// that a transform touches at once would meet in few sets of a cache.
CORTADO_FN inline i64 distance(i64 rows, i64 channels) { return ((rows * padded(channels) / lanes) | 1) * lanes; }

/// Sets a point and its negative, which lie `step` apart, from even and odd terms.
template <class T>
CORTADO_FN void set_pair(T* v, int step, const T& even, const T& odd) {
  v[0] = even + odd;
  v[step] = even - odd;
}

/// A tile of 4 x 4 outputs sees 6 x 6 inputs and takes 36 products instead of 144. The points are 0, infinity, 1, -1, 2
/// and -2. Fewer outputs one way, as at an edge, take the first of them that way, with the same points of weights.
struct F4x3 {
  static constexpr i64 outputs = 4, fewer = 1, least = 1, kernel = 3, points = 6, products = 36;

  /// Bt: n + 2 inputs to so many points.
  template <int n, class T>
  CORTADO_FN static void from_inputs(T* v, int step) {
    const T a = v[0], b = v[step], c = v[2 * step];
    if constexpr (n == 1) {
      v[0] = 4.0f * (a - b);
      v[step] = c - b;
      v[2 * step] = -6.0f * b;
    } else if constexpr (n == 2) {
      const T d = v[3 * step];
      v[0] = 4.0f * (a - c);
      v[step] = d - b;
      v[2 * step] = -3.0f * (b + c);
      v[3 * step] = 3.0f * (b - c);
    } else if constexpr (n == 3) {
      const T d = v[3 * step], e = v[4 * step];
      const T near = d - b, far = c - a;
      v[0] = 2.0f * near - 4.0f * far;
      v[step] = e - c - 2.0f * near;
      v[2 * step] = 3.0f * (d - c - 2.0f * b);
      v[3 * step] = 2.0f * b - 3.0f * c + d;
      v[4 * step] = 4.0f * near;
    } else {
      const T d = v[3 * step], e = v[4 * step], f = v[5 * step];
      const T even = e - 4.0f * c, odd = d - 4.0f * b, near = e - c, far = 2.0f * (d - b);
      v[0] = 4.0f * a - 5.0f * c + e;
      v[step] = 4.0f * b - 5.0f * d + f;
      set_pair(v + 2 * step, step, even, odd);
      set_pair(v + 4 * step, step, near, far);
    }
  }

  /// At: n + 2 points to n outputs.
  template <int n, class T>
  CORTADO_FN static void to_outputs(T* v, int step) {
    const T a = v[0], last = v[step];
    if constexpr (n == 1) {
      v[0] = a + v[2 * step] + last;
    } else if constexpr (n == 2) {
      v[0] = a + v[2 * step] + v[3 * step];
      v[step] = v[2 * step] - v[3 * step] + last;
    } else if constexpr (n == 3) {
      const T b = v[2 * step] + v[3 * step], c = v[2 * step] - v[3 * step], d = v[4 * step];
      v[0] = a + b + d;
      v[step] = c + 2.0f * d;
      v[2 * step] = b + 4.0f * d + last;
    } else {
      const T b = v[2 * step] + v[3 * step], c = v[2 * step] - v[3 * step], d = v[4 * step] + v[5 * step],
              e = v[4 * step] - v[5 * step];
      v[0] = a + b + d;
      v[step] = c + 2.0f * e;
      v[2 * step] = b + 4.0f * d;
      v[3 * step] = c + 8.0f * e + last;
    }
  }

  /// A: n gradients of outputs, zeros behind them, to n + 2 points, and more that nobody needs.
  template <int n, class T>
  CORTADO_FN static void from_gradients(T* v, int step) {
    const T a = v[0], b = v[step], c = v[2 * step], d = v[3 * step], last = v[(n - 1) * step];
    const T even = a + c, odd = b + d, even2 = a + 4.0f * c, odd2 = 2.0f * b + 8.0f * d;
    v[step] = last;
    set_pair(v + 2 * step, step, even, odd);
    set_pair(v + 4 * step, step, even2, odd2);
  }

  /// G: three weights to six points.
  template <class T>
  CORTADO_FN static void from_weights(T* v, int step) {
    const T a = v[0], b = v[step], c = v[2 * step];
    const T even = (a + c) * (-1.0f / 6), odd = b * (-1.0f / 6), even2 = a * (1.0f / 24) + c * (1.0f / 6),
            odd2 = b * (1.0f / 12);
    v[0] = a * 0.25f;
    v[step] = c;
    set_pair(v + 2 * step, step, even, odd);
    set_pair(v + 4 * step, step, even2, odd2);
  }

  /// Gt: six gradients of points to three of weights.
  template <class T>
  CORTADO_FN static void to_weight_gradients(T* v, int step) {
    const T last = v[step], sum = v[2 * step] + v[3 * step], difference = v[2 * step] - v[3 * step],
            sum2 = v[4 * step] + v[5 * step], difference2 = v[4 * step] - v[5 * step];
    v[0] = v[0] * 0.25f - sum * (1.0f / 6) + sum2 * (1.0f / 24);
    v[step] = difference * (-1.0f / 6) + difference2 * (1.0f / 12);
    v[2 * step] = (sum2 - sum) * (1.0f / 6) + last;
  }
};

/// A tile of 2 x 2 outputs sees 4 x 4 inputs and takes 16 products instead of 36. The points are 0, 1, -1 and infinity:
/// nothing is multiplied by more than 1.
struct F2x3 {
  static constexpr i64 outputs = 2, fewer = 2, least = 2, kernel = 3, points = 4, products = 16;

  /// Bt: four inputs to four points.
  template <int /*n*/, class T>
  CORTADO_FN static void from_inputs(T* v, int step) {
    const T a = v[0], b = v[step], c = v[2 * step], d = v[3 * step];
    v[0] = a - c;
    v[step] = b + c;
    v[2 * step] = c - b;
    v[3 * step] = d - b;
  }

  /// At: four points to two outputs.
  template <int /*n*/, class T>
  CORTADO_FN static void to_outputs(T* v, int step) {
    const T a = v[0], b = v[step], c = v[2 * step], d = v[3 * step];
    v[0] = a + b + c;
    v[step] = b - c + d;
  }

  /// A: two gradients of outputs to four of points.
  template <int /*n*/, class T>
  CORTADO_FN static void from_gradients(T* v, int step) {
    const T a = v[0], b = v[step];
    v[step] = a + b;
    v[2 * step] = a - b;
    v[3 * step] = b;
  }

  /// G: three weights to four points.
  template <class T>
  CORTADO_FN static void from_weights(T* v, int step) {
    const T a = v[0], b = v[step], c = v[2 * step];
    const T even = (a + c) * 0.5f, odd = b * 0.5f;
    set_pair(v + step, step, even, odd);
    v[3 * step] = c;
  }

  /// Gt: four gradients of points to three of weights.
  template <class T>
  CORTADO_FN static void to_weight_gradients(T* v, int step) {
    const T sum = (v[step] + v[2 * step]) * 0.5f, difference = (v[step] - v[2 * step]) * 0.5f;
    v[0] = v[0] + sum;
    v[step] = difference;
    v[2 * step] = sum + v[3 * step];
  }
};

/// A tile of m x m outputs of a kernel of 9 - m sees 8 x 8 inputs and takes 64 products. The points are 0, infinity, 1,
/// -1, 2, -2, 1/2 and -1/2. Two or four outputs fewer one way take as many fewer of the points, with the same points of
/// weights.
template <i64 m>
struct EightPoints {
  static constexpr i64 outputs = m, fewer = 2, least = m > 4 ? m - 4 : m - 2, kernel = 9 - m, points = 8, products = 64;
  static_assert(products <= unrolled_turns, "or the transforms are not vectorised");

  /// Bt: n + kernel - 1 inputs to so many points.
  template <int n, class T>
  CORTADO_FN static void from_inputs(T* v, int step) {
    const T a = v[0], b = v[step], c = v[2 * step], d = v[3 * step];
    if constexpr (pairs<n> == 1) {
      const T even = -2.25f * c, odd = -2.25f * b;
      v[0] = a - c;
      v[step] = d - b;
      set_pair(v + 2 * step, step, even, odd);
    } else if constexpr (pairs<n> == 2) {
      const T e = v[4 * step], f = v[5 * step];
      const T even = 0.75f * e - 3.0f * c, odd = 0.75f * d - 3.0f * b, even2 = 3.75f * (e - c), odd2 = 7.5f * (d - b);
      v[0] = a - 1.25f * c + 0.25f * e;
      v[step] = 4.0f * b - 5.0f * d + f;
      set_pair(v + 2 * step, step, even, odd);
      set_pair(v + 4 * step, step, even2, odd2);
    } else {
      const T e = v[4 * step], f = v[5 * step], g = v[6 * step], h = v[7 * step];
      const T even = c + g - 4.25f * e, odd = b + f - 4.25f * d, even2 = 0.25f * c - 1.25f * e + g,
              odd2 = 0.5f * b - 2.5f * d + 2.0f * f, even_half = 4.0f * c - 5.0f * e + g,
              odd_half = 2.0f * b - 2.5f * d + 0.5f * f;
      v[0] = a - g + 5.25f * (e - c);
      v[step] = h - b + 5.25f * (d - f);
      set_pair(v + 2 * step, step, even, odd);
      set_pair(v + 4 * step, step, even2, odd2);
      set_pair(v + 6 * step, step, even_half, odd_half);
    }
  }

  /// At: n + kernel - 1 points to n outputs.
  template <int n, class T>
  CORTADO_FN static void to_outputs(T* v, int step) {
    collect<n, pairs<n>>(v, step, [](int) { return 1.0f; });
  }

  /// A: n gradients of outputs to n + kernel - 1 points.
  template <int n, class T>
  CORTADO_FN static void from_gradients(T* v, int step) {
    evaluate<n, pairs<n>>(v, step, [](int) { return 1.0f; });
  }

  /// G: weights to points.
  template <class T>
  CORTADO_FN static void from_weights(T* v, int step) {
    evaluate<kernel, 3>(v, step, scale);
  }

  /// Gt: gradients of points to those of weights.
  template <class T>
  CORTADO_FN static void to_weight_gradients(T* v, int step) {
    collect<kernel, 3>(v, step, scale);
  }

 private:
  /// Pairs of points, 1 and -1 first, that n outputs take.
  template <int n>
  static constexpr int pairs = (n + kernel - 3) / 2;

  /// A power of the positive one of a pair.
  CORTADO_FN static constexpr float power(int pair, int exponent) {
    const auto of_two = static_cast<float>(1 << exponent);
    return pair == 0 ? 1.0f : pair == 1 ? of_two : 1 / of_two;
  }
  /// The factor of a pair that Lagrange's polynomials leave to weights. Its inverse is the product of distances from
  /// the other points.
  CORTADO_FN static constexpr float scale(int pair) {
    return pair == 0 ? -2.0f / 9 : pair == 1 ? 1.0f / 90 : 32.0f / 45;
  }

  /// The transpose of `evaluate`: for each of n coefficients the sum of the points' values times powers of the points.
  template <int n, int pair_count, class T, class Scale>
  CORTADO_FN static void collect(T* v, int step, const Scale& scale_of) {
    const T first = v[0], last = v[step];
    T even[pair_count], odd[pair_count];
    CORTADO_UNROLL
    for (int pair = 0; pair < pair_count; ++pair) {
      even[pair] = scale_of(pair) * (v[(2 + 2 * pair) * step] + v[(3 + 2 * pair) * step]);
      odd[pair] = scale_of(pair) * (v[(2 + 2 * pair) * step] - v[(3 + 2 * pair) * step]);
    }
    CORTADO_UNROLL
    for (int i = 0; i < n; ++i) {
      T sum = i % 2 == 0 ? even[0] : odd[0];
      if (i == 0) sum = sum + first;
      CORTADO_UNROLL
      for (int pair = 1; pair < pair_count; ++pair) sum = sum + power(pair, i) * (i % 2 == 0 ? even[pair] : odd[pair]);
      v[i * step] = i == n - 1 ? sum + last : sum;
    }
  }

  /// The polynomial of n coefficients at the points: at infinity it is the last one.
  template <int n, int pair_count, class T, class Scale>
  CORTADO_FN static void evaluate(T* v, int step, const Scale& scale_of) {
    T c[n];
    CORTADO_UNROLL
    for (int i = 0; i < n; ++i) c[i] = v[i * step];
    v[step] = c[n - 1];
    CORTADO_UNROLL
    for (int pair = 0; pair < pair_count; ++pair) {
      T even = c[0], odd = n > 1 ? power(pair, 1) * c[n > 1 ? 1 : 0] : T(0.0f);
      CORTADO_UNROLL
      for (int i = 2; i < n; ++i) (i % 2 == 0 ? even : odd) = (i % 2 == 0 ? even : odd) + power(pair, i) * c[i];
      even = even * scale_of(pair), odd = odd * scale_of(pair);
      set_pair(v + (2 + 2 * pair) * step, step, even, odd);
    }
  }
};
using F6x3 = EightPoints<6>;
using F5x4 = EightPoints<5>;
using F4x5 = EightPoints<4>;
}  // namespace winograd

}  // namespace cortado
