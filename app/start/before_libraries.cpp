// What is done before the constructors of shared libraries run. OpenBLAS's asks for a buffer and, where `ulimit -v` has
// no room for it, asks for ever. MPI's start ends in a library's own text where files or addresses are short. A signal
// that comes before main has taken the signals (app/start/signal_actions.h) would end the process. Where standard
// output is closed, the first file that is opened takes its number, and gets what is printed. A processor without the
// instructions that all other code uses would end it by SIGILL: this file is compiled for any x86-64. It belongs to the
// executable itself, and uses little of the C library, which has not begun either.
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <initializer_list>

#include "app/start/compiled_for.h"

#ifndef __SANITIZE_ADDRESS__  // whose own code must run first, and which needs more addresses than any limit leaves
namespace {
constexpr unsigned long needed = 384UL << 20;     // addresses: OpenBLAS's first buffer and MPI's start
constexpr unsigned long needed_file = 8UL << 20;  // memory that MPI's ranks share lies in files

/// The bytes of this process in /proc; 0 means unknown.
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

void look_for_file_size() {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= needed_file) return;
  say("cortado: `ulimit -f` leaves files of ");
  say_megabytes(limit.rlim_cur);
  say("; MPI needs ");
  say_megabytes(needed_file);
  say(" for the memory that ranks share, and snapshots need what they take: raise ulimit -f\n");
  _exit(1);
}

void need_instructions(bool compiled, bool has, const char* names) {
  if (!compiled || has) return;
  say("cortado: this build is for processors with ");
  say(names);
  say(", which this one, or its system, has not: build it on a machine of this kind, or the preset 'portable', which "
      "needs "
      "AVX2 and FMA alone\n");
  _exit(1);
}

void look_for_instructions() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  need_instructions(cortado::compiled_for_avx2,
                    __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"),
                    "AVX2 and FMA");
  need_instructions(cortado::compiled_for_avx512,
                    __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl"), "AVX-512");
  need_instructions(cortado::compiled_for_avx512_bf16, __builtin_cpu_supports("avx512bf16"), "AVX-512 BF16");
#endif
}

/// Standard input and error that are closed become empty; writing to such an output goes on failing.
void fill_closed() {
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(number, F_GETFD) < 0 && open("/dev/null", number == STDERR_FILENO ? O_WRONLY : O_RDONLY) < 0) return;
}

void begin() {
  fill_closed();
  look_for_instructions();
  sigset_t held;
  sigemptyset(&held);
  for (const int signal : {SIGINT, SIGHUP, SIGTERM, SIGUSR1}) sigaddset(&held, signal);
  sigprocmask(SIG_BLOCK, &held, nullptr);
  look_for_addresses();
  look_for_file_size();
}

[[gnu::section(".preinit_array"), gnu::used]] void (*const first)() = &begin;
}  // namespace
#endif
