#pragma once

#include <cub/device/device_radix_sort.cuh>

#include "lab/peers/cub/calls.cuh"

// CUB's radix sort over the bits that a row asks for. The overload with two pointers moves as many bytes as the one
// with a DoubleBuffer and leaves its input alone, as our splits and sorts do. The DoubleBuffer would need a copy first.
namespace sheaf::bench::peers::device {

inline int first_bit_of(const problem& p) { return static_cast<int>(p.part<key_part>().first_bit); }
inline int end_bit_of(const problem& p) {
  const key_part& key = p.part<key_part>();
  return static_cast<int>(key.first_bit + key.bits);
}

template <class Key>
contender radix_sort_of_keys(const context& ctx, const problem& p, const workspace& arrays) {
  // CUB sorts keys faster with a 64-bit count and pairs with a 32-bit count: on an H200, 2^28 u32 take 5.4 ms with 64
  // bits and 6.4 ms with 32, 2^28 pairs of u32 8.5 and 7.5 ms.
  const auto call = [count = p.count, first = first_bit_of(p), end = end_bit_of(p), &arrays, stream = ctx.stream()](
                        void* temporary, std::size_t& bytes, std::byte*, std::uint64_t copy) {
    return cub::DeviceRadixSort::SortKeys(temporary, bytes, source_of<Key>(arrays, copy), target_of<Key>(arrays, copy),
                                          count, first, end, stream);
  };
  return cub_contender(ctx, arrays, "cub", 0, call);
}

/// Keys in an array of their own. A split discards the sorted keys.
template <class Key, class Record>
contender radix_sort_of_pairs(const context& ctx, const problem& p, const workspace& arrays) {
  const bool writes_keys = p.primitive == "sort_pairs";
  scratch_layout layout;
  if (!writes_keys) layout.add(p.count * sizeof(Key));
  const auto call = [count = static_cast<std::uint32_t>(p.count), first = first_bit_of(p), end = end_bit_of(p),
                     writes_keys, &arrays, stream = ctx.stream()](void* temporary, std::size_t& bytes,
                                                                  std::byte* discarded_keys, std::uint64_t copy) {
    std::byte* const sorted = writes_keys ? arrays.sorted_keys(copy).data : discarded_keys;
    return cub::DeviceRadixSort::SortPairs(temporary, bytes, keys_of<Key>(arrays, copy), reinterpret_cast<Key*>(sorted),
                                           source_of<Record>(arrays, copy), target_of<Record>(arrays, copy), count,
                                           first, end, stream);
  };
  return cub_contender(ctx, arrays, "cub", layout.bytes, call);
}

}  // namespace sheaf::bench::peers::device
