// Does not link: a launch of a program that no CMakeLists.txt lists.
#include "core/machine/core_group.h"

namespace cortado::test {
namespace {
struct Forgotten {
  static constexpr const char* label = "forgotten";
  template <class C>
  void operator()(C&) const {}
};
}  // namespace
void launch_forgotten(CoreGroup& group) { group.launch(Forgotten{}, Plan{}); }
}  // namespace cortado::test

int main() {}
