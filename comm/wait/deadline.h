#pragma once
#include <cstdint>
#include <string>

namespace cortado {

/// Seconds without progress after which a wait for other ranks ends the job (--patience). 0 means that waits have no
/// end and happen inside MPI, as simulated clusters need it. A process has one value; it is 600 unless it is set before
/// the job begins.
double patience();
void set_patience(double seconds);

/// Ends this process with exit code 1 after that many seconds, unless it is destroyed before. A thread sees to it, and
/// logs `text` first. It serves calls that cannot be interrupted. 0 seconds mean never.
class Deadline {
 public:
  Deadline(double seconds, std::string text);
  ~Deadline();
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

 private:
  std::uint64_t number_ = 0;
};

/// Ends this process after that many seconds, come what may. Empty `text` means that nothing is logged.
void end_after(double seconds, std::string text);

}  // namespace cortado
