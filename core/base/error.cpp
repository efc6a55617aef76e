#include "core/base/error.h"

namespace cortado {
namespace {
std::string join(const std::string& where, const std::string& what, const std::string& advice) {
  std::string line = where.empty() ? what : where + ": " + what;
  if (!advice.empty()) line += " (" + advice + ")";
  return line;
}
}  // namespace

Error::Error(const std::string& where, const std::string& what, const std::string& advice)
    : std::runtime_error(join(where, what, advice)) {}

}  // namespace cortado
