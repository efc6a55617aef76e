#include "parallel_io/convert/new_arrays.h"

#include "core/base/error.h"
#include "parallel_io/sets/hdf5.h"

namespace cortado::hdf5 {

void add_array(hid_t file, const std::string& where, const std::string& name, hid_t type,
               const std::vector<hsize_t>& dims, bool zeroed) {
  const Quiet quiet;
  const Handle list(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_layout(list.get(), H5D_CONTIGUOUS);
  H5Pset_alloc_time(list.get(), H5D_ALLOC_TIME_EARLY);
  H5Pset_fill_time(list.get(), zeroed ? H5D_FILL_TIME_ALLOC : H5D_FILL_TIME_NEVER);
  const Handle space(H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr), H5Sclose);
  const Handle array(H5Dcreate2(file, name.c_str(), type, space.get(), H5P_DEFAULT, list.get(), H5P_DEFAULT), H5Dclose);
  if (array.get() < 0) throw FileError(where, "array '" + name + "' cannot be made: " + quiet.reason());
}

std::vector<hsize_t> dims_of(i64 samples, const Shape& sample) {
  std::vector<hsize_t> dims(sample.begin(), sample.end());
  dims.insert(dims.begin(), static_cast<hsize_t>(samples));
  return dims;
}

void write_array(hid_t file, const std::string& where, const std::string& name, hid_t type, const void* values) {
  const Quiet quiet;
  const Handle array(H5Dopen2(file, name.c_str(), H5P_DEFAULT), H5Dclose);
  if (array.get() < 0 || H5Dwrite(array.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0)
    throw FileError(where, "array '" + name + "' cannot be written: " + quiet.reason());
}

}  // namespace cortado::hdf5
