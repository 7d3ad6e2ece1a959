#include "cuda/split_arguments.cuh"

namespace sheaf::cuda {
namespace {

std::uint64_t tiles_of(std::uint64_t count, std::uint32_t word_bytes) {
  return ceil_div(count, split_tile_records(word_bytes, narrow_bins));
}

std::uint64_t chunks_of(std::uint64_t tiles) { return ceil_div(tiles, tiles_per_chunk); }

void count_tiles(const context& ctx, const char* what, const split_pass& p, const key_arguments& key,
                 std::uint64_t tiles, std::uint32_t* tile_count, unsigned long long* chunk_total) {
  if (p.word_bytes == 16) {
    launch_blocks(ctx, what, count_tile_bins<narrow_bins, split_shape<uint4, narrow_bins>::items>, tiles,
                  histogram_threads, key, p.count, tile_count, chunk_total);
  } else {
    launch_blocks(ctx, what, count_tile_bins<narrow_bins, split_shape<uint2, narrow_bins>::items>, tiles,
                  histogram_threads, key, p.count, tile_count, chunk_total);
  }
}

}  // namespace

std::uint32_t split_tile_records(std::uint32_t word_bytes, std::uint64_t categories) {
  if (categories > narrow_bins) return split_shape<uint2, wide_bins>::tile;
  return word_bytes == 16 ? split_shape<uint4, narrow_bins>::tile : split_shape<uint2, narrow_bins>::tile;
}

std::uint64_t stable_scratch_bytes(std::uint64_t count, std::uint32_t word_bytes) {
  const std::uint64_t tiles = tiles_of(count, word_bytes);
  if (tiles <= 1) return 0;
  return narrow_bins * ((chunks_of(tiles) + 2) * sizeof(unsigned long long) + tiles * sizeof(std::uint32_t));
}

void run_stable_pass(const context& ctx, const char* what, const split_pass& p, void* scratch) {
  key_arguments key = keys_of(ctx, p);
  split_pass_arguments a = arguments_of(p, key);
  const std::uint64_t tiles = tiles_of(p.count, p.word_bytes);
  if (tiles == 1) {
    a.offsets = p.offsets;
    return launch_split<narrow_bins, true>(ctx, what, p, a);
  }
  const std::uint64_t chunks = chunks_of(tiles);
  auto* const bin_begin = static_cast<unsigned long long*>(scratch);
  unsigned long long* const bin_total = bin_begin + narrow_bins;
  unsigned long long* const chunk_begin = bin_total + narrow_bins;
  auto* const tile_begin = reinterpret_cast<std::uint32_t*>(chunk_begin + chunks * narrow_bins);
  require(cudaMemsetAsync(chunk_begin, 0, chunks * narrow_bins * sizeof(unsigned long long), ctx.stream()), what);
  count_tiles(ctx, what, p, key, tiles, tile_begin, chunk_begin);
  launch_blocks(ctx, what, begin_chunks<narrow_bins>, narrow_bins / 32, column_threads, chunk_begin,
                static_cast<std::uint32_t>(chunks), bin_total);
  launch_blocks(ctx, what, begin_tiles<narrow_bins>, chunks, column_threads, tile_begin, tiles,
                static_cast<const unsigned long long*>(bin_total), bin_begin, p.offsets, p.categories);
  a.key.guard = {};  // the counting has reported
  a.bin_begin = bin_begin;
  a.chunk_begin = chunk_begin;
  a.tile_begin = tile_begin;
  launch_split<narrow_bins, true>(ctx, what, p, a);
}

}  // namespace sheaf::cuda
