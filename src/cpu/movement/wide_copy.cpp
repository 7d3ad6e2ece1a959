#include "cpu/movement/wide_copy.hpp"

#include <cstring>

#include "cpu/threads/instruction_sets.hpp"

namespace sheaf::cpu {
namespace {

// Blocks of two lines, the last of which may overlap the one before it. 2^14 records of 1024 bytes in order, in the
// third-level cache of an EPYC of family 25: 53 to 59 ns a record by a loop over words of 16 bytes, 63 to 146 by
// glibc's memcpy, depending on where the arrays lie.
[[gnu::always_inline]] inline void copy_blocks(std::byte* to, const std::byte* from, std::uint64_t bytes) noexcept {
  constexpr std::uint64_t block_bytes = 128;
  for (std::uint64_t b = 0; b + block_bytes < bytes; b += block_bytes) std::memcpy(to + b, from + b, block_bytes);
  std::memcpy(to + bytes - block_bytes, from + bytes - block_bytes, block_bytes);
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] void copy_by_avx2(std::byte* to, const std::byte* from, std::uint64_t bytes) noexcept {
  copy_blocks(to, from, bytes);
}
#endif

}  // namespace

void copy_wide(std::byte* to, const std::byte* from, std::uint64_t bytes) noexcept {
#if defined(__x86_64__)
  if (has_avx2()) return copy_by_avx2(to, from, bytes);
#endif
  copy_blocks(to, from, bytes);
}

}  // namespace sheaf::cpu
