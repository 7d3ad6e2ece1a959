#include "plan/store/direct.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <sheaf/error.hpp>

namespace sheaf::io {
namespace {

constexpr std::uint64_t huge_page_bytes = std::uint64_t{2} << 20;

}  // namespace

void unmap_memory::operator()(std::byte* block) const noexcept { munmap(block, bytes); }

direct_memory direct_memory_of(std::uint64_t bytes) {
  if (bytes == 0) return {};
  const std::uint64_t page = std::max(direct_alignment, static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)));
  const bool fits = bytes <= std::numeric_limits<std::uint64_t>::max() / 2;
  const std::uint64_t whole = (bytes + page - 1) / page * page;
  // Huge pages lie at multiples of their size, so what lies before the first is cut off, and as much behind.
  const bool many = bytes >= 4 * huge_page_bytes;
  const std::uint64_t spare = many ? huge_page_bytes - page : 0;
  void* const mapped =
      fits ? mmap(nullptr, whole + spare, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) : MAP_FAILED;
  if (mapped == MAP_FAILED) {
    throw error(error_code::out_of_memory, fmt::format("{} bytes of memory are not available", bytes));
  }
  auto* const first = static_cast<std::byte*>(mapped);
  const std::uint64_t before = many ? -reinterpret_cast<std::uintptr_t>(first) % huge_page_bytes : 0;
  if (before > 0) munmap(first, before);
  if (spare > before) munmap(first + before + whole, spare - before);
#if defined(MADV_HUGEPAGE)
  // The last bytes have small pages, so that no memory is taken that was not asked for.
  if (many) madvise(first + before, whole / huge_page_bytes * huge_page_bytes, MADV_HUGEPAGE);
#endif
  return direct_memory(first + before, unmap_memory{whole});
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
