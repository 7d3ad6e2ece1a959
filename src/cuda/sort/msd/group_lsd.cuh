#pragma once

#include "cuda/block/scan.cuh"
#include "cuda/sort/msd/group.cuh"

// An LSD radix sort of a group, by stable passes over digits of 7 or 8 bits: the method of last resort, which takes any
// keys.
namespace sheaf::cuda {

/// Stages the group's words in order. Passes go from the lowest differing bit to `digit_end` and skip digits that all
/// words share. The first pass reads the words from the group's buffer again.
template <int Limbs, payload_mode Payload, finish_method Method>
__device__ __forceinline__ void sort_by_lsd(const staged_group<Limbs, Payload, Method>& group,
                                            std::uint32_t digit_end) {
  using word = sort_word<Limbs>;
  constexpr int items = finish_items;
  constexpr int warps = finish_threads / 32;
  constexpr bool has_values = value_bytes_of(Payload) > 0;
  constexpr int bits = lsd_bits<Limbs>;
  constexpr int bins = lsd_bins<Limbs>;
  finish_shared<Limbs, Method>& s = *group.shared;
  warp_bin* const warp_bins = reinterpret_cast<warp_bin*>(s.bins);
  warp_bin* const own_bins = warp_bins + threadIdx.x / 32 * bins;
  word differing;
#pragma unroll
  for (int i = 0; i < Limbs; ++i) differing.limb[i] = s.differing_bits[i];
  const std::uint32_t first = threadIdx.x / 32 * (32 * items) + threadIdx.x % 32;
  const auto position = [&](int k) { return first + k * 32; };
  bool is_staged = false;
  for (std::uint32_t shift = lowest_bit<Limbs>(differing.limb); shift < digit_end; shift += bits) {
    const digit_field digit = digit_at(shift, min(static_cast<std::uint32_t>(bits), digit_end - shift));
    if (digit_of(differing, digit) == 0) continue;
    __syncthreads();
    for (int i = threadIdx.x; i < warps * bins; i += finish_threads) warp_bins[i] = {0, 0};
    word words[items];
    packed_numbers<items> positions;
#pragma unroll
    for (int k = 0; k < items; ++k) {
      const bool exists = position(k) < group.count;
      if (exists) {
        words[k] = is_staged ? group.staged[position(k)] : group.input_word(position(k));
      } else {
#pragma unroll
        for (int i = 0; i < Limbs; ++i) words[k].limb[i] = ~0U;
      }
      if constexpr (has_values) positions.set(k, is_staged && exists ? group.positions[position(k)] : position(k));
    }
    __syncthreads();
    // Words past the end have the last digit and are ranked last there.
    const auto bin = [&](int k) { return digit_of(words[k], digit); };
    packed_numbers<items> rank;
    rank_in_warp<items, bins, true>(bin, own_bins, rank);
    __syncthreads();
    std::uint32_t begin[1] = {};
    if (threadIdx.x < bins) {
#pragma unroll
      for (int w = 0; w < warps; ++w) {
        warp_bin& of_warp = warp_bins[w * bins + threadIdx.x];
        of_warp.lanes_or_begin = begin[0];
        begin[0] += of_warp.count;
      }
    }
    scan_bins<bins, finish_threads>(begin, s.warp_sums);
    if (threadIdx.x < bins) s.lsd_begin[threadIdx.x] = begin[0];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < items; ++k) {
      const std::uint32_t b = bin(k);
      const std::uint32_t to = rank.get(k) + own_bins[b].lanes_or_begin + s.lsd_begin[b];
      if (to >= group.count) continue;
      group.staged[to] = words[k];
      if constexpr (has_values) group.positions[to] = static_cast<std::uint16_t>(positions.get(k));
    }
    is_staged = true;
  }
}

}  // namespace sheaf::cuda
