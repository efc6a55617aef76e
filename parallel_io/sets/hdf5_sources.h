#pragma once
#include <hdf5.h>

#include <string>

namespace cortado::hdf5 {

/// An array has its values, and what it needs besides its own file: the filters that it is packed by, and the files
/// that hold its values where it is a virtual or an external one. HDF5 gives its fill value for what was never written
/// and for sources that are away or too small, and waits for a pipe. Throws FileError for `where` that names the filter
/// or the file; warns where a part has the fill value by intent. `file` is the array's own.
void expect_sources(hid_t array, const std::string& file, const std::string& where);

/// The link may be followed: one to another file names a regular file that is there. Throws FileError.
void expect_link(hid_t group, const std::string& name, const std::string& file, const std::string& where);

/// For messages, behind a name where an object of a kind was due: "is a group, not a data set", "is not there", where a
/// link leads that leads nowhere, or why the library cannot open it.
std::string what_instead(hid_t group, const std::string& name, H5I_type_t wanted);

}  // namespace cortado::hdf5
