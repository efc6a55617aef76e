#pragma once
#include <cmath>
#include <vector>

#include "core/base/types.h"

namespace cortado::oracle {

/// Sequences through an LSTM or RNN, as the definitions have them, in double: x is T x N x I, cont T x N, parameters as
/// Caffe orders them (no static input). States go in and out by `h` and `c` (N x D).
struct Recurrent {
  i64 times, sequences, inputs, outputs;

  using Values = std::vector<float>;
  using States = std::vector<double>;

  /// W x + b (+ R h, for sequences that go on) of every gate.
  double sum(const Values& w, const Values& bias, const Values& r, const Values& x, const Values& cont, const States& h,
             i64 t, i64 n, i64 gate) const {
    double s = double{bias[static_cast<std::size_t>(gate)]};
    for (i64 i = 0; i < inputs; ++i)
      s += double{w[static_cast<std::size_t>(gate * inputs + i)]} *
           double{x[static_cast<std::size_t>((t * sequences + n) * inputs + i)]};
    for (i64 d = 0; d < outputs; ++d)
      s += double{r[static_cast<std::size_t>(gate * outputs + d)]} *
           double{cont[static_cast<std::size_t>(t * sequences + n)]} * h[static_cast<std::size_t>(n * outputs + d)];
    return s;
  }

  Values lstm(const std::vector<Values>& p, const Values& x, const Values& cont, States& h, States& c) const {
    const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
    Values y;
    for (i64 t = 0; t < times; ++t) {
      const States before = h;
      for (i64 n = 0; n < sequences; ++n)
        for (i64 d = 0; d < outputs; ++d) {
          const auto gate = [&](i64 g) { return sum(p[0], p[1], p[2], x, cont, before, t, n, g * outputs + d); };
          const auto at = static_cast<std::size_t>(n * outputs + d);
          const double goes_on = double{cont[static_cast<std::size_t>(t * sequences + n)]};
          c[at] = goes_on * sigmoid(gate(1)) * c[at] + sigmoid(gate(0)) * std::tanh(gate(3));
          h[at] = sigmoid(gate(2)) * std::tanh(c[at]);
          y.push_back(static_cast<float>(h[at]));
        }
    }
    return y;
  }

  Values rnn(const std::vector<Values>& p, const Values& x, const Values& cont, States& h) const {
    Values y;
    for (i64 t = 0; t < times; ++t) {
      const States before = h;
      for (i64 n = 0; n < sequences; ++n)
        for (i64 d = 0; d < outputs; ++d)
          h[static_cast<std::size_t>(n * outputs + d)] = std::tanh(sum(p[0], p[1], p[2], x, cont, before, t, n, d));
      for (i64 n = 0; n < sequences; ++n)
        for (i64 o = 0; o < outputs; ++o) {
          double s = double{p[4][static_cast<std::size_t>(o)]};
          for (i64 d = 0; d < outputs; ++d)
            s += double{p[3][static_cast<std::size_t>(o * outputs + d)]} * h[static_cast<std::size_t>(n * outputs + d)];
          y.push_back(static_cast<float>(std::tanh(s)));
        }
    }
    return y;
  }
};

}  // namespace cortado::oracle
