#include "cpu/threads/highest_entry.hpp"

#include <algorithm>

#include "cpu/threads/instruction_sets.hpp"

namespace sheaf::cpu {
namespace {

template <class Index>
[[gnu::always_inline]] inline Index highest_by_loop(const Index* index, std::uint64_t count) noexcept {
  Index highest = 0;
  for (std::uint64_t i = 0; i < count; ++i) highest = std::max(highest, index[i]);
  return highest;
}

// The vector instructions that every x86-64 has do not compare unsigned numbers; those of AVX2 do, 8 at a time.
#if defined(__x86_64__)
template <class Index>
[[gnu::target("avx2")]] Index highest_by_avx2(const Index* index, std::uint64_t count) noexcept {
  return highest_by_loop(index, count);
}
#endif

template <class Index>
Index highest(const Index* index, std::uint64_t count) noexcept {
#if defined(__x86_64__)
  if (has_avx2()) return highest_by_avx2(index, count);
#endif
  return highest_by_loop(index, count);
}

}  // namespace

std::uint64_t highest_of(const std::uint32_t* index, std::uint64_t count) noexcept { return highest(index, count); }
std::uint64_t highest_of(const std::uint64_t* index, std::uint64_t count) noexcept { return highest(index, count); }

}  // namespace sheaf::cpu
