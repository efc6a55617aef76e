#include "core/base/user_folders.h"

#include <cstdlib>

namespace cortado {
namespace {
std::string folder_in(const char* variable, const std::string& below_home) {
  const char *const given = std::getenv(variable), *const home = std::getenv("HOME");
  const bool is_given = given != nullptr && *given != '\0';
  return (is_given ? given : std::string(home != nullptr ? home : "") + below_home) + "/cortado";
}
}  // namespace

std::string user_config_folder() { return folder_in("XDG_CONFIG_HOME", "/.config"); }
std::string user_cache_folder() { return folder_in("XDG_CACHE_HOME", "/.cache"); }

}  // namespace cortado
