#pragma once
#include <string>
#include <vector>

#include "app/doctor/facts.h"

namespace cortado {
struct BatchRequest;
}

namespace cortado::doctor {

/// The file or folder at a path, with its file system and striping.
StorageFacts storage_of(const std::string& path);

/// The folder that files can be written to. `error` tells why they cannot. A folder that is not there is judged by the
/// nearest one above it, where it can be made.
StorageFacts writable_folder(const std::string& folder);

/// The files that a data set's `source` leads to; for a text that lists HDF5 files these, at most 64.
std::vector<StorageFacts> files_of(const BatchRequest& request);

/// The name of a file system by its number in statfs(2); a hexadecimal number if it has none here.
std::string file_system_name(unsigned int number);

/// Reads number and bytes of stripes from a Lustre file's attribute "lustre.lov", of version 1 or 3. Other bytes change
/// nothing.
void read_lustre_layout(const std::string& attribute, StorageFacts& facts);

}  // namespace cortado::doctor
