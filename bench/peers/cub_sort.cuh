#pragma once

#include <cub/device/device_radix_sort.cuh>

#include "bench/peers/cub.cuh"

// CUB's radix sort over the bits that a row asks for. The form with two pointers reads and writes as often as the one
// with a DoubleBuffer, and leaves its input alone as splits and sorts do; the other would take a copy first.
namespace sheaf::bench::peers::device {

inline int first_bit_of(const problem& p) { return static_cast<int>(p.first_bit); }
inline int end_bit_of(const problem& p) { return static_cast<int>(p.first_bit + p.bits); }

template <class Key>
contender radix_sort_of_keys(const context& ctx, const problem& p, const workspace& arrays) {
  // Counts of 64 bits are what CUB sorts keys alone fastest with, counts of 32 bits pairs: 2^28 u32 in 5.4 and 6.4 ms,
  // 2^28 pairs of u32 in 8.5 and 7.5 on an H200.
  const auto call = [count = p.count, first = first_bit_of(p), end = end_bit_of(p), &arrays, stream = ctx.stream()](
                        void* temporary, std::size_t& bytes, std::byte*, std::uint64_t copy) {
    return cub::DeviceRadixSort::SortKeys(temporary, bytes, source_of<Key>(arrays, copy), target_of<Key>(arrays, copy),
                                          count, first, end, stream);
  };
  return cub_contender(ctx, arrays, "cub", 0, call);
}

/// Keys apart. Sorted ones go where the row wants them, or nowhere.
template <class Key, class Record>
contender radix_sort_of_pairs(const context& ctx, const problem& p, const workspace& arrays) {
  const bool keeps_keys = p.primitive == primitive::sort_pairs;
  scratch_layout own;
  if (!keeps_keys) own.add(p.count * sizeof(Key));
  const auto call = [count = static_cast<std::uint32_t>(p.count), first = first_bit_of(p), end = end_bit_of(p),
                     keeps_keys, &arrays, stream = ctx.stream()](void* temporary, std::size_t& bytes, std::byte* thrown,
                                                                 std::uint64_t copy) {
    std::byte* const sorted = keeps_keys ? arrays.sorted_keys(copy).data : thrown;
    return cub::DeviceRadixSort::SortPairs(temporary, bytes, keys_of<Key>(arrays, copy), reinterpret_cast<Key*>(sorted),
                                           source_of<Record>(arrays, copy), target_of<Record>(arrays, copy), count,
                                           first, end, stream);
  };
  return cub_contender(ctx, arrays, "cub", own.bytes, call);
}

}  // namespace sheaf::bench::peers::device
