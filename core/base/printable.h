#pragma once
#include <string>

namespace cortado {

/// Text that came from outside, as one line that a terminal shows as it is: control characters, line ends among them,
/// and bytes that are no UTF-8 become \n, \x1B... A tab stays.
std::string printable(const std::string& text);

}  // namespace cortado
