#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sheaf::core {

// What the operating system reports about the machine that this process runs on.

/// The processor's model name, or "CPU".
std::string host_name();
std::uint64_t host_memory_bytes();
/// Memory available without swapping, within the limits of this process's control group and address space.
std::uint64_t host_available_bytes();
/// Bytes of each level of data cache that one core sees, smallest first; never empty.
std::vector<std::uint64_t> host_cache_levels();
std::uint64_t host_line_bytes();

}  // namespace sheaf::core
