#pragma once

#include <thrust/sequence.h>
#include <thrust/system/cuda/execution_policy.h>

#include "lab/peers/cub/sort.cuh"

// CUB's radix sort of numbers with what a row has beside them: values, or the number of the row.
namespace sheaf::bench::peers::device {

/// Row numbers sorted with their keys, which are discarded: a gather index.
template <class Key>
contender radix_sort_of_numbers(const context& ctx, const problem& p, const workspace& arrays) {
  scratch_layout layout;
  layout.add(p.count * sizeof(std::uint32_t));
  const std::uint64_t keys_at = layout.add(p.count * sizeof(Key));
  const auto call = [keys_at, count = static_cast<std::uint32_t>(p.count), first = first_bit_of(p), end = end_bit_of(p),
                     &arrays, stream = ctx.stream()](void* temporary, std::size_t& bytes, std::byte* own_memory,
                                                     std::uint64_t copy) {
    auto* const numbers = reinterpret_cast<std::uint32_t*>(own_memory);
    if (temporary != nullptr) {
      thrust::sequence(thrust::cuda::par_nosync.on(stream), numbers, numbers + count);
    }
    return cub::DeviceRadixSort::SortPairs(
        temporary, bytes, keys_of<Key>(arrays, copy), reinterpret_cast<Key*>(own_memory + keys_at),
        static_cast<const std::uint32_t*>(numbers), target_of<std::uint32_t>(arrays, copy), count, first, end, stream);
  };
  return cub_contender(ctx, arrays, "cub", layout.bytes, call);
}

/// Pairs with values of 4 or 8 bytes, and indices of 4.
template <class Key>
std::vector<contender> pairs_and_numbers(const context& ctx, const problem& problem, const workspace& arrays) {
  if (problem.primitive == "sort_gather_index") {
    if (bytes(problem.index) != 4) return {};
    return {radix_sort_of_numbers<Key>(ctx, problem, arrays)};
  }
  if (problem.record_bytes == 4) return {radix_sort_of_pairs<Key, std::uint32_t>(ctx, problem, arrays)};
  if (problem.record_bytes == 8) return {radix_sort_of_pairs<Key, std::uint64_t>(ctx, problem, arrays)};
  return {};
}

}  // namespace sheaf::bench::peers::device
