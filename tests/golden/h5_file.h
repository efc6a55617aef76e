#pragma once
#include <hdf5.h>

#include <string>
#include <vector>

#include "core/tensor/blob.h"

namespace cortado::test {

/// An HDF5 file open for reading. Paths are like "param/conv1/0"; "." is the root. Throws FileError naming the file
/// and the path.
class H5File {
 public:
  explicit H5File(const std::string& file);
  ~H5File();
  H5File(const H5File&) = delete;
  H5File& operator=(const H5File&) = delete;

  bool has(const std::string& path) const;
  /// Names of a group's members, sorted; empty if there is no such group.
  std::vector<std::string> members(const std::string& path) const;

  Shape shape(const std::string& path) const;
  std::vector<float> values(const std::string& path) const;

  bool has_attribute(const std::string& path, const std::string& name) const;
  std::string text(const std::string& path, const std::string& name) const;
  /// All elements of a numeric attribute of any rank.
  std::vector<double> numbers(const std::string& path, const std::string& name) const;
  double number(const std::string& path, const std::string& name) const { return numbers(path, name).at(0); }

 private:
  hid_t checked(hid_t id, const std::string& path) const;

  std::string file_;
  hid_t id_;
};

}  // namespace cortado::test
