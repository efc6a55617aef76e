#pragma once
#include <sys/types.h>

#include <istream>
#include <memory>
#include <string>
#include <utility>

#include "core/base/types.h"

namespace cortado {

/// What lies at a path, links followed; `other`: a device, a pipe or a socket.
enum class FileKind { absent, regular, folder, other };
/// Throws FileError where the system does not tell: no permission, a loop of links, a name too long.
FileKind kind_of(const std::string& path);
inline bool exists(const std::string& path) { return kind_of(path) != FileKind::absent; }
/// Whether the path names anything, a link without a target too. Throws FileError.
bool is_taken(const std::string& path);

/// "cannot be WHAT: REASON", by errno, for `file`. Throws FileError.
[[noreturn]] void throw_system_error(const std::string& file, const std::string& what);

/// A file descriptor that closes itself.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor();
  int get() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }

 private:
  int number_ = -1;
};

/// Opens a file that is there. All readers of files come through here. It never waits: folders, devices, pipes and
/// sockets are refused before they are opened. Throws FileError.
Descriptor open_regular(const std::string& file);
/// The same for reading and writing, of a file of our own: the last part of the name may not be a link.
Descriptor open_own(const std::string& file);

/// Throws FileError unless `file` is a regular file that can be read; for libraries that open it by its name.
void expect_readable(const std::string& file);
/// The size of an open file. Throws FileError.
i64 bytes_of(const Descriptor& descriptor, const std::string& file);

/// Bytes of an open file from `offset` on, as many as it has up to `bytes`. Throws FileError.
i64 read_some(const Descriptor& descriptor, const std::string& file, i64 offset, i64 bytes, void* to);
/// The first bytes of a file, as many as it has up to `most`. Throws FileError.
std::string first_bytes(const std::string& file, i64 most);

/// A regular file as a stream. The constructor throws FileError; so does reading where the disk fails.
class FileStream : public std::istream {
 public:
  explicit FileStream(const std::string& file);
  ~FileStream() override;

 private:
  class Buffer;
  std::unique_ptr<Buffer> buffer_;
};

/// A file without a name in the folder, for reading and writing: it goes with its last descriptor, however the process
/// ends. Throws FileError.
Descriptor unnamed_file(const std::string& folder);
/// By which this process can open it once more, named or not.
std::string path_of(const Descriptor& descriptor);

/// A whole text. Throws FileError; so where it is larger than any text that is meant to be read at once.
std::string read_file(const std::string& file);

/// A file that is written before it gets its name. Until then it has none where the file system can do that, and
/// elsewhere one that nobody else has, so that no file or link of others is touched. It is gone if it is not kept.
class NewFile {
 public:
  /// Throws FileError where `file` cannot be written, or is there and no regular file.
  explicit NewFile(const std::string& file);
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  ~NewFile();
  int descriptor() const { return descriptor_.get(); }
  /// By which it can be opened.
  const std::string& path() const { return path_; }
  /// Adds to its end. Throws FileError.
  void write(const void* from, i64 bytes);
  /// Brings it to the disk and gives it its name: at any moment the name is absent, the old file or the new one.
  void replace();
  /// The same; throws FileError if the name is taken.
  void create();

 private:
  void sync();
  void sync_folder() const;
  [[noreturn]] void fail() const;
  void link_as(const std::string& name) const;
  std::string file_, folder_, path_;
  Descriptor descriptor_;
  bool named_ = false;  // path_ is a name in the folder
};

/// Replaces a file by a text, or writes it to the device or pipe that is there. Throws FileError.
void write_text(const std::string& file, const std::string& text);

/// Makes a folder and those above it. Throws FileError.
void make_folders(const std::string& folder);
/// The folder that a file lies in; "." for a bare name.
std::string folder_of(const std::string& file);

}  // namespace cortado
