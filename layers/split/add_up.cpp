#include "layers/split/add_up.h"

#include "core/machine/launch_elementwise.h"
#include "layers/split/programs.h"

namespace cortado {

template <class T>
void add_up(CoreGroup& group, const std::vector<const T*>& from, i64 pitch, T* to, i64 rows, i64 width) {
  constexpr std::size_t at_once = 4;
  std::vector<Pitched<T>> terms;
  for (std::size_t i = 0; i < from.size(); ++i) {
    terms.push_back(pitched(from[i], pitch));
    if (terms.size() < at_once && i + 1 < from.size()) continue;
    const auto add = [&](auto arguments) { elementwise(group, rows, width, AddUp{}, arguments, cortado::to(to)); };
    switch (terms.size()) {
      case 2: add(cortado::from(terms[0], terms[1])); break;
      case 3: add(cortado::from(terms[0], terms[1], terms[2])); break;
      default: add(cortado::from(terms[0], terms[1], terms[2], terms[3]));
    }
    terms = {pitched<T>(to, width)};
  }
}

template void add_up(CoreGroup&, const std::vector<const float*>&, i64, float*, i64, i64);
template void add_up(CoreGroup&, const std::vector<const bf16*>&, i64, bf16*, i64, i64);

}  // namespace cortado
