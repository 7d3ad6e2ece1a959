#include "io/direct.hpp"

#include <fcntl.h>
#include <sys/mman.h>

#include <limits>

#include <fmt/format.h>
#include <sheaf/error.hpp>

namespace sheaf::io {
namespace {

constexpr std::uint64_t huge_page_bytes = std::uint64_t{2} << 20;

}  // namespace

direct_memory direct_memory_of(std::uint64_t bytes) {
  const bool many = bytes >= 4 * huge_page_bytes;
  const std::uint64_t alignment = many ? huge_page_bytes : direct_alignment;
  const bool fits = bytes <= std::numeric_limits<std::uint64_t>::max() / 2;
  const std::uint64_t whole = fits ? (bytes + alignment - 1) / alignment * alignment : 0;
  direct_memory block(fits ? static_cast<std::byte*>(std::aligned_alloc(alignment, whole)) : nullptr);
  if (block == nullptr && bytes > 0) {
    throw error(error_code::out_of_memory, fmt::format("{} bytes of memory are not to be had", bytes));
  }
#if defined(MADV_HUGEPAGE)
  if (many) madvise(block.get(), whole, MADV_HUGEPAGE);
#endif
  return block;
}

bool bypass_cache(int descriptor) noexcept {
#if defined(O_DIRECT)
  const int flags = fcntl(descriptor, F_GETFL);
  return flags >= 0 && fcntl(descriptor, F_SETFL, flags | O_DIRECT) == 0;
#else
  static_cast<void>(descriptor);
  return false;
#endif
}

void use_cache(int descriptor) noexcept {
#if defined(O_DIRECT)
  const int flags = fcntl(descriptor, F_GETFL);
  if (flags >= 0) fcntl(descriptor, F_SETFL, flags & ~O_DIRECT);
#else
  static_cast<void>(descriptor);
#endif
}

}  // namespace sheaf::io
