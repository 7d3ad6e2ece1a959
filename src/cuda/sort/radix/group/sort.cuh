#pragma once

#include "cuda/sort/radix/group/bins.cuh"
#include "cuda/sort/radix/group/digits.cuh"

// One group from its buffer to the output: its words are sorted in shared memory by the method that the kernel is
// compiled for, and its values follow them.
namespace sheaf::cuda {

/// Replaces the threads' differing bits by those of the group, and clears the bins meanwhile. The caller has a barrier
/// before the next call.
template <int Limbs>
__device__ __forceinline__ void clear_bins_and_reduce(finish_shared& shared, std::uint32_t (&differing)[Limbs]) {
  if (threadIdx.x < Limbs) shared.differing_bits[threadIdx.x] = 0;
  if (threadIdx.x == finish_threads - 1) {
    shared.least_prefix = ~0U;
    shared.greatest_prefix = 0;
  }
  for (int i = threadIdx.x; i < finish_bins; i += finish_threads) shared.bins[i] = 0;
  __syncthreads();
#pragma unroll
  for (int i = 0; i < Limbs; ++i) {
    const std::uint32_t bits = __reduce_or_sync(~0U, differing[i]);
    if (threadIdx.x % 32 == 0 && bits != 0) atomicOr(&shared.differing_bits[i], bits);
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < Limbs; ++i) differing[i] = shared.differing_bits[i];
}

/// Sorts a group, whose words and values are in the buffers of this number, to the output; the words of a list of one
/// group may be encoded from rows instead. `staged` is shared memory. Returns false where the method `bins` leaves the
/// group to the method `bins_then_digits`; nothing has been written then. is_hot: the method `bins` has left the group,
/// so that it is sorted by cells at once, or by digits.
template <int Limbs, value_width Values, finish_method Method, class CallerSort>
__device__ __forceinline__ bool finish_group(const radix_arguments& args, std::uint32_t buffer, const word_group& group,
                                             bool is_hot, finish_shared& shared, unsigned char* staged) {
  using word = sort_word<Limbs>;
  constexpr int items = finish_items;
  const staged_group<Limbs, Values, Method> block_group{
      args,
      static_cast<const word*>(args.buffers[buffer]) + group.begin,
      group.count,
      &shared,
      reinterpret_cast<word*>(staged),
      reinterpret_cast<std::uint16_t*>(staged + staged_bytes<Limbs, Values>),
      key_mask<Limbs>(args.key_low, args.key_high)};
  word words[items];
  std::uint32_t differing[Limbs] = {};
  const word first = block_group.input_word(0);
  block_group.load(words);
#pragma unroll
  for (int k = 0; k < items; ++k) {
#pragma unroll
    for (int i = 0; i < Limbs; ++i) differing[i] |= (words[k].limb[i] ^ first.limb[i]) & block_group.key.limb[i];
  }
  clear_bins_and_reduce(shared, differing);
  const std::uint32_t differing_end = bit_length<Limbs>(differing);
  if (differing_end == 0) {
    block_group.stage_unsorted(words);  // all keys are equal
  } else if constexpr (Method == finish_method::bins) {
    if (!sort_by_bins(block_group, words, differing_end, differing)) return false;
  } else if constexpr (Method == finish_method::by_caller) {
    CallerSort::sort(block_group, words);
  } else {
    bool is_sorted = false;
    if constexpr (Limbs > 1) is_sorted = is_hot && sort_by_cells(block_group, words, differing_end);
    if (!is_hot) is_sorted = sort_by_bins(block_group, words, differing_end, differing);
    if (!is_sorted) sort_by_digits(block_group, words, differing);
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < items; ++k) {
    const std::uint32_t i = block_group.position(k);
    if (i < block_group.count) write_word<Limbs>(args.target, args.transform, group.begin + i, block_group.staged[i]);
  }
  if constexpr (carries_values(Values)) {
    __syncthreads();
    // All values are in shared memory before the first is written, as they may be written to where they are read.
    using value = sort_value<Values>;
    auto* const staged_values = reinterpret_cast<value*>(staged);
    const auto* const from = static_cast<const value*>(args.values[buffer]);
    value values[items];
#pragma unroll
    for (int k = 0; k < items; ++k) {
      if (block_group.position(k) < block_group.count)
        values[k] = value_at(from, group.begin + block_group.position(k));
    }
#pragma unroll
    for (int k = 0; k < items; ++k) {
      if (block_group.position(k) < block_group.count) staged_values[block_group.position(k)] = values[k];
    }
    __syncthreads();
    value* const to = static_cast<value*>(args.values_to) + group.begin;
#pragma unroll
    for (int k = 0; k < items; ++k) {
      const std::uint32_t i = block_group.position(k);
      if (i < block_group.count) to[i] = staged_values[block_group.positions[i]];
    }
  }
  return true;
}

}  // namespace sheaf::cuda
