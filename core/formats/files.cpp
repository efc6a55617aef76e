#include "core/formats/files.h"

#include <algorithm>
#include <cerrno>

namespace cortado {

bool looks_like_text(const std::string& file) {
  const std::string start = first_bytes(file, 4096);
  refuse_utf16(start, file);
  return std::none_of(start.begin(), start.end(), [](char c) {
    const auto code = static_cast<unsigned char>(c);
    return code < 0x20 && (code < '\t' || code > '\r');
  });
}

void replace_file(const std::string& file, const std::function<bool(int)>& write) {
  NewFile out(file);
  errno = 0;
  if (!write(out.descriptor())) throw_system_error(file, "written");
  out.replace();
}

void replace_file_by_name(const std::string& file, const std::function<void(const std::string&)>& write) {
  NewFile out(file);
  write(out.path());
  out.replace();
}

}  // namespace cortado
