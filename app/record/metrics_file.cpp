#include "app/record/metrics_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "core/base/error.h"

namespace cortado {

MetricsFile::MetricsFile(const std::string& file) : file_(file) {
  if (file.find('\0') != std::string::npos) throw FileError(file.substr(0, file.find('\0')), "has a NUL in its name");
  make_folders(folder_of(file));
  const FileKind kind = kind_of(file);
  if (kind == FileKind::folder || kind == FileKind::other)
    throw FileError(file, "cannot be written: it is no regular file", "move it away");
  descriptor_ = Descriptor(::open(file.c_str(), O_RDWR | O_CREAT | O_APPEND | O_NONBLOCK | O_CLOEXEC | O_NOCTTY, 0666));
  if (!descriptor_) throw_system_error(file, "written");
  // File systems without such locks leave it to the lock of the prefix.
  if (::flock(descriptor_.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    throw FileError(file, "another job writes its metrics there",
                    "give this one a prefix of its own, or end the other");
  drop_cut_line();
}

void MetricsFile::drop_cut_line() {
  constexpr i64 piece = 4096;
  char bytes[piece];
  i64 end = bytes_of(descriptor_, file_);
  const i64 size = end;
  while (end > 0) {
    const i64 begin = std::max<i64>(0, end - piece), got = read_some(descriptor_, file_, begin, end - begin, bytes);
    i64 last = got;
    while (last > 0 && bytes[last - 1] != '\n') --last;
    end = begin + last;
    if (last > 0) break;
  }
  if (end < size && ::ftruncate(descriptor_.get(), end) != 0) throw_system_error(file_, "written");
}

void MetricsFile::add(const OrderedJson& line) {
  const std::string text = line.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
  for (std::size_t done = 0; done < text.size();) {  // in one go, unless the disk is full
    const ssize_t put = ::write(descriptor_.get(), text.data() + done, text.size() - done);
    if (put < 0 && errno != EINTR) throw_system_error(file_, "written");
    if (put > 0) done += static_cast<std::size_t>(put);
  }
}

double shortened(double value) {
  if (!std::isfinite(value)) return value;
  char text[32];
  std::snprintf(text, sizeof text, "%.7g", value);
  return std::strtod(text, nullptr);
}

double now_in_seconds() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<double>(std::chrono::duration_cast<std::chrono::milliseconds>(since).count()) / 1000;
}

}  // namespace cortado
