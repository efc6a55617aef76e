#include "core/solver/prefix_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/log.h"

namespace cortado {
namespace {
constexpr const char* mark = "cortado";

struct Owner {
  std::string host, process, job;

  std::string text() const { return "process " + process + " on " + host + (job.empty() ? "" : ", batch job " + job); }
};

std::string own_host() {
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  return name[0] != '\0' ? name : "localhost";
}

std::string own_job() {
  for (const char* name : {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID"})
    if (const char* job = std::getenv(name)) return job;
  return "";
}

[[noreturn]] void fail(const std::string& prefix, const std::string& reason) {
  throw FileError(prefix, "snapshots cannot be written there: " + reason, "change snapshot_prefix");
}

/// True if other nodes may see the file too. Unknown file systems count as such.
bool is_shared(int descriptor) {
  struct statfs system {};
  if (::fstatfs(descriptor, &system) != 0) return true;
  constexpr long local[] = {0xEF53, 0x58465342, 0x9123683E, 0x01021994, 0x794C7630, 0x858458F6, 0x2FC12FC1, 0xF2F52010};
  for (const long kind : local)  // ext, xfs, btrfs, tmpfs, overlay, ramfs, zfs, f2fs
    if (static_cast<unsigned int>(system.f_type) == static_cast<unsigned int>(kind)) return false;
  return true;
}

/// The owner in the open file; empty where nobody has written there. Throws FileError for a file that is none of ours.
Owner owner_in(int descriptor, const std::string& file) {
  struct stat status {};
  char text[1024] = {};
  const bool regular = ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
  const ssize_t length = regular ? ::pread(descriptor, text, sizeof text - 1, 0) : -1;
  Owner owner;
  std::string first;
  std::istringstream words(text);
  words >> first >> owner.host >> owner.process >> owner.job;
  if (length < 0 || (length > 0 && first != mark)) throw FileError(file, "is no lock of Cortado's", "move it away");
  return owner;
}

bool is_at(int descriptor, const std::string& file) {
  struct stat open {
  }, named{};
  return ::fstat(descriptor, &open) == 0 && ::stat(file.c_str(), &named) == 0 && open.st_ino == named.st_ino &&
         open.st_dev == named.st_dev;
}

/// When the file was last touched; opening it anew makes network file systems ask.
timespec touched(const std::string& file) {
  struct stat status {};
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (descriptor >= 0) ::fstat(descriptor, &status);
  if (descriptor >= 0) ::close(descriptor);
  return status.st_mtim;
}

/// True if somebody touches the file while we watch.
bool beats_are_seen(const std::string& file, const PrefixLock::Beats& beats, const Owner& owner) {
  CORTADO_LOG(info) << file << " is that of " << owner.text() << ": watching whether it still runs";
  const timespec before = touched(file);
  for (int i = 0; i < 4 * beats.missing; ++i) {
    std::this_thread::sleep_for(std::chrono::duration<double>(beats.seconds / 4));
    const timespec now = touched(file);
    if (now.tv_sec != before.tv_sec || now.tv_nsec != before.tv_nsec) return true;
  }
  return false;
}
}  // namespace

PrefixLock::PrefixLock(const std::string& prefix, const Beats& beats) : file_(prefix + ".cortado-lock") {
  if (prefix.find('\0') != std::string::npos) fail(prefix.substr(0, prefix.find('\0')), "the prefix has a NUL in it");
  try {
    make_folders(folder_of(prefix));
  } catch (const FileError& error) { fail(prefix, error.what()); }
  while (!take(prefix, beats)) {}
  const std::string text =
      std::string(mark) + " " + own_host() + " " + std::to_string(::getpid()) + " " + own_job() + "\n";
  if (::ftruncate(descriptor_, 0) != 0 ||
      ::pwrite(descriptor_, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    const std::string reason = std::strerror(errno);
    ::unlink(file_.c_str());
    ::close(descriptor_);
    fail(prefix, reason);
  }
  if (beats.always || is_shared(descriptor_))
    beating_ = std::thread([this, seconds = beats.seconds] { beat(seconds); });
}

/// True if the lock is ours afterwards; false means that the caller has to look again.
bool PrefixLock::take(const std::string& prefix, const Beats& beats) {
  const int file = ::open(file_.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
  if (file < 0) fail(prefix, std::strerror(errno));
  const auto closing = [&](auto work) {
    try {
      return work();
    } catch (...) {
      ::close(file);
      throw;
    }
  };
  const Owner owner = closing([&] { return owner_in(file, file_); });
  const bool locked = ::flock(file, LOCK_EX | LOCK_NB) == 0;
  const bool held = !locked && errno == EWOULDBLOCK;  // else this file system knows no such locks
  const bool shared = beats.always || is_shared(file), here = owner.host == own_host();
  bool alive = false;
  if (held)
    alive = !shared || here || owner.host.empty() || beats_are_seen(file_, beats, owner);
  else if (!owner.host.empty() && shared && !(locked && here))
    alive = beats_are_seen(file_, beats, owner);
  if (alive) {
    ::close(file);
    throw FileError(prefix, "another job writes its snapshots there: " + owner.text(),
                    "give this one a snapshot_prefix of its own, or end the other");
  }
  if (held) ::unlink(file_.c_str());  // of an owner whose node is gone
  if (held || !is_at(file, file_)) {
    ::close(file);
    return false;
  }
  if (!owner.host.empty())
    CORTADO_LOG(info) << "Taking over " << file_ << " from " << owner.text() << ", which ended without removing it";
  descriptor_ = file;
  return true;
}

void PrefixLock::beat(double seconds) {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!ended_.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return ends_; }))
    ::futimens(descriptor_, nullptr);
}

PrefixLock::~PrefixLock() {
  if (beating_.joinable()) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      ends_ = true;
    }
    ended_.notify_all();
    beating_.join();
  }
  if (is_at(descriptor_, file_)) ::unlink(file_.c_str());  // unless somebody has thought us dead
  ::close(descriptor_);
}

}  // namespace cortado
