#pragma once

#include "cuda/block/scan.cuh"
#include "cuda/sort/msd/group.cuh"

// A group digit by digit, from the lowest bit that differs on: what takes any keys.
namespace sheaf::cuda {

/// Stages the group's words in order, in stable passes over what differs below `high`. Words are read anew.
template <int Limbs, payload_mode Payload, finish_way Way>
__device__ __forceinline__ void sort_by_digits(const staged_group<Limbs, Payload, Way>& group, std::uint32_t high) {
  using word = sort_word<Limbs>;
  constexpr int items = finish_items;
  constexpr int warps = finish_threads / 32;
  constexpr bool has_values = value_bytes_of(Payload) > 0;
  constexpr int bits = local_bits<Limbs>;
  constexpr int bins = local_bins<Limbs>;
  finish_shared<Limbs, Way>& s = *group.shared;
  warp_bin* const warp_bins = reinterpret_cast<warp_bin*>(s.bins);
  warp_bin* const own_bins = warp_bins + threadIdx.x / 32 * bins;
  word differing;
#pragma unroll
  for (int i = 0; i < Limbs; ++i) differing.limb[i] = s.differing[i];
  const std::uint32_t first = threadIdx.x / 32 * (32 * items) + threadIdx.x % 32;
  const auto place = [&](int k) { return first + k * 32; };
  bool is_staged = false;
  for (std::uint32_t shift = lowest_bit<Limbs>(differing.limb); shift < high; shift += bits) {
    const digit_field digit = digit_at(shift, min(static_cast<std::uint32_t>(bits), high - shift));
    if (digit_of(differing, digit) == 0) continue;
    __syncthreads();
    for (int i = threadIdx.x; i < warps * bins; i += finish_threads) warp_bins[i] = {0, 0};
    word words[items];
    packed_numbers<items> numbers;
#pragma unroll
    for (int k = 0; k < items; ++k) {
      const bool is_there = place(k) < group.count;
      if (is_there) {
        words[k] = is_staged ? group.staged[place(k)] : load_word_streaming(group.from + place(k));
      } else {
#pragma unroll
        for (int i = 0; i < Limbs; ++i) words[k].limb[i] = ~0U;
      }
      if constexpr (has_values) numbers.set(k, is_staged && is_there ? group.numbers[place(k)] : place(k));
    }
    __syncthreads();
    // What is not there has the last digit, and comes last of it.
    const auto bin = [&](int k) { return digit_of(words[k], digit); };
    packed_numbers<items> rank;
    rank_in_warp<items, bins, true>(bin, own_bins, rank);
    __syncthreads();
    std::uint32_t start[1] = {};
    if (threadIdx.x < bins) {
#pragma unroll
      for (int w = 0; w < warps; ++w) {
        warp_bin& of = warp_bins[w * bins + threadIdx.x];
        of.lanes = start[0];
        start[0] += of.count;
      }
    }
    scan_bins<bins, finish_threads>(start, s.warp_sums);
    if (threadIdx.x < bins) s.start[threadIdx.x] = start[0];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < items; ++k) {
      const std::uint32_t b = bin(k);
      const std::uint32_t to = rank.get(k) + own_bins[b].lanes + s.start[b];
      if (to >= group.count) continue;
      group.staged[to] = words[k];
      if constexpr (has_values) group.numbers[to] = static_cast<std::uint16_t>(numbers.get(k));
    }
    is_staged = true;
  }
}

}  // namespace sheaf::cuda
