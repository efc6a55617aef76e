#pragma once
#include <array>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>

#include "backends/sunway/port.h"

namespace cortado::test {

/// A core group of 64 threads that run a port's C functions at once: what athread and the registers do for it is in
/// machine.cpp. Objects that the port declares __thread_local are a thread's own and lie at one place in all of them.
class StandInMachine {
 public:
  /// Runs `body` on all CPEs. Throws std::runtime_error where they wait for each other in vain.
  void run(const std::function<void()>& body);
};

}  // namespace cortado::test
