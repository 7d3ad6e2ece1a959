#pragma once

#include "cuda/sort/msd/group/bins.cuh"
#include "cuda/sort/msd/group/bitonic.cuh"
#include "cuda/sort/msd/group/merge.cuh"

// One group from its buffer to the output: its words are sorted in shared memory by the method that the kernel is
// compiled for, and its values follow them.
namespace sheaf::cuda {

template <int Limbs, payload_mode Payload, finish_method Method>
class group_sort {
 public:
  static constexpr bool has_values = carries_values(Payload);
  using word = sort_word<Limbs>;
  using staged_words = staged_group<Limbs, Payload, Method>;
  static constexpr int items = finish_items;

  __device__ group_sort(const msd_arguments& a, finish_shared& s, unsigned char* staged)
      : a_(a), s_(s), staged_(staged) {}

  /// Sorts a group to the output. Returns false where the method `bins` leaves the group to the method `merge`; nothing
  /// has been written then. is_hot: it was left so.
  __device__ __forceinline__ bool run(const msd_group& group, bool is_hot = false) {
    const std::uint32_t buffer = group.buffer();
    const staged_words g{a_,
                         static_cast<const word*>(a_.buffers[buffer]) + group.begin,
                         group.count(),
                         &s_,
                         reinterpret_cast<word*>(staged_),
                         reinterpret_cast<std::uint16_t*>(staged_ + staged_bytes<Limbs, Payload>),
                         key_mask<Limbs>(a_.key_low, a_.key_high)};
    word words[items];
    std::uint32_t differing[Limbs] = {};
    const word first = g.input_word(0);
    g.load(words);
#pragma unroll
    for (int k = 0; k < items; ++k) {
#pragma unroll
      for (int i = 0; i < Limbs; ++i) differing[i] |= (words[k].limb[i] ^ first.limb[i]) & g.key.limb[i];
    }
    clear_bins_and_reduce(differing);
    const std::uint32_t digit_end = bit_length<Limbs>(differing);
    if (digit_end == 0) {  // all keys are equal
#pragma unroll
      for (int k = 0; k < items; ++k) {
        if (g.position(k) < g.count) write_word<Limbs>(a_.target, group.begin + g.position(k), words[k]);
      }
      if constexpr (has_values) move_values(g, group, [](std::uint32_t i) { return i; });
      return true;
    }
    if constexpr (Method == finish_method::bitonic) {
      sort_bitonic(g, words);
    } else if constexpr (Method == finish_method::bins) {
      if (!sort_by_bins(g, words, digit_end, differing, group.bins_by_range())) return false;
    } else if ((is_hot && sorts_hot_bins<Payload, finish_method::bins>) ||
               !sort_by_bins(g, words, digit_end, differing, group.bins_by_range())) {
      sort_by_merging(g, words);
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < items; ++k) {
      if (g.position(k) < g.count) {
        write_word<Limbs>(a_.target, group.begin + g.position(k), g.staged[g.position(k)]);
      }
    }
    if constexpr (has_values) {
      __syncthreads();
      move_values(g, group, [&](std::uint32_t i) { return g.positions[i]; });
    }
    return true;
  }

 private:
  /// Writes the value at position_of(i) in the group to place i. All values are in shared memory before the first is
  /// written, as they may be written to where they are read.
  template <class PositionOf>
  __device__ __forceinline__ void move_values(const staged_words& g, const msd_group& group, PositionOf position_of) {
    using value = sort_value<Payload>;
    value* const staged = reinterpret_cast<value*>(staged_);
    const value* const from = static_cast<const value*>(a_.values[group.buffer()]);
    value values[items];
#pragma unroll
    for (int k = 0; k < items; ++k) {
      if (g.position(k) < g.count) values[k] = value_at(from, group.begin + g.position(k));
    }
#pragma unroll
    for (int k = 0; k < items; ++k) {
      if (g.position(k) < g.count) staged[g.position(k)] = values[k];
    }
    __syncthreads();
    value* const to = static_cast<value*>(a_.values_to) + group.begin;
#pragma unroll
    for (int k = 0; k < items; ++k) {
      if (g.position(k) < g.count) to[g.position(k)] = staged[position_of(g.position(k))];
    }
  }

  /// Replaces the threads' differing bits by those of the group, and clears the bins meanwhile. The caller has a
  /// barrier before the next call.
  __device__ __forceinline__ void clear_bins_and_reduce(std::uint32_t (&differing)[Limbs]) {
    if (threadIdx.x < Limbs) s_.differing_bits[threadIdx.x] = 0;
    if (threadIdx.x == finish_threads - 1) {
      s_.least_prefix = ~0U;
      s_.greatest_prefix = 0;
    }
    for (int i = threadIdx.x; i < finish_bins; i += finish_threads) s_.bins[i] = 0;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < Limbs; ++i) {
      const std::uint32_t bits = __reduce_or_sync(~0U, differing[i]);
      if (threadIdx.x % 32 == 0 && bits != 0) atomicOr(&s_.differing_bits[i], bits);
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < Limbs; ++i) differing[i] = s_.differing_bits[i];
  }

  const msd_arguments& a_;
  finish_shared& s_;
  unsigned char* staged_;
};

}  // namespace sheaf::cuda
