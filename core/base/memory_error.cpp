#include "core/base/memory_error.h"

#include <cstdio>

namespace cortado {

std::string megabytes_text(double bytes) {
  char text[64];
  if (bytes < 1e5)
    std::snprintf(text, sizeof text, "%.0f bytes", bytes);
  else if (bytes < 1e10)
    std::snprintf(text, sizeof text, bytes < 1e7 ? "%.1f MB" : "%.0f MB", bytes / 1e6);
  else
    std::snprintf(text, sizeof text, "%.1f GB", bytes / 1e9);
  return text;
}

}  // namespace cortado
