#pragma once
#include <hdf5.h>

#include <string>

namespace cortado::hdf5 {

/// What an array needs besides its own file: the filters that it is packed by, and the files that hold its values where
/// it is a virtual or an external one. HDF5 gives zeros for a source that is away, and waits for a pipe. Throws
/// FileError for `where` that names the filter or the file. `file` is the array's own.
void expect_sources(hid_t array, const std::string& file, const std::string& where);

/// The link may be followed: one to another file names a regular file that is there. Throws FileError.
void expect_link(hid_t group, const std::string& name, const std::string& file, const std::string& where);

}  // namespace cortado::hdf5
