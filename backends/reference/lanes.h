#pragma once
#include <exception>
#include <functional>
#include <memory>
#include <vector>

namespace cortado::reference {

/// Runs one body as several lanes that take turns: exactly one runs at a time, in the order of their numbers, each
/// until it calls `turn`. So whatever a body does wrong between two turns happens in the same order every time. Lanes
/// are fibers, since a switch happens for every lane loop of every line and threads would make it a hundred times
/// slower.
class Lanes {
 public:
  explicit Lanes(int count);
  ~Lanes();

  int count() const { return count_; }
  int current() const { return current_; }

  /// Runs body(lane) once per lane and returns when all have ended. The first exception is thrown again here, when the
  /// other lanes have unwound.
  void run(const std::function<void(int lane)>& body);

  /// Called from a body: lets every other lane run until it calls `turn` or ends.
  void turn();

 private:
  struct Fiber;
  struct Unwind {};  // thrown in a lane because another one failed

  static void enter();
  void live(int lane);
  int next_alive(int lane) const;
  void switch_to(Fiber& from, Fiber& to, bool from_ends);

  const int count_;
  int current_ = 0;
  const std::function<void(int)>* body_ = nullptr;
  std::exception_ptr failure_;
  std::vector<std::unique_ptr<Fiber>> fibers_;  // one per lane
  std::unique_ptr<Fiber> caller_;
};

}  // namespace cortado::reference
