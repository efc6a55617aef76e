#pragma once
#include <string>

namespace cortado {

/// What flags take, for --help: names separated by commas.
std::string codec_names();
/// Of "allreduce", "reduce" or "broadcast".
std::string algorithm_names(const std::string& collective);

}  // namespace cortado
