#pragma once

#include "cuda/block/scan.cuh"
#include "cuda/block/tile.cuh"
#include "cuda/sort/msd/pass/context.cuh"

// Phase 4 of an MSD pass: words go to the bins of their digits. A block ranks a tile's words by bin, stages them in
// shared memory in that order, and writes each bin's run to consecutive addresses. Values follow their words.
namespace sheaf::cuda {

constexpr int pass_warps = pass_threads / 32;

/// Computes where each bin begins in the staged tile, which replaces the counts in histogram[0], or, where the order is
/// kept, where each warp's words of a bin begin, which replaces `lanes` in warp_bins. Leaves in bin_offset what turns
/// an index in the staged tile into one in the output. Where the order is kept, the tile's offsets in the output are
/// known from phase 3. Otherwise the block reserves places by one atomic for each bin on the bucket's count row.
template <class Policy>
__device__ __forceinline__ void compute_bin_offsets(const pass_context<Policy>& pass, std::uint32_t tile,
                                                    const tile_view<Policy>& view, warp_bin* warp_bins) {
  const std::uint32_t bin = threadIdx.x;
  std::uint32_t count[1] = {};
  std::uint32_t begin[1] = {};
  std::uint32_t output_begin = 0;
  if (bin < radix_bins) {
    if constexpr (Policy::keeps_order) {
      output_begin = __ldcg(pass.tables.tile_count_rows + std::uint64_t{tile} * radix_bins + bin);
#pragma unroll
      for (int w = 0; w < pass_warps; ++w) {
        warp_bin& of_warp = warp_bins[w * radix_bins + bin];
        of_warp.lanes_or_begin = count[0];
        count[0] += of_warp.count;
      }
    } else {
      count[0] = pass.shared.histogram[0][bin];
      if (count[0] > 0) {
        output_begin = atomicAdd(
            pass.tables.count_rows[pass.current] + std::uint64_t{view.count_row} * radix_bins + bin, count[0]);
      }
    }
    begin[0] = count[0];
  }
  scan_bins<radix_bins, pass_threads>(begin, pass.shared.warp_sums);
  if (bin >= radix_bins) return;
  pass.shared.bin_offset[bin] = output_begin - begin[0];
  if constexpr (Policy::keeps_order) {
#pragma unroll
    for (int w = 0; w < pass_warps; ++w) warp_bins[w * radix_bins + bin].lanes_or_begin += begin[0];
  } else {
    pass.shared.histogram[0][bin] = begin[0];
  }
}

template <bool IsFull, class Policy>
__device__ __forceinline__ void scatter_words(const pass_context<Policy>& pass, std::uint32_t tile,
                                              const tile_view<Policy>& view) {
  using word = typename Policy::word;
  constexpr int items = Policy::items;
  word* const staged = reinterpret_cast<word*>(pass.staged);
  warp_bin* const warp_bins = reinterpret_cast<warp_bin*>(pass.staged);
  std::uint32_t* const histogram = pass.shared.histogram[0];
  const std::uint32_t first = first_item_of_thread<items>();
  const int words_left = static_cast<int>(view.count) - static_cast<int>(first);  // from the thread's first word on
  const typename Policy::reader from(pass.arguments, view.buffer, view.begin);
  word words[items];
#pragma unroll
  for (int k = 0; k < items; ++k) {
    words[k] = IsFull || k * 32 < words_left ? from.load(first + k * 32) : word_of_ones<Policy::limbs>();
  }
  if constexpr (Policy::keeps_order) {
    for (int i = threadIdx.x; i < pass_warps * radix_bins; i += pass_threads) warp_bins[i] = {0, 0};
  } else {
    if (threadIdx.x < radix_bins) histogram[threadIdx.x] = 0;
  }
  __syncthreads();
  const auto bin = [&](int k) { return IsFull || k * 32 < words_left ? view.binning.bin_of(words[k]) : no_bin; };
  packed_numbers<items> rank;
  warp_bin* const own_bins = warp_bins + threadIdx.x / 32 * radix_bins;
  if constexpr (Policy::keeps_order) {
    rank_in_warp<items, radix_bins, IsFull>(bin, own_bins, rank);
  } else {
    rank_unordered<items, radix_bins, IsFull>(bin, histogram, rank);
  }
  __syncthreads();
  compute_bin_offsets(pass, tile, view, warp_bins);
  __syncthreads();
#pragma unroll
  for (int k = 0; k < items; ++k) {
    const std::uint32_t b = bin(k);
    if (IsFull || b < radix_bins) rank.add(k, Policy::keeps_order ? own_bins[b].lanes_or_begin : histogram[b]);
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < items; ++k) {
    if (IsFull || k * 32 < words_left) staged[rank.get(k)] = words[k];
  }
  __syncthreads();
  packed_bytes<items> bins;
  write_runs<IsFull, pass_threads>(
      staged, view.count, [&](const word& w) { return view.binning.bin_of(w); }, pass.shared.bin_offset, bins,
      [&](std::uint32_t i, const word& w) { view.output[i] = w; });
  __syncthreads();
  if constexpr (Policy::keeps_order) {
    using value = sort_value<Policy::payload>;
    const auto* const values = static_cast<const value*>(pass.arguments.values[view.buffer]);
    auto* const to = static_cast<value*>(pass.arguments.values[next_buffer(view.buffer)]);
    move_values_of_tile<IsFull, pass_threads, items / 2>(
        [&](std::uint32_t i) { return value_at(values, view.begin + i); }, reinterpret_cast<value*>(pass.staged),
        view.count, rank, bins, pass.shared.bin_offset, to);
    __syncthreads();
  }
}

template <class Policy>
__device__ void scatter_tile(const pass_context<Policy>& pass, std::uint32_t tile, std::uint32_t tiles) {
  const msd_bucket bucket = pass.shared.prefetched_bucket;
  const tile_view<Policy> view = pass.view_of(tile, bucket);
  __syncthreads();
  pass.prefetch_bucket(tile + gridDim.x, tiles);
  if (bucket.stays_in_place()) return __syncthreads();
  if (view.count == Policy::tile_words) {
    scatter_words<true>(pass, tile, view);
  } else {
    scatter_words<false>(pass, tile, view);
  }
}

template <class Policy>
__device__ void scatter_words_of_tiles(const pass_context<Policy>& pass) {
  const std::uint32_t tiles = __ldcg(&pass.tables.counters->tile_total[pass.current]);
  if (tiles == 0) return;
  pass.load_sampled_bins();
  pass.prefetch_bucket(blockIdx.x, tiles);
  __syncthreads();
  for (std::uint32_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) scatter_tile(pass, tile, tiles);
}

}  // namespace sheaf::cuda
