#pragma once
#include "core/machine/view.h"

namespace cortado {

/// to = from, line by line. Both arrays have the same lines, which lie elsewhere.
template <class From, class To, class T>
struct CopyLines {
  static constexpr const char* label = "copy_lines";
  View<From, const T> from;
  View<To, T> to;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    const CopyLines p = *this;
    each_line(c, p.from, [&](i64 i, auto& from) {
      auto to = p.to.out(c, i);
      c.each(from.n, [&](i64 j) { to.set(j, from[j]); });
      c.put(to);
    });
  }
};

}  // namespace cortado
