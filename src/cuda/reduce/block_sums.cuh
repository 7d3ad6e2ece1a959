#pragma once

#include "cuda/movement/copy/records.cuh"

// Privatization for hot slots: a block adds the values of slots that come often in shared memory, and adds only their
// sums to the output. A sample of the list decides whether that pays.
namespace sheaf::cuda {

/// Slots of which a block keeps something in shared memory: a direct-mapped cache without replacement. The first slot
/// that comes to an entry keeps it, and slots with many values come early.
template <std::uint32_t Log2Entries>
struct block_slots {
  static constexpr std::uint32_t bits = Log2Entries;
  static constexpr std::uint32_t free_entry = ~0U;
  static constexpr std::uint32_t no_entry = ~0U;
  std::uint32_t slot[1 << bits];

  /// The entry of a slot, if it has it or finds it free; else no_entry.
  __device__ __forceinline__ std::uint32_t entry_of(std::uint32_t to) {
    const std::uint32_t i = to * 0x9e3779b9U >> (32 - bits);
    std::uint32_t owner = *static_cast<volatile std::uint32_t*>(slot + i);
    if (owner == free_entry) {
      owner = atomicCAS(slot + i, free_entry, to);
      if (owner == free_entry) owner = to;
    }
    return owner == to ? i : no_entry;
  }
};

/// Sums that a block keeps in shared memory.
template <class T, std::uint32_t Log2Entries = 11>
struct block_sums : block_slots<Log2Entries> {
  using slots = block_slots<Log2Entries>;
  using slots::bits;
  using slots::free_entry;
  using slots::slot;
  T sum[1 << bits];

  __device__ __forceinline__ void clear() {
    for (std::uint32_t i = threadIdx.x; i < 1U << bits; i += block_threads) {
      slot[i] = free_entry;
      sum[i] = T(-0.0);  // x + -0.0 is x for every x, -0.0 included
    }
  }
  /// Adds the value if the slot has its entry or finds it free; returns whether it did.
  __device__ __forceinline__ bool add(std::uint32_t to, T value) {
    const std::uint32_t i = slots::entry_of(to);
    if (i == slots::no_entry) return false;
    if constexpr (sizeof(T) == 8 && std::is_integral_v<T>) {
      atomicAdd(reinterpret_cast<unsigned long long*>(sum + i), static_cast<unsigned long long>(value));
    } else {
      atomicAdd(sum + i, value);
    }
    return true;
  }
  /// Calls add_to_output with each slot and its sum.
  template <class AddToOutput>
  __device__ __forceinline__ void flush(AddToOutput add_to_output) const {
    for (std::uint32_t i = threadIdx.x; i < 1U << bits; i += block_threads) {
      if (slot[i] != free_entry) add_to_output(slot[i], sum[i]);
    }
  }
};

/// Whether a sample of a list shows hot slots: of 256 entries, 16 or more name a slot that another one of them names.
/// A random list over 2^16 slots has one such pair in every second sample. slot_at(entry) reads an entry. All threads
/// of the block call it.
template <class SlotAt>
__device__ __forceinline__ bool sample_has_hot_slots(std::uint64_t count, SlotAt slot_at) {
  constexpr std::uint32_t table_entries = 1024;
  constexpr int least_shared = 16;
  __shared__ unsigned long long last_writer[table_entries];  // slot and thread
  // One entry of each 256th of the list, anywhere in it: even steps would find the same slots again where a list runs
  // through all slots several times.
  const std::uint64_t step = count / block_threads;
  const std::uint64_t entry = step * threadIdx.x + (step * (threadIdx.x * 0x9e3779b9U >> 16) >> 16);
  const auto slot = static_cast<std::uint32_t>(slot_at(min(entry, count - 1)));
  const std::uint32_t i = slot * 0x9e3779b9U >> 22;
  const unsigned long long own = static_cast<unsigned long long>(slot) << 32 | threadIdx.x;
  atomicExch(last_writer + i, own);
  __syncthreads();
  const unsigned long long other = last_writer[i];
  return __syncthreads_count(other != own && other >> 32 == slot) >= least_shared;
}

__device__ __forceinline__ bool sample_has_hot_slots(const move_arguments& args) {
  return sample_has_hot_slots(args.count, [&](std::uint64_t entry) { return index_at(args, entry, /*again=*/true); });
}

}  // namespace sheaf::cuda
