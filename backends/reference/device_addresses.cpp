#include "backends/reference/device_addresses.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>

#include "core/base/error.h"

namespace cortado::reference {
namespace {
constexpr std::size_t reserved_bytes = std::size_t{1} << 40;  // of addresses; no memory stands behind them
constexpr std::size_t address_step = 128;

std::atomic<char*> reserved{nullptr};
struct sigaction before {};  // what the signal did until then

/// Only what a signal handler may do.
void tell_of_access(int signal, siginfo_t* info, void*) {
  constexpr char text[] =
      "host code follows a pointer into a device's memory: only copies and cluster programs reach it\n";
  if (is_device_address(info->si_addr)) static_cast<void>(!::write(STDERR_FILENO, text, sizeof text - 1));
  sigaction(signal, &before, nullptr);  // the access is tried again, and ends as it would have
}

char* reserve() {
  void* const first = mmap(nullptr, reserved_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (first == MAP_FAILED) throw Error("reference processor", "cannot reserve addresses for a device's memory", "");
  reserved = static_cast<char*>(first);
  struct sigaction action {};
  action.sa_sigaction = tell_of_access;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, &before);
  return reserved;
}
}  // namespace

char* device_addresses(std::size_t bytes) {
  static char* const first = reserve();
  static std::atomic<std::size_t> given{0};
  const std::size_t room = (bytes / address_step + 2) * address_step;  // one line at least stays between two of them
  const std::size_t at = given.fetch_add(room);
  if (bytes > reserved_bytes || at + room > reserved_bytes)
    throw Error("reference processor", "has no addresses left for a device's memory", "start anew");
  return first + at;
}

bool is_device_address(const void* p) {
  const auto first = reinterpret_cast<std::uintptr_t>(reserved.load()), at = reinterpret_cast<std::uintptr_t>(p);
  return first != 0 && at >= first && at - first < reserved_bytes;
}

}  // namespace cortado::reference
