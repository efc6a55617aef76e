#include "layers/pooling/candidates.h"

#include "core/base/error.h"
#include "layers/pooling/plan.h"

namespace cortado {
namespace {

template <class Program>
auto set_mask(Program& p, int* mask, int) -> decltype(void(p.mask)) {
  p.mask = mask;
}
template <class Program>
void set_mask(Program&, int*, long) {}

/// Launches a planned program of T, whose members `from` and `to` are what it reads and writes.
template <class Program, class Arrays, class T>
PoolPlan runs(const Planned<Program>& planned, const T* Arrays::*from, T* Arrays::*to) {
  PoolPlan plan;
  plan.run = [=](CoreGroup& group, const PoolArguments& a) {
    launch(group, planned, [&](Program& p) {
      p.*from = static_cast<const T*>(a.from), p.*to = static_cast<T*>(a.to);
      set_mask(p, a.mask, 0);
    });
  };
  return plan;
}
template <class Program>
PoolPlan runs_forward(const Planned<Program>& planned) {
  return runs(planned, &Program::x, &Program::y);
}
template <class Program>
PoolPlan runs_backward(const Planned<Program>& planned) {
  return runs(planned, &Program::dy, &Program::dx);
}

/// Plans, or says why that did not fit.
template <class Planner>
PoolPlan attempt(const Planner& planner) {
  try {
    return planner();
  } catch (const PlanError& error) {
    PoolPlan plan;
    plan.refused = error.what();
    return plan;
  }
}

PoolPlan refusal(const char* reason) {
  PoolPlan plan;
  plan.refused = reason;
  return plan;
}

/// True if it averages, and one window holds each plane.
bool averages_planes(const PoolShape& s, PoolMethod method) {
  const bool whole = s.oh == 1 && s.ow == 1 && s.kh - s.ph >= s.h && s.kw - s.pw >= s.w;
  return whole && method == PoolMethod::average && s.layout == Layout::nchw;
}

template <class T>
PoolPlan plan_by_planes(const MachineSpec& spec, const PoolShape& s, PoolMethod method, bool forward) {
  if (method == PoolMethod::average)
    return forward ? runs_forward(plan_planes_forward<false, T>(spec, s))
                   : runs_backward(plan_planes_backward<false, T>(spec, s));
  return forward ? runs_forward(plan_planes_forward<true, T>(spec, s))
                 : runs_backward(plan_planes_backward<true, T>(spec, s));
}

PoolPlan plan_draws(const MachineSpec& spec, const PoolShape& s) {
  PoolPlan plan;
  plan.run = [training = plan_stochastic_forward<true>(spec, s), testing = plan_stochastic_forward<false>(spec, s)](
                 CoreGroup& group, const PoolArguments& a) {
    const auto go = [&](const auto& planned) {
      launch(group, planned, [&](auto& p) {
        p.x = static_cast<const float*>(a.from), p.y = static_cast<float*>(a.to);
        p.sums = a.sums, p.mask = a.mask, p.key = a.key, p.first = a.first;
      });
    };
    if (a.trains)
      go(training);
    else
      go(testing);
  };
  return plan;
}

}  // namespace

PoolPlan plan_pooling_by_planes(const MachineSpec& spec, const PoolShape& s, PoolMethod method, Precision precision,
                                bool forward) {
  if (averages_planes(s, method)) return refusal("one window holds each plane");
  if (method == PoolMethod::by_lot) return refusal("draws go by rows");
  PoolPlan plan;
  with_element(precision, [&](auto element) {
    plan = attempt([&] { return plan_by_planes<decltype(element)>(spec, s, method, forward); });
  });
  return plan;
}

PoolPlan plan_pooling_by_windows(const MachineSpec& spec, const PoolShape& s, PoolMethod method, Precision precision,
                                 bool forward) {
  constexpr i64 most = 1024;  // inputs that one lane adds up, where rows can too
  if (i64{s.kh} * s.kw > most && precision == Precision::fp32) return refusal("its windows are many values");
  if (method == PoolMethod::by_lot) return refusal("draws go by rows");
  if (s.layout != Layout::nchw) return refusal("takes planes, not blocks of channels");
  PoolPlan plan;
  with_element(precision, [&](auto element) {
    using T = decltype(element);
    plan = attempt([&] {
      if (method == PoolMethod::average)
        return forward ? runs_forward(plan_windows_forward<false, T>(spec, s))
                       : runs_backward(plan_windows_backward<false, T>(spec, s));
      return forward ? runs_forward(plan_windows_forward<true, T>(spec, s))
                     : runs_backward(plan_windows_backward<true, T>(spec, s));
    });
  });
  return plan;
}

PoolPlan plan_pooling_by_rows(const MachineSpec& spec, const PoolShape& s, PoolMethod method, Precision precision,
                              bool forward) {
  if (averages_planes(s, method)) {
    PoolPlan plan;
    with_element(precision, [&](auto element) {
      using T = decltype(element);
      plan = attempt([&] {
        return forward ? runs_forward(plan_plane_average_forward<T>(spec, s))
                       : runs_backward(plan_plane_average_backward<T>(spec, s));
      });
    });
    return plan;
  }
  if (precision == Precision::bf16) return refusal("takes floats alone (precision: FP32 in the layer)");
  if (s.layout != Layout::nchw) return refusal("takes planes, not blocks of channels");
  return attempt([&] {
    if (method == PoolMethod::by_lot && forward) return plan_draws(spec, s);
    if (method == PoolMethod::average)
      return forward ? runs_forward(plan_average_forward(spec, s)) : runs_backward(plan_average_backward(spec, s));
    return forward ? runs_forward(plan_max_forward(spec, s)) : runs_backward(plan_max_backward(spec, s));
  });
}

}  // namespace cortado
