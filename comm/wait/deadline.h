#pragma once
#include <cstdint>
#include <string>

namespace cortado {

/// Seconds without progress after which a wait for other ranks ends the job (--patience); 0: waits are for ever, inside
/// MPI, as simulated clusters need it. One for the process; 600 unless set before the job begins.
double patience();
void set_patience(double seconds);

/// While it lives, and unless it is released in time, this process ends with exit code 1 after that many seconds; a
/// thread of its own sees to it, and logs `text` first. For calls that cannot be interrupted. 0 seconds: never.
class Deadline {
 public:
  Deadline(double seconds, std::string text);
  ~Deadline();
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

 private:
  std::uint64_t number_ = 0;
};

/// As a deadline that nothing releases. `text` may be empty: nothing is logged then.
void end_after(double seconds, std::string text);

}  // namespace cortado
