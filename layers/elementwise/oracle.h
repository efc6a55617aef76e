#pragma once
#include <cmath>
#include <functional>
#include <string>
#include <vector>

namespace cortado::oracle {

/// A function of one value and its derivative, in double.
struct ElementwiseFunction {
  std::string type, options;
  std::function<double(double)> value, slope;
};

/// Caffe's, with parameters as `options` gives them.
inline std::vector<ElementwiseFunction> elementwise_functions() {
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  const auto elu = [](double alpha) {
    return std::make_pair([=](double x) { return x > 0 ? x : alpha * std::expm1(x); },
                          [=](double x) { return x > 0 ? 1 : alpha * std::exp(x); });
  };
  return {
      {"AbsVal", "", [](double x) { return std::fabs(x); }, [](double x) { return x > 0   ? 1.0
                                                                                  : x < 0 ? -1.0
                                                                                          : 0.0; }},
      {"BNLL", "", [](double x) { return std::log1p(std::exp(x)); }, sigmoid},
      {"Clip", "clip_param { min: -0.5 max: 0.25 }", [](double x) { return std::fmin(std::fmax(x, -0.5), 0.25); },
       [](double x) { return x >= -0.5 && x <= 0.25 ? 1.0 : 0.0; }},
      {"ELU", "", elu(1).first, elu(1).second},
      {"ELU", "elu_param { alpha: -0.5 }", elu(-0.5).first, elu(-0.5).second},
      {"Exp", "", [](double x) { return std::exp(x); }, [](double x) { return std::exp(x); }},
      {"Exp", "exp_param { base: 2 scale: -3 shift: 0.5 }", [](double x) { return std::pow(2, 0.5 - 3 * x); },
       [](double x) { return -3 * std::log(2) * std::pow(2, 0.5 - 3 * x); }},
      {"Log", "log_param { shift: 3 }", [](double x) { return std::log(x + 3); }, [](double x) { return 1 / (x + 3); }},
      {"Log", "log_param { base: 10 scale: -0.5 shift: 2 }", [](double x) { return std::log10(2 - 0.5 * x); },
       [](double x) { return -0.5 / (2 - 0.5 * x) / std::log(10); }},
      {"Power", "", [](double x) { return x; }, [](double) { return 1.0; }},
      {"Power", "power_param { power: 0 }", [](double) { return 1.0; }, [](double) { return 0.0; }},
      {"Power", "power_param { scale: 0 shift: 2 power: 3 }", [](double) { return 8.0; }, [](double) { return 0.0; }},
      {"Power", "power_param { power: 2 scale: -2 shift: 0.5 }", [](double x) { return std::pow(0.5 - 2 * x, 2); },
       [](double x) { return -4 * (0.5 - 2 * x); }},
      {"Power", "power_param { power: 3 }", [](double x) { return x * x * x; }, [](double x) { return 3 * x * x; }},
      {"Power", "power_param { power: -0.75 scale: 0.5 shift: 2 }",
       [](double x) { return std::pow(2 + 0.5 * x, -0.75); },
       [](double x) { return -0.375 * std::pow(2 + 0.5 * x, -1.75); }},
      {"ReLU6", "", [](double x) { return std::fmin(std::fmax(x, 0), 6); },
       [](double x) { return x >= 0 && x <= 6 ? 1.0 : 0.0; }},
      {"Sigmoid", "", sigmoid, [=](double x) { return sigmoid(x) * (1 - sigmoid(x)); }},
      {"Swish", "swish_param { beta: 1.5 }", [=](double x) { return x * sigmoid(1.5 * x); },
       [=](double x) {
         const double s = sigmoid(1.5 * x);
         return s + 1.5 * x * s * (1 - s);
       }},
      {"TanH", "", [](double x) { return std::tanh(x); }, [](double x) { return 1 - std::pow(std::tanh(x), 2); }},
      {"Threshold", "threshold_param { threshold: 0.25 }", [](double x) { return x > 0.25 ? 1.0 : 0.0; }, nullptr},
  };
}

}  // namespace cortado::oracle
