#pragma once
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace cortado {

/// Keeps two jobs from writing snapshots of one prefix. The lock is a file PREFIX.cortado-lock, locked by flock, with
/// the owner's host, process and batch job in it. It goes when its owner ends. A killed owner leaves it, and the next
/// job takes it over.
///
/// On file systems that nodes share, another node's lock may have no effect, or outlive its owner. So owners there
/// touch the file at every beat. A job that sees no beat for a while takes the lock.
class PrefixLock {
 public:
  struct Beats {
    double seconds = 5;   ///< between two beats
    int missing = 4;      ///< this many missing in a row mean that the owner is dead
    bool always = false;  ///< on local file systems too; for tests
  };
  /// Makes the prefix's folder and takes the lock. Throws FileError naming the job that holds the prefix, and where
  /// nothing can be written.
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
