#pragma once
#include <hdf5.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "core/tensor/blob.h"

namespace cortado::test {

/// A data set to write: its first dimension counts samples. `stored` is HDF5's type in the file.
struct Hdf5Array {
  std::string name;
  Shape shape;
  hid_t stored;
  std::vector<float> values;
};

/// An HDF5 file with contiguous data sets, as a user's own tools write one.
inline void write_hdf5(const std::string& file, const std::vector<Hdf5Array>& arrays) {
  const hid_t id = H5Fcreate(file.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  bool good = id >= 0;
  for (const auto& array : arrays) {
    const std::vector<hsize_t> dims(array.shape.begin(), array.shape.end());
    const hid_t space = H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr);
    const hid_t set = H5Dcreate2(id, array.name.c_str(), array.stored, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    good = good && static_cast<i64>(array.values.size()) == count_of(array.shape) &&
           H5Dwrite(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, array.values.data()) >= 0;
    H5Dclose(set);
    H5Sclose(space);
  }
  if (!good || H5Fclose(id) < 0) throw std::runtime_error(file + " cannot be written");
}

}  // namespace cortado::test
