#pragma once
#include <sys/types.h>

#include <istream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/types.h"

namespace cortado {

/// The kind of what lies at a path, links followed. `other` is a device, a pipe or a socket.
enum class FileKind { absent, regular, folder, other };
/// Throws FileError where the system does not tell: no permission, a loop of links, a name too long.
FileKind kind_of(const std::string& path);
inline bool exists(const std::string& path) { return kind_of(path) != FileKind::absent; }
/// True if the path names anything, a link without a target too. Throws FileError.
bool is_taken(const std::string& path);
/// The absolute names by which a path leads to its file: its own first, then those of the links that it passes.
/// Folders' links are resolved in each. A name that cannot be resolved ends the list.
std::vector<std::string> names_of(const std::string& path);

/// Throws a FileError for `file`: "cannot be WHAT: REASON", with the reason of errno.
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

/// Opens an existing file. All readers of files use it. It never waits: folders, devices, pipes and sockets are refused
/// before they are opened. Throws FileError.
Descriptor open_regular(const std::string& file);
/// Opens a file of our own for reading and writing. The last part of its name may not be a link. Throws FileError.
Descriptor open_own(const std::string& file);

/// Throws FileError unless `file` is a regular file that can be read. It serves libraries that open files by name.
void expect_readable(const std::string& file);
/// The size of an open file. Throws FileError.
i64 bytes_of(const Descriptor& descriptor, const std::string& file);

/// Reads bytes of an open file from `offset` on, at most `bytes`. Returns how many there were. Throws FileError.
i64 read_some(const Descriptor& descriptor, const std::string& file, i64 offset, i64 bytes, void* to);
/// The first bytes of a file, at most `most`. Throws FileError.
std::string first_bytes(const std::string& file, i64 most);

/// The mark that some editors put in front of text in UTF-8.
inline const std::string utf8_mark = "\xEF\xBB\xBF";
/// Throws FileError if a file that begins with `begin` is a text in UTF-16.
void refuse_utf16(const std::string& begin, const std::string& file);

/// A regular file as a stream. The constructor throws FileError; reading throws it where the disk fails.
class FileStream : public std::istream {
 public:
  explicit FileStream(const std::string& file);
  ~FileStream() override;

 private:
  class Buffer;
  std::unique_ptr<Buffer> buffer_;
};

/// Opens a file without a name in the folder, for reading and writing. It goes with its last descriptor, however the
/// process ends. Throws FileError.
Descriptor unnamed_file(const std::string& folder);
/// A path by which this process can open the file once more, named or not.
std::string path_of(const Descriptor& descriptor);

/// The whole text of a file, without UTF-8's mark. Throws FileError, also where it is larger than any text that is
/// meant to be read at once.
std::string read_file(const std::string& file);

/// A file that is written before it gets its name. Until then it has no name where the file system allows that, and a
/// name of its own elsewhere. So it touches no file or link of others. It is gone unless `replace` or `create` keeps
/// it.
class NewFile {
 public:
  /// Throws FileError where `file` cannot be written, or exists and is not a regular file.
  explicit NewFile(const std::string& file);
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  ~NewFile();
  int descriptor() const { return descriptor_.get(); }
  /// The path by which it can be opened.
  const std::string& path() const { return path_; }
  /// Adds to its end. Throws FileError.
  void write(const void* from, i64 bytes);
  /// Brings it to the disk and gives it its name. At any moment the name is absent, the old file or the new one. Throws
  /// FileError.
  void replace();
  /// Does the same, but throws FileError if the name is taken.
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

/// Replaces a file by a text, or writes the text to an existing device or pipe. Throws FileError.
void write_text(const std::string& file, const std::string& text);

/// Makes a folder and its parents. Throws FileError.
void make_folders(const std::string& folder);
/// The folder that a file lies in; "." for a bare name.
std::string folder_of(const std::string& file);

}  // namespace cortado
