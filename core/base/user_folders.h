#pragma once
#include <string>

namespace cortado {

/// The user's folder of what Cortado reads: $XDG_CONFIG_HOME/cortado, by default ~/.config/cortado.
std::string user_config_folder();
/// The user's folder of what Cortado measured and can measure again: $XDG_CACHE_HOME/cortado, by default
/// ~/.cache/cortado.
std::string user_cache_folder();

}  // namespace cortado
