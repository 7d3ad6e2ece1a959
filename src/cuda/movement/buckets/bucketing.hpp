#pragma once

#include "cuda/device/state.hpp"
#include "primitives/movement/problem.hpp"

// What the bucketed movements share. The indexed side is cut into buckets: ranges of a power of two of records,
// numbered by the top bits of an index.
namespace sheaf::cuda {

constexpr std::uint32_t most_buckets = 512;  ///< buckets that a block sorts a tile into

/// Blocks and tiles of the kernels that sort tiles into buckets.
constexpr std::uint32_t bucketing_threads = 512;
constexpr std::uint32_t bucketing_items = 16;
constexpr std::uint32_t bucketing_tile = bucketing_threads * bucketing_items;

/// Why a block cannot have so much dynamic shared memory beside the tables of these kernels, or null. A plan for a
/// machine of another day has no device to ask.
inline const char* shared_memory_rejection(const plan::scope& in, std::uint64_t bytes) {
  constexpr std::uint64_t most_table_bytes = 6 * 1024;
  if (in.context == nullptr) return nullptr;
  const std::uint64_t most_bytes = static_cast<const cuda_state*>(in.context)->shared_bytes_of_block();
  return bytes + most_table_bytes <= most_bytes ? nullptr
                                                : "a block of this device has too little shared memory for a tile";
}

/// Bits that tell `numbers` numbers apart.
constexpr std::uint32_t bits_for(std::uint64_t numbers) {
  std::uint32_t bits = 0;
  while (bits < 63 && (std::uint64_t{1} << bits) < numbers) ++bits;
  return bits;
}

/// The fixed capacity of a bucket of `bucket_records` of the indexed side's records: what a random list of `count`
/// indices sends to it, plus six standard deviations. Overflow is not an error: such records move one by one, at once.
inline std::uint64_t fixed_capacity(std::uint64_t count, std::uint64_t indexed_count, std::uint64_t bucket_records) {
  const double share = std::min(
      1.0, static_cast<double>(bucket_records) / static_cast<double>(std::max<std::uint64_t>(1, indexed_count)));
  const double expected = static_cast<double>(count) * share;
  const double capacity = expected + expected / 64 + 6 * std::sqrt(expected) + 64;
  return (std::min(count, static_cast<std::uint64_t>(capacity)) + 31) / 32 * 32;
}

}  // namespace sheaf::cuda
