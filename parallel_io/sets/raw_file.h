#pragma once
#include <string>
#include <utility>
#include <vector>

#include "core/base/file.h"

namespace cortado {

/// A file open for reading or writing at any offset from any thread.
class RawFile {
 public:
  enum class For { reading, writing };
  explicit RawFile(const std::string& name, For use = For::reading);
  /// Makes a file without a name in $TMPDIR or /tmp, for reading and writing, that goes with its object. `name` stands
  /// for it in messages.
  static RawFile unnamed(const std::string& name);
  /// A second RawFile on a file that is open for reading and writing.
  static RawFile again(const Descriptor& descriptor);
  const std::string& name() const { return name_; }
  i64 bytes() const;

  struct Part {
    i64 offset, bytes;
    void* to;
  };
  /// Reads parts that are sorted by offset and do not overlap. Neighbours, and those with small gaps between, come in
  /// one system call. Throws FileError when the file ends too early.
  void read(const std::vector<Part>& parts) const;
  void read(i64 offset, i64 bytes, void* to) const { read({{offset, bytes, to}}); }
  void write(i64 offset, i64 bytes, const void* from) const;
  /// Brings written bytes to the disk.
  void sync() const;

 private:
  RawFile(std::string name, Descriptor descriptor, std::string folder = "")
      : name_(std::move(name)), folder_(std::move(folder)), descriptor_(std::move(descriptor)) {}
  [[noreturn]] void fail_to_write(const std::string& where) const;

  std::string name_, folder_;  // the folder of one without a name
  Descriptor descriptor_;
};

}  // namespace cortado
