#include "core/formats/files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

#include "core/base/error.h"

namespace cortado {
namespace {
std::string system_reason() { return std::strerror(errno); }

std::ifstream open_to_read(const std::string& file) {
  errno = 0;
  std::ifstream stream(file, std::ios::binary);
  if (stream) stream.peek();  // a folder opens, but its first read fails
  if (errno != 0) throw FileError(file, "cannot be read: " + system_reason());
  stream.clear();
  return stream;
}

std::string name_beside(const std::string& file) { return file + ".partial"; }

/// Renames are only lasting once the folder is on the disk too. Some file systems refuse this; the data are safe.
void sync_folder_of(const std::string& file) {
  const std::size_t slash = file.find_last_of('/');
  const std::string folder = slash == std::string::npos ? "." : file.substr(0, slash + 1);
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}
}  // namespace

std::string read_file(const std::string& file) {
  std::ostringstream text;
  std::ifstream stream = open_to_read(file);
  if (stream.peek() != std::ifstream::traits_type::eof()) text << stream.rdbuf();
  return text.str();
}

bool looks_like_text(const std::string& file) {
  std::ifstream stream = open_to_read(file);
  char start[4096];
  stream.read(start, sizeof start);
  for (std::streamsize i = 0; i < stream.gcount(); ++i) {
    const auto c = static_cast<unsigned char>(start[i]);
    if (c < 0x20 && (c < '\t' || c > '\r')) return false;
  }
  return true;
}

void replace_file(const std::string& file, const std::function<bool(int)>& write) {
  const std::string beside = name_beside(file);
  const auto failed = [&] {
    const std::string reason = system_reason();
    std::remove(beside.c_str());
    throw FileError(file, "cannot be written: " + reason);
  };
  const int descriptor = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  if (descriptor < 0) failed();
  errno = 0;
  bool written = false;
  try {
    written = write(descriptor) && ::fsync(descriptor) == 0;
  } catch (...) {
    ::close(descriptor);
    std::remove(beside.c_str());
    throw;
  }
  const int reason = errno;
  const bool closed = ::close(descriptor) == 0;
  if (!written) errno = reason;
  if (!written || !closed || std::rename(beside.c_str(), file.c_str()) != 0) failed();
  sync_folder_of(file);
}

void replace_file_by_name(const std::string& file, const std::function<void(const std::string&)>& write) {
  const std::string beside = name_beside(file);
  replace_file(file, [&](int) {
    write(beside);  // opens the file that is there already
    return true;
  });
}

}  // namespace cortado
