#pragma once

#include <cstdint>

namespace sheaf::core {

enum class memory_space : std::uint8_t { host, pinned, managed, device };

struct memory_place {
  memory_space space = memory_space::host;
  int device = -1;                      ///< device number of managed and device memory
  std::uintptr_t allocation_begin = 0;  ///< of managed and device memory: the allocation that the address lies in
  std::uint64_t allocation_bytes = 0;   ///< 0 where the driver does not tell
};

/// Where an address lies. Asks the CUDA driver if this process has loaded one. It never loads the driver itself: a
/// process without it has no device memory.
memory_place place_of(const void* address) noexcept;

/// Whether the CUDA device that is current on this thread reads the memory at an address, which may be another
/// device's. False where the driver does not tell.
bool is_read_by_current_device(const void* address) noexcept;

}  // namespace sheaf::core
