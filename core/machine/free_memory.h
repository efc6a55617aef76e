#pragma once
#include <cstddef>
#include <string>

#include "core/base/types.h"

namespace cortado {

/// Bytes of host memory that this process can still fill: the least of what the system has, what the control group
/// allows (version 2), and what the address space's limit leaves. The largest i64 where nothing says.
i64 free_host_memory();

/// Throws MemoryError where `bytes` are more than is free. Systems promise memory that they do not have, and end the
/// process when it is written. Small requests pass unasked.
void require_memory(const std::string& where, std::size_t bytes);

}  // namespace cortado
