#pragma once
#include <cstddef>

namespace cortado::reference {

/// Addresses for so many bytes of a device's memory, aligned to 128 bytes and never given again. Nothing lies there:
/// host code that follows one gets a line on stderr that says so, and then ends as after any bad access. Throws Error
/// when there are none left. Thread-safe.
char* device_addresses(std::size_t bytes);

/// True if device_addresses gave the address.
bool is_device_address(const void* p);

}  // namespace cortado::reference
