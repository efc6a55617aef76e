#pragma once
#include <hdf5.h>

#include <string>
#include <vector>

#include "core/tensor/blob.h"

namespace cortado::hdf5 {

/// The dimensions of an array of `samples`.
std::vector<hsize_t> dims_of(i64 samples, const Shape& sample);
/// Makes a contiguous array, whose place in the file is settled at once. Throws FileError for `where`.
void add_array(hid_t file, const std::string& where, const std::string& name, hid_t type,
               const std::vector<hsize_t>& dims, bool zeroed);
/// Writes all values of an existing array. Throws FileError for `where`.
void write_array(hid_t file, const std::string& where, const std::string& name, hid_t type, const void* values);

}  // namespace cortado::hdf5
