#include "cpu/threads/huge_pages.hpp"

#include <fstream>
#include <string>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace sheaf::cpu {

void ask_for_huge_pages(void* first, std::uint64_t bytes) noexcept {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  constexpr std::uintptr_t page = std::uintptr_t{2} << 20;
  const auto begin = (reinterpret_cast<std::uintptr_t>(first) + page - 1) / page * page;
  const auto end = (reinterpret_cast<std::uintptr_t>(first) + bytes) / page * page;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the address is inside the block
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
#else
  static_cast<void>(first);
  static_cast<void>(bytes);
#endif
}

bool gives_huge_pages_unasked() {
  static const bool always = [] {
    std::ifstream setting("/sys/kernel/mm/transparent_hugepage/enabled");
    std::string line;
    return std::getline(setting, line) && line.find("[always]") != std::string::npos;
  }();
  return always;
}

}  // namespace sheaf::cpu
