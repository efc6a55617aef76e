// Runs before the constructors of shared libraries: OpenBLAS's asks for a buffer and, where `ulimit -v` has no room for
// it, asks for ever; MPI's start then ends in the text of a library. So this file belongs to the executable itself, and
// uses little of the C library, which has not begun either.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#ifndef __SANITIZE_ADDRESS__  // whose own code must run first, and which needs more addresses than any limit leaves
namespace {
constexpr unsigned long needed = 384UL << 20;  // by OpenBLAS's first buffer and MPI's start

/// Of this process, as /proc has it; 0: unknown.
unsigned long taken_bytes() {
  char text[32] = {};
  const int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const ssize_t count = read(file, text, sizeof text - 1);
  close(file);
  unsigned long pages = 0;
  for (ssize_t i = 0; i < count && text[i] >= '0' && text[i] <= '9'; ++i)
    pages = 10 * pages + static_cast<unsigned long>(text[i] - '0');
  return pages * static_cast<unsigned long>(sysconf(_SC_PAGESIZE));
}

void say(const char* text) {
  unsigned long length = 0;
  while (text[length] != '\0') ++length;
  if (write(STDERR_FILENO, text, length) < 0) return;  // nobody listens
}

void say_megabytes(unsigned long bytes) {
  char digits[24] = {};
  char* at = digits + sizeof digits - 1;
  for (unsigned long left = bytes / 1000000; at == digits + sizeof digits - 1 || left > 0; left /= 10)
    *--at = static_cast<char>('0' + left % 10);
  say(at);
  say(" MB");
}

void look_for_addresses() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  const unsigned long taken = taken_bytes();
  if (taken == 0 || taken + needed <= limit.rlim_cur) return;
  say("cortado: `ulimit -v` leaves ");
  say_megabytes(limit.rlim_cur);
  say(" of addresses; the program and its libraries take ");
  say_megabytes(taken);
  say(", OpenBLAS and MPI need ");
  say_megabytes(needed);
  say(" more: raise ulimit -v\n");
  _exit(1);
}

[[gnu::section(".preinit_array"), gnu::used]] void (*const first)() = &look_for_addresses;
}  // namespace
#endif
