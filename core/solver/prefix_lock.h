#pragma once
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace cortado {

/// Keeps two jobs from writing snapshots of one prefix: a file PREFIX.cortado-lock, locked (flock) and with the owner's
/// host, process and batch job in it. It goes when the owner does; of an owner that was killed it stays, and the next
/// job takes it over. Where nodes share the file system a lock of another node may mean nothing, or outlive its owner.
/// So owners there touch the file at every beat, and who finds no beat for a while takes the lock.
class PrefixLock {
 public:
  struct Beats {
    double seconds = 5;   ///< from one to the next
    int missing = 4;      ///< so many, one after the other, mean that the owner is dead
    bool always = false;  ///< on local file systems too; for tests
  };
  /// Makes the prefix's folder. Throws FileError where another job holds the prefix, naming it, and where nothing can
  /// be written.
  PrefixLock(const std::string& prefix, const Beats& beats);
  explicit PrefixLock(const std::string& prefix) : PrefixLock(prefix, Beats()) {}
  ~PrefixLock();
  PrefixLock(const PrefixLock&) = delete;
  PrefixLock& operator=(const PrefixLock&) = delete;

 private:
  bool take(const std::string& prefix, const Beats& beats);
  void beat(double seconds);

  std::string file_;
  int descriptor_ = -1;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool ends_ = false;
  std::thread beating_;
};

}  // namespace cortado
