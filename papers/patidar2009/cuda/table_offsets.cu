#include "papers/cuda/table_scan.hpp"
#include "papers/patidar2009/cuda/segments.cuh"

// Prefix sums of a table in column-major order (step 2), and the offsets of categories, which are among them.
namespace sheaf::cuda {
namespace {

__global__ void __launch_bounds__(block_threads)
    copy_offsets(const std::uint64_t* run_begin, std::uint64_t segments, std::uint32_t categories, std::uint64_t count,
                 std::uint64_t* offsets) {
  const std::uint32_t c = blockIdx.x * block_threads + threadIdx.x;
  if (c < categories) offsets[c] = run_begin[c * segments];
  if (c == categories) offsets[c] = count;
}

}  // namespace

void scan_table(const context& ctx, const std::uint32_t* table, std::uint32_t categories, std::uint64_t segments,
                std::uint64_t count, std::uint64_t* tile_sums, std::uint64_t* offsets, std::uint64_t* run_begin,
                std::uint32_t most_blocks) {
  scan_counts(ctx, table, categories * segments, tile_sums, run_begin, most_blocks);
  if (offsets == nullptr) return;
  launch(ctx, copy_offsets, ceil_div(std::uint64_t{categories} + 1, std::uint64_t{block_threads}),
         static_cast<const std::uint64_t*>(run_begin), segments, categories, count, offsets);
}

}  // namespace sheaf::cuda
