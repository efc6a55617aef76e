#pragma once
#include "core/base/types.h"

namespace cortado {

/// Several things that one `fetch` brings.
template <class... Things>
struct Gathered;
template <>
struct Gathered<> {
  template <class F, class... Before>
  CORTADO_FN decltype(auto) apply(const F& f, Before&... before) {
    return f(before...);
  }
};
template <class First, class... Rest>
struct Gathered<First, Rest...> {
  First first;
  Gathered<Rest...> rest;

  /// f(things...).
  template <class F, class... Before>
  CORTADO_FN decltype(auto) apply(const F& f, Before&... before) {
    return rest.apply(f, before..., first);
  }
};

CORTADO_FN inline Gathered<> gather() { return {}; }
template <class First, class... Rest>
CORTADO_FN Gathered<First, Rest...> gather(First first, Rest... rest) {
  return {first, gather(rest...)};
}

/// The `work` of lines, pipelines and tiles whose fetch gathers: `work(i, x, y, ...)` gets each thing under a name of
/// its own, and what else the order hands over behind them.
///
///   c.lines(n, Depth::two, [&](i64 i) { return gather(c.get(...), c.get(...)); },
///           named([&](i64 i, auto x, auto dy) { ... }));
template <class Work>
CORTADO_FN auto named(Work work) {
  return [work](i64 i, auto& in, auto&... more) { in.apply([&](auto&... things) { work(i, things..., more...); }); };
}

}  // namespace cortado
