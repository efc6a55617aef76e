#pragma once
#include "core/base/types.h"

namespace caffe {
class SolverParameter;
}

namespace cortado {

/// Throws ConfigError unless `lr_policy` is one of Caffe's or `cosine` and has its fields, and the warm-up is possible.
void check_rate(const caffe::SolverParameter& parameter);

/// The learning rate of iteration i by Caffe's policies, with b = base_lr, g = gamma, p = power, s = stepsize:
///   fixed      b                        step       b g^floor(i / s)
///   exp        b g^i                    multistep  b g^(number of leading stepvalues <= i)
///   inv        b (1 + g i)^-p           poly       b (1 - i / max_iter)^p, 0 beyond max_iter
///   sigmoid    b / (1 + e^(-g (i - s)))
/// and by Loshchilov and Hutter 2017, equation 5, with f = final_lr and t iterations of T since warm-up:
///   cosine     f + (b - f) (1 + cos(pi t / T)) / 2
/// T is max_iter - warmup_iter, and t stays T beyond; with a stepsize T is s, and t begins again after each s.
/// Each is computed in the precision that Caffe uses. In the first warmup_iter iterations, W, the rate grows linearly.
/// It goes from warmup_start_lr, s, to r, the policy's rate at iteration W:  s + (r - s) i / W  (Goyal et al. 2017,
/// section 2.2).
float learning_rate(const caffe::SolverParameter& parameter, i64 iteration);

/// The number of steps that `step` and `multistep` have taken at that iteration; 0 for other policies.
int rate_step(const caffe::SolverParameter& parameter, i64 iteration);

}  // namespace cortado
