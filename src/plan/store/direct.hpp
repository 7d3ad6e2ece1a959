#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace sheaf::io {

// Direct I/O, which bypasses the system's file cache. For data that are read once or written once the cache only costs:
// copies, and memory beyond the limit that the process was given. Sorting 4 GB of records in 1 GiB on two cores of a
// virtual machine took 14 to 20 s of kernel time through the cache, 2.5 to 4 s without it.

/// Whether transfers bypass the cache, where the file system lets them.
enum class cache_use : std::uint8_t { bypass, keep };

/// Offsets, lengths and addresses of direct transfers are multiples of this; file systems ask for 512 to 4096.
constexpr std::uint64_t direct_alignment = 4096;

constexpr std::uint64_t direct_floor(std::uint64_t bytes) { return bytes / direct_alignment * direct_alignment; }
constexpr std::uint64_t direct_ceiling(std::uint64_t bytes) { return direct_floor(bytes + direct_alignment - 1); }
inline bool is_direct(std::uint64_t offset, const void* address) {
  return (offset | reinterpret_cast<std::uintptr_t>(address)) % direct_alignment == 0;
}

/// Gives pages back to the system.
struct unmap_memory {
  std::uint64_t bytes = 0;
  void operator()(std::byte* block) const noexcept;
};
using direct_memory = std::unique_ptr<std::byte[], unmap_memory>;

/// At least `bytes` of aligned memory, in huge pages if it is large. They are pages of its own, which the system has
/// back once they are freed: an allocator may keep them, and a sort within 16 MiB then took 30 beside the program, when
/// blocks of its merges did not fit where those of runs had been. @throws error(out_of_memory)
direct_memory direct_memory_of(std::uint64_t bytes);

/// Lets the transfers of a descriptor bypass the cache; returns false if its file system cannot do that.
bool bypass_cache(int descriptor) noexcept;
void use_cache(int descriptor) noexcept;

}  // namespace sheaf::io
