#include "cuda/split/arguments.cuh"

namespace sheaf::cuda {
namespace {

std::uint64_t chunks_of(std::uint64_t tiles) { return ceil_div(tiles, tiles_per_chunk); }

template <class Body>
void with_tile(std::uint32_t tile, Body body) {
  constexpr int short_items = split_shape<uint4, narrow_bins>::items;
  constexpr int long_items = split_shape<uint2, narrow_bins>::items;
  if (tile == split_shape<uint4, narrow_bins>::tile) {
    body(std::integral_constant<int, short_items>{});
  } else {
    body(std::integral_constant<int, long_items>{});
  }
}

}  // namespace

std::uint32_t split_tile_records(std::uint32_t word_bytes, std::uint64_t categories) {
  if (categories > narrow_bins) return split_shape<uint2, wide_bins>::tile;
  return word_bytes == 16 ? split_shape<uint4, narrow_bins>::tile : split_shape<uint2, narrow_bins>::tile;
}

std::uint64_t stable_scratch_bytes(std::uint64_t count, std::uint32_t word_bytes) {
  const std::uint64_t tiles = ceil_div(count, split_tile_records(word_bytes, narrow_bins));
  if (tiles <= 1) return 0;
  return narrow_bins * ((chunks_of(tiles) + 2) * sizeof(unsigned long long) + tiles * sizeof(std::uint32_t));
}

run_begins begin_stable_runs(const context& ctx, const char* what, const key_arguments& key, std::uint64_t count,
                             std::uint32_t tile, std::uint64_t* offsets, std::uint64_t categories, void* scratch) {
  const std::uint64_t tiles = ceil_div(count, tile);
  if (tiles == 1) return {nullptr, nullptr, nullptr, offsets, static_cast<std::uint32_t>(categories)};
  const std::uint64_t chunks = chunks_of(tiles);
  auto* const bin_begin = static_cast<unsigned long long*>(scratch);
  unsigned long long* const bin_total = bin_begin + narrow_bins;
  unsigned long long* const chunk_begin = bin_total + narrow_bins;
  auto* const tile_begin = reinterpret_cast<std::uint32_t*>(chunk_begin + chunks * narrow_bins);
  require(cudaMemsetAsync(chunk_begin, 0, chunks * narrow_bins * sizeof(unsigned long long), ctx.stream()), what);
  with_tile(tile, [&](auto items) {
    launch_blocks(ctx, what, count_tile_bins<narrow_bins, items()>, tiles, histogram_threads, key, count, tile_begin,
                  chunk_begin);
  });
  launch_blocks(ctx, what, begin_chunks<narrow_bins>, narrow_bins / 32, column_threads, chunk_begin,
                static_cast<std::uint32_t>(chunks), bin_total);
  launch_blocks(ctx, what, begin_tiles<narrow_bins>, chunks, column_threads, tile_begin, tiles,
                static_cast<const unsigned long long*>(bin_total), bin_begin, offsets, categories);
  return {bin_begin, chunk_begin, tile_begin, nullptr, 0};
}

void run_stable_pass(const context& ctx, const char* what, const split_pass& p, void* scratch) {
  const key_arguments key = keys_of(ctx, p);
  split_pass_arguments a = arguments_of(p, key);
  a.runs = begin_stable_runs(ctx, what, key, p.count, split_tile_records(p.word_bytes, narrow_bins), p.offsets,
                             p.categories, scratch);
  if (a.runs.bin_begin != nullptr) a.key.guard = {};  // the counting has reported
  launch_split<narrow_bins, true>(ctx, what, p, a);
}

}  // namespace sheaf::cuda
