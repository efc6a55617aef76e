#pragma once
#include <hdf5.h>

#include <string>

namespace cortado::hdf5 {

/// Checks that an array has its values, and what it needs besides its own file. It may need filters that unpack it, and
/// files that hold its values if it is virtual or external. HDF5 returns its fill value for values never written, and
/// for absent or short sources, and it waits for a pipe. Throws FileError for `where` that names the filter or the
/// file. Warns where a part has the fill value by intent. `file` is the array's own.
void expect_sources(hid_t array, const std::string& file, const std::string& where);

/// Checks that the link may be followed: a link to another file must name a regular file. Throws FileError.
void expect_link(hid_t group, const std::string& name, const std::string& file, const std::string& where);

/// A message's text behind a name where an object of kind `wanted` was due. It is "is a group, not a data set" or "is
/// not there". Otherwise it is the target of a broken link, or the reason why the library cannot open it.
std::string what_instead(hid_t group, const std::string& name, H5I_type_t wanted);

}  // namespace cortado::hdf5
