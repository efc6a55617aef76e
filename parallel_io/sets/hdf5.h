#pragma once
#include <hdf5.h>

#include <mutex>
#include <string>
#include <vector>

#include "core/tensor/blob.h"

namespace cortado::hdf5 {

/// The lock of the HDF5 library, which one thread at a time may use. Every use holds it. After the first lock the
/// library prints nothing; the stack of errors of a failed call goes to the debug log.
std::unique_lock<std::recursive_mutex> library_lock();

/// An HDF5 identifier that closes itself.
class Handle {
 public:
  using Close = herr_t (*)(hid_t);
  Handle() = default;
  Handle(hid_t id, Close close) : id_(id), close_(close) {}
  Handle(Handle&& other) noexcept { swap(other); }
  Handle& operator=(Handle&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Handle() {
    if (id_ < 0) return;
    const auto lock = library_lock();
    close_(id_);
  }
  hid_t get() const { return id_; }

 private:
  void swap(Handle& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
  }
  hid_t id_ = -1;
  Close close_ = nullptr;
};

/// The access property list for a file. HDF5's usual driver needs the real path; a file without a name (path_of a
/// descriptor) has none and gets another driver.
Handle access_to(const std::string& file);

/// A file open for reading. Throws FileError with HDF5's own reason for absent, foreign and truncated files.
class File {
 public:
  explicit File(const std::string& name);
  /// True if this process has read a file by this name, or by a link to it.
  static bool was_read(const std::string& name);
  const std::string& name() const { return name_; }
  hid_t id() const { return file_.get(); }
  /// Names of the data sets and groups at the top, separated by commas.
  std::string listing() const;

 private:
  std::string name_;
  Handle file_;
};

/// A data set of a file, whose first dimension counts samples.
class Array {
 public:
  /// Keeps up to `most_cached` bytes of unpacked chunks, if the array has chunks. Throws FileError naming file and data
  /// set. For an absent one it lists those that exist.
  Array(const File& file, const std::string& name, i64 most_cached = 0);
  hid_t id() const { return set_.get(); }
  i64 samples() const { return samples_; }
  const Shape& sample_shape() const { return sample_shape_; }
  bool is_uint8() const;
  bool is_float32() const;
  /// The offset of its values in the file, if they lie there one after another just as memory holds them; otherwise -1.
  i64 offset() const;
  /// Reads samples [first, first + count) as float, whatever number type is stored. Throws FileError.
  void read(i64 first, i64 count, float* to) const;

 private:
  std::string where_;
  Handle set_;
  i64 samples_ = 0;
  Shape sample_shape_;
};

/// Reads the box of `dims` values that begins at `start` of a data set as floats, whatever number type is stored. It
/// reads many small chunks a few at a time. Returns false where the library cannot; Quiet tells why.
bool read_floats(hid_t set, const std::vector<hsize_t>& start, const std::vector<hsize_t>& dims, float* to);

/// Writes to the disk what HDF5 holds back of an open file. Closing does not report failures. Throws FileError.
void flush(hid_t file, const std::string& where);

/// Write and read attributes of a file or a data set. All throw FileError for `where`; reading throws for absent and
/// foreign ones too.
void write_attribute(hid_t of, const std::string& name, i64 value, const std::string& where);
void write_attribute(hid_t of, const std::string& name, const std::vector<double>& values, const std::string& where);
void write_attribute(hid_t of, const std::string& name, const std::vector<std::string>& values,
                     const std::string& where);
bool has_attribute(hid_t of, const std::string& name);
i64 read_number(hid_t of, const std::string& name, const std::string& where);
std::vector<std::string> read_strings(hid_t of, const std::string& name, const std::string& where);

/// Holds the library's lock, and knows why the last call failed.
class Quiet {
 public:
  Quiet();
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;
  /// HDF5's first reason: the system's message, or its own sentence.
  std::string reason() const;

 private:
  std::unique_lock<std::recursive_mutex> lock_;
};

}  // namespace cortado::hdf5
