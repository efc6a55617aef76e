#pragma once
#include <string>
#include <vector>

namespace cortado {

/// The name nearest to `wrong`; empty if none is near. Capitals do not count.
std::string close_name(const std::string& wrong, const std::vector<std::string>& names);

}  // namespace cortado
