#pragma once
#include <string>

namespace cortado {

/// Foreign text as one line that a terminal shows as it is. Control characters, line ends among them, and bytes that
/// are no UTF-8 become \n, \x1B... A tab stays.
std::string printable(const std::string& text);

}  // namespace cortado
