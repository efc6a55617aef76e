#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <random>

#include "core/base/error.h"
#include "core/base/file.h"

namespace cortado {
namespace {
/// A name in the folder that nobody has.
std::string random_name(const std::string& folder) {
  std::random_device random;
  char name[40];
  std::snprintf(name, sizeof name, "/.cortado-%08x%08x", random(), random());
  return folder + name;
}

/// Writes all; false with errno.
bool write_all(int descriptor, const void* from, i64 bytes) {
  for (const auto* at = static_cast<const char*>(from); bytes > 0;) {
    const ssize_t put = ::write(descriptor, at, static_cast<std::size_t>(bytes));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return false;
    at += put;
    bytes -= put;
  }
  return true;
}
}  // namespace

std::string path_of(const Descriptor& descriptor) { return "/proc/self/fd/" + std::to_string(descriptor.get()); }

Descriptor unnamed_file(const std::string& folder) {
#ifdef O_TMPFILE
  Descriptor unnamed(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (unnamed) return unnamed;
#endif
  const std::string name = random_name(folder);
  Descriptor descriptor(::open(name.c_str(), O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC, 0600));
  if (!descriptor) throw_system_error(folder, "written");
  ::unlink(name.c_str());
  return descriptor;
}

NewFile::NewFile(const std::string& file) : file_(file), folder_(folder_of(file)) {
  struct stat status {};
  if (file.find('\0') != std::string::npos) throw FileError(file.substr(0, file.find('\0')), "has a NUL in its name");
  if (file.empty() || file.back() == '/') throw FileError(file, "cannot be written: it names no file");
  if (::lstat(file.c_str(), &status) != 0 && errno != ENOENT) fail();
  if (kind_of(file) == FileKind::folder) throw FileError(file, "cannot be written: it is a folder");
  if (kind_of(file) == FileKind::other) throw FileError(file, "cannot be written: it is no regular file");
#ifdef O_TMPFILE
  descriptor_ = Descriptor(::open(folder_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666));
  path_ = path_of(descriptor_);
  if (descriptor_ && ::access(path_.c_str(), W_OK) == 0) return;
#endif
  path_ = random_name(folder_);
  descriptor_ = Descriptor(::open(path_.c_str(), O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC, 0666));
  if (!descriptor_) fail();
  named_ = true;
}

NewFile::~NewFile() {
  if (named_) ::unlink(path_.c_str());
}

void NewFile::fail() const { throw_system_error(file_, "written"); }

void NewFile::write(const void* from, i64 bytes) {
  if (!write_all(descriptor_.get(), from, bytes)) fail();
}

void NewFile::sync() {
  if (::fsync(descriptor_.get()) != 0) fail();
}

/// Names are only lasting once the folder is on the disk too. Some file systems refuse this; the data are safe.
void NewFile::sync_folder() const {
  const Descriptor folder(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder) ::fsync(folder.get());
}

/// Gives the file a name that must be free.
void NewFile::link_as(const std::string& name) const {
  if (::linkat(AT_FDCWD, path_.c_str(), AT_FDCWD, name.c_str(), named_ ? 0 : AT_SYMLINK_FOLLOW) == 0) return;
  const bool no_links = errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS;  // such as FAT
  if (errno == EEXIST || (no_links && is_taken(name)))
    throw FileError(file_, "is there already", "remove it, or give another name");
  if (!no_links || ::rename(path_.c_str(), name.c_str()) != 0) fail();
}

void NewFile::replace() {
  sync();
  // A name in between could be left by a process that is killed.
  if (!named_ && ::linkat(AT_FDCWD, path_.c_str(), AT_FDCWD, file_.c_str(), AT_SYMLINK_FOLLOW) == 0)
    return sync_folder();
  if (!named_) {
    const std::string name = random_name(folder_);
    link_as(name);
    path_ = name;
    named_ = true;
  }
  if (::rename(path_.c_str(), file_.c_str()) != 0) fail();
  named_ = false;
  sync_folder();
}

void NewFile::create() {
  sync();
  link_as(file_);
  if (named_) ::unlink(path_.c_str());
  named_ = false;
  sync_folder();
}

void write_text(const std::string& file, const std::string& text) {
  if (kind_of(file) != FileKind::other) {
    NewFile out(file);
    out.write(text.data(), static_cast<i64>(text.size()));
    return out.replace();
  }
  const Descriptor out(::open(file.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  if (!out) throw_system_error(file, "written");  // a pipe that nobody reads would wait
  ::fcntl(out.get(), F_SETFL, ::fcntl(out.get(), F_GETFL) & ~O_NONBLOCK);
  if (!write_all(out.get(), text.data(), static_cast<i64>(text.size()))) throw_system_error(file, "written");
}

}  // namespace cortado
