#pragma once

#include <array>
#include <cstdint>

namespace sheaf::cpu {

/// The pages or lines that a sample has seen: a Bloom filter of one bit each.
class seen_blocks {
 public:
  /// Whether a block is new; it is seen then.
  bool add(std::uint64_t block) noexcept {
    const std::uint64_t hash = (block * 0x9e3779b97f4a7c15U) >> (64 - filter_bits);
    const std::uint64_t bit = std::uint64_t{1} << (hash % 64);
    const bool is_new = (seen_[hash / 64] & bit) == 0;
    seen_[hash / 64] |= bit;
    return is_new;
  }

 private:
  static constexpr int filter_bits = 16;
  std::array<std::uint64_t, (1 << filter_bits) / 64> seen_{};
};

/// Order sample: whether the accesses of a list are so scattered over pages that reordering them pays. Looks at 64 runs
/// of 64 neighbours, and wants three quarters of the accesses to be on pages that the sample has not seen. A Bloom
/// filter of 2^16 bits, one bit a page, says which it has seen. Stops after the first run that shows the list to be
/// local.
template <class Index>
bool is_scattered(const Index* index, std::uint64_t count, std::uint64_t stride_bytes) {
  constexpr std::uint64_t runs = 64;
  constexpr std::uint64_t run_entries = 64;
  constexpr std::uint64_t page_bytes = 4096;
  if (count < runs * run_entries) return false;
  seen_blocks seen;
  std::uint64_t pages = 0;
  for (std::uint64_t run = 0; run < runs; ++run) {
    const Index* const first = index + count / runs * run;
    for (std::uint64_t i = 0; i < run_entries; ++i) {
      pages += seen.add(first[i] * stride_bytes / page_bytes) ? 1 : 0;
    }
    if (4 * pages < 3 * (run + 1) * run_entries) return false;
  }
  return true;
}

}  // namespace sheaf::cpu
