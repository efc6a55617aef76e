#include "core/base/pulse.h"

#include <atomic>

namespace cortado {
namespace {
std::atomic<void (*)()> the_action{nullptr};
}

void pulse() {
  if (auto* const action = the_action.load()) action();
}

void set_pulse(void (*action)()) { the_action.store(action); }

}  // namespace cortado
