#include "cuda/split/cost.hpp"
#include "cuda/split/launch.cuh"
#include "cuda/split/scan_kernels.cuh"
#include "cuda/split/steps.hpp"

// The variant cuda.stable, which keeps the order of the records in each category. Up to 256 categories take one pass:
// tile histograms, prefix sums over them, and a scatter kernel whose tiles read from these sums where their runs begin.
// More categories take several passes (steps.hpp).
namespace sheaf::cuda {
namespace {

using namespace primitives;

std::uint64_t chunks_of(std::uint64_t tiles) { return ceil_div(tiles, tiles_per_chunk); }

/// Calls body with the records per thread of the histogram kernel for tiles of this many records, as a constant.
template <class Body>
void with_items_of(std::uint32_t tile_records, Body body) {
  using short_tuning = scatter_tuning<uint4, narrow_bins>;
  using long_tuning = scatter_tuning<uint2, narrow_bins>;
  if (tile_records == short_tuning::tile_records) {
    body(std::integral_constant<int, short_tuning::items_per_thread>{});
  } else {
    body(std::integral_constant<int, long_tuning::items_per_thread>{});
  }
}

}  // namespace

std::uint32_t split_tile_records(std::uint32_t word_bytes, std::uint64_t categories) {
  if (categories > narrow_bins) return scatter_tuning<uint2, wide_bins>::tile_records;
  return word_bytes == 16 ? scatter_tuning<uint4, narrow_bins>::tile_records
                          : scatter_tuning<uint2, narrow_bins>::tile_records;
}

std::uint64_t stable_scratch_bytes(std::uint64_t count, std::uint32_t word_bytes) {
  const std::uint64_t tiles = ceil_div(count, split_tile_records(word_bytes, narrow_bins));
  if (tiles <= 1) return 0;
  return narrow_bins * ((chunks_of(tiles) + 2) * sizeof(unsigned long long) + tiles * sizeof(std::uint32_t));
}

run_offsets count_and_scan_tiles(const context& ctx, const key_arguments& key, std::uint64_t count,
                                 std::uint32_t tile_records, std::uint64_t* offsets, std::uint64_t categories,
                                 void* scratch) {
  const std::uint64_t tiles = ceil_div(count, tile_records);
  if (tiles == 1) return {nullptr, nullptr, nullptr, offsets, static_cast<std::uint32_t>(categories)};
  const std::uint64_t chunks = chunks_of(tiles);
  auto* const bin_begin = static_cast<unsigned long long*>(scratch);
  unsigned long long* const bin_total = bin_begin + narrow_bins;
  unsigned long long* const chunk_begin = bin_total + narrow_bins;  // counts, until they are scanned in place
  auto* const tile_begin = reinterpret_cast<std::uint32_t*>(chunk_begin + chunks * narrow_bins);  // likewise
  require(cudaMemsetAsync(chunk_begin, 0, chunks * narrow_bins * sizeof(unsigned long long), ctx.stream()), ctx);
  with_items_of(tile_records, [&](auto items) {
    launch_blocks(ctx, count_tile_bins<narrow_bins, items()>, tiles, histogram_threads, key, count, tile_begin,
                  chunk_begin);
  });
  launch_overlapped(ctx, scan_chunks<narrow_bins>, narrow_bins / 32, column_scan_threads, 0, chunk_begin,
                    static_cast<std::uint32_t>(chunks), bin_total);
  launch_overlapped(ctx, scan_tiles<narrow_bins>, chunks, column_scan_threads, 0, tile_begin, tiles,
                    static_cast<const unsigned long long*>(bin_total), bin_begin, offsets, categories);
  return {bin_begin, chunk_begin, tile_begin, nullptr, 0};
}

void run_stable_pass(const context& ctx, const split_pass& pass, void* scratch) {
  const key_arguments key = keys_of(ctx, pass);
  scatter_arguments a = arguments_of(pass, key);
  a.runs = count_and_scan_tiles(ctx, key, pass.count, split_tile_records(pass.word_bytes, narrow_bins), pass.offsets,
                                pass.categories, scratch);
  if (a.runs.bin_begin != nullptr) a.key.guard = {};  // the histogram kernel has reported bad keys
  launch_scatter<narrow_bins, record_order::stable>(ctx, pass, a);
}

namespace {

plan::planned plan_stable(const split_problem& problem, const plan::scope& scope) {
  const machine& m = scope.machine;
  if (const char* reason = word_pass_rejection(problem)) return plan::rejected(reason);
  if (pass_count(problem) > 1) return plan_digit_passes(problem, scope, /*stable=*/true);
  plan::planned plan = stable_pass_cost(problem, m);
  constexpr std::uint64_t least_scratch = 256;  // so that the pointer to it is never null
  plan.scratch_bytes = std::max(least_scratch, stable_scratch_bytes(problem.count, problem.word_bytes));
  return plan;
}

void run_stable(const context& ctx, const split_problem& problem, const plan::planned& plan, const split_buffers& b,
                std::byte* scratch) {
  const device_scope current_device(ctx.device());
  if (split_empty_list(ctx, problem, b)) return;
  const split_pass pass = word_pass_of(problem, b);
  if (pass_count(problem) > 1) return run_digit_passes(ctx, problem, plan, pass, /*stable=*/true, scratch);
  run_stable_pass(ctx, pass, scratch);
}

}  // namespace

extern constinit const split_variant split_stable{"cuda.stable", backend_kind::cuda, plan_stable, run_stable};

}  // namespace sheaf::cuda
