#pragma once
#include "core/base/error.h"

namespace cortado {

/// Memory ran out.
struct MemoryError : Error {
  using Error::Error;
};

/// "411 MB", "1.2 GB", "300 bytes".
std::string megabytes_text(double bytes);

}  // namespace cortado
