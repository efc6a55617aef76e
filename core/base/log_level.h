#pragma once
#include "core/base/log.h"

namespace cortado {

/// Drops lines below `least` from now on, on this rank; open_log sets it anew. Errors are always written.
void set_log_level(Severity least);

}  // namespace cortado
