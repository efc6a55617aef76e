#include "core/base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <filesystem>
#include <vector>

#include "core/base/error.h"

namespace cortado {
namespace {
constexpr const char* check_path = "check the path, and that it exists on every node";
constexpr i64 most_text_bytes = i64{1} << 28;
constexpr std::size_t buffer_bytes = 1 << 16;

FileKind kind_of(const struct stat& status) {
  if (S_ISREG(status.st_mode)) return FileKind::regular;
  return S_ISDIR(status.st_mode) ? FileKind::folder : FileKind::other;
}

[[noreturn]] void refuse(const std::string& file, FileKind kind) {
  if (kind == FileKind::folder) throw FileError(file, "is a folder, where a file is due");
  throw FileError(file, "is no regular file", "devices, pipes and sockets are not read");
}

[[noreturn]] void cannot_read(const std::string& file) {
  if (file.empty()) throw FileError("", "the name of a file is empty", "give the file's name");
  if (file.size() >= PATH_MAX)
    throw FileError(file.substr(0, 80) + "...", "is no name of a file: it has " + std::to_string(file.size()) +
                                                    " bytes, more than the system takes");
  throw FileError(file, std::string("cannot be read: ") + std::strerror(errno), check_path);
}

/// A device or a pipe may do something, or wait, when it is opened: it is looked at before, and again after.
Descriptor open_as(const std::string& file, int flags) {
  if (file.find('\0') != std::string::npos) throw FileError(file.substr(0, file.find('\0')), "has a NUL in its name");
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) cannot_read(file);
  if (kind_of(status) != FileKind::regular) refuse(file, kind_of(status));
  Descriptor descriptor(::open(file.c_str(), flags | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  if (!descriptor && errno == ELOOP) throw FileError(file, "is a link, and a file of ours is due");
  if (!descriptor || ::fstat(descriptor.get(), &status) != 0) cannot_read(file);
  if (kind_of(status) != FileKind::regular) refuse(file, kind_of(status));
  return descriptor;
}
}  // namespace

FileKind kind_of(const std::string& path) {
  struct stat status {};
  if (path.find('\0') != std::string::npos) throw FileError(path.substr(0, path.find('\0')), "has a NUL in its name");
  if (::stat(path.c_str(), &status) == 0) return kind_of(status);
  if (errno == ENOENT) return FileKind::absent;
  cannot_read(path);
}

bool is_taken(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) == 0) return true;
  if (errno == ENOENT) return false;
  cannot_read(path);
}

std::vector<std::string> names_of(const std::string& path) {
  namespace fs = std::filesystem;
  constexpr std::size_t most_links = 40;  // Linux follows no more
  std::vector<std::string> names;
  std::error_code failed;
  fs::path at = fs::absolute(path, failed);
  while (!failed && names.size() <= most_links) {
    const fs::path folder = fs::canonical(at.parent_path(), failed);
    if (failed) break;
    names.push_back((folder / at.filename()).string());
    const fs::path to = fs::read_symlink(at, failed);  // fails for what is no link
    at = folder / to;
  }
  return names;
}

void throw_system_error(const std::string& file, const std::string& what) {
  throw FileError(file, "cannot be " + what + ": " + std::strerror(errno));
}

Descriptor::~Descriptor() {
  if (number_ >= 0) ::close(number_);
}

Descriptor open_regular(const std::string& file) { return open_as(file, O_RDONLY); }
Descriptor open_own(const std::string& file) { return open_as(file, O_RDWR | O_NOFOLLOW); }
void expect_readable(const std::string& file) { open_regular(file); }

i64 bytes_of(const Descriptor& descriptor, const std::string& file) {
  struct stat status {};
  if (::fstat(descriptor.get(), &status) != 0) throw_system_error(file, "read");
  return status.st_size;
}

i64 read_some(const Descriptor& descriptor, const std::string& file, i64 offset, i64 bytes, void* to) {
  i64 done = 0;
  while (done < bytes) {
    const ssize_t got =
        ::pread(descriptor.get(), static_cast<char*>(to) + done, static_cast<std::size_t>(bytes - done), offset + done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_system_error(file, "read at byte " + std::to_string(offset + done));
    if (got == 0) break;
    done += got;
  }
  return done;
}

void refuse_utf16(const std::string& begin, const std::string& file) {
  for (const char* const mark : {"\xFF\xFE", "\xFE\xFF"})
    if (begin.compare(0, 2, mark) == 0) throw FileError(file, "is a text in UTF-16", "save it in UTF-8");
}

std::string first_bytes(const std::string& file, i64 most) {
  const Descriptor descriptor = open_regular(file);
  std::string bytes(static_cast<std::size_t>(most), '\0');
  bytes.resize(static_cast<std::size_t>(read_some(descriptor, file, 0, most, bytes.data())));
  return bytes;
}

class FileStream::Buffer : public std::streambuf {
 public:
  explicit Buffer(const std::string& file) : file_(file), descriptor_(open_regular(file)), bytes_(buffer_bytes) {}

 private:
  int_type underflow() override {
    const i64 got = read_some(descriptor_, file_, offset_, static_cast<i64>(bytes_.size()), bytes_.data());
    if (got == 0) return traits_type::eof();
    offset_ += got;
    setg(bytes_.data(), bytes_.data(), bytes_.data() + got);
    return traits_type::to_int_type(bytes_[0]);
  }
  const std::string file_;
  const Descriptor descriptor_;
  std::vector<char> bytes_;
  i64 offset_ = 0;
};

FileStream::FileStream(const std::string& file) : std::istream(nullptr), buffer_(std::make_unique<Buffer>(file)) {
  rdbuf(buffer_.get());
  exceptions(std::ios::badbit);  // lets the buffer's FileError through
}
FileStream::~FileStream() = default;

std::string read_file(const std::string& file) {
  const Descriptor descriptor = open_regular(file);
  const i64 size = bytes_of(descriptor, file);
  if (size > most_text_bytes)
    throw FileError(file, "has " + std::to_string(size) + " bytes, more than a text here can have");
  std::string text;
  for (i64 piece = std::max<i64>(size + 1, 1 << 12);; piece = 1 << 16) {  // files of /proc claim to be empty
    const std::size_t begin = text.size();
    text.resize(begin + static_cast<std::size_t>(piece));
    const i64 got = read_some(descriptor, file, static_cast<i64>(begin), piece, text.data() + begin);
    text.resize(begin + static_cast<std::size_t>(got));
    if (got < piece) break;
    if (static_cast<i64>(text.size()) > most_text_bytes) throw FileError(file, "does not end");
  }
  refuse_utf16(text, file);
  return text.compare(0, utf8_mark.size(), utf8_mark) == 0 ? text.substr(utf8_mark.size()) : text;
}

std::string folder_of(const std::string& file) {
  const std::size_t slash = file.find_last_of('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : file.substr(0, slash);
}

void make_folders(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw FileError(folder, "cannot be made: " + error.message());
}

}  // namespace cortado
