#pragma once
#include <functional>
#include <string>

#include "core/base/file.h"

namespace cortado {

/// True if the beginning of the file holds no control characters but white space. Throws FileError when it cannot be
/// opened, or is a text in UTF-16.
bool looks_like_text(const std::string& file);

/// Calls `write` with a new file's descriptor, brings the file to the disk and names it `file`. `write` returns true on
/// success. At any moment `file` is absent, the old one or complete. Throws FileError with the system's reason; then
/// nothing is left behind.
void replace_file(const std::string& file, const std::function<bool(int)>& write);
/// The same for a library that writes to a path. `write` gets the new file's path, and throws where it fails.
void replace_file_by_name(const std::string& file, const std::function<void(const std::string&)>& write);

}  // namespace cortado
