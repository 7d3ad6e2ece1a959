#include "cuda/device/launch.cuh"
#include "cuda/edges/buckets/counts.cuh"
#include "cuda/edges/buckets/phases.hpp"

// The tiles' table is turned, so that a bucket finds its column in one piece; its sums say where lists begin.
namespace sheaf::cuda {
namespace {

constexpr std::uint32_t turned_side = 64;

/// Writes the table bucket by bucket. Entries past the last tile are not read.
__global__ void __launch_bounds__(block_threads)
    turn_table(const std::uint16_t* table, std::uint16_t* turned, const __grid_constant__ bucket_cut cut) {
  __shared__ std::uint16_t part[turned_side][turned_side + 2];
  const std::uint32_t across = (cut.buckets + turned_side) / turned_side;  // of one column more than there are buckets
  const std::uint32_t first_bucket = blockIdx.x % across * turned_side;
  const std::uint32_t first_tile = blockIdx.x / across * turned_side;
  for (std::uint32_t k = threadIdx.x; k < turned_side * turned_side / 2; k += block_threads) {
    const std::uint32_t t = k / (turned_side / 2);
    const std::uint32_t b = k % (turned_side / 2) * 2;
    if (first_tile + t >= cut.tiles || first_bucket + b >= cut.row) continue;
    const std::uint32_t two =
        *reinterpret_cast<const std::uint32_t*>(table + std::uint64_t{first_tile + t} * cut.row + first_bucket + b);
    part[t][b] = static_cast<std::uint16_t>(two);
    part[t][b + 1] = static_cast<std::uint16_t>(two >> 16);
  }
  __syncthreads();
  for (std::uint32_t k = threadIdx.x; k < turned_side * turned_side / 2; k += block_threads) {
    const std::uint32_t b = k / (turned_side / 2);
    const std::uint32_t t = k % (turned_side / 2) * 2;
    if (first_bucket + b > cut.buckets || first_tile + t >= cut.turned_row) continue;
    *reinterpret_cast<std::uint32_t*>(turned + std::uint64_t{first_bucket + b} * cut.turned_row + first_tile + t) =
        part[t][b] | std::uint32_t{part[t + 1][b]} << 16;
  }
}

/// Ends of each bucket; a warp takes a bucket.
__global__ void __launch_bounds__(block_threads)
    count_buckets(const std::uint16_t* turned, const __grid_constant__ bucket_cut cut, std::uint32_t* counts) {
  const std::uint32_t b = blockIdx.x * (block_threads / 32) + threadIdx.x / 32;
  if (b >= cut.buckets) return;
  const std::uint16_t* const begins = turned + std::uint64_t{b} * cut.turned_row;
  std::uint32_t sum = 0;
  for (std::uint32_t t = threadIdx.x % 32; t < cut.tiles; t += 32)
    sum += std::uint32_t{begins[cut.turned_row + t]} - begins[t];
  sum = __reduce_add_sync(~0U, sum);
  if (threadIdx.x % 32 == 0) counts[b] = sum;
}

/// Where the lists of each bucket begin, in place of its number of ends. One block.
__global__ void __launch_bounds__(list_threads) begin_buckets(std::uint32_t* counts, std::uint32_t buckets) {
  extern __shared__ __align__(16) unsigned char shared[];
  auto* const begins = reinterpret_cast<std::uint32_t*>(shared);
  for (std::uint32_t b = threadIdx.x; b < buckets; b += list_threads) begins[b] = counts[b];
  const std::uint32_t total = scan_counts<list_threads>(begins, buckets);
  for (std::uint32_t b = threadIdx.x; b <= buckets; b += list_threads) counts[b] = b == buckets ? total : begins[b];
}

}  // namespace

void queue_bucket_begins(const context& ctx, const bucket_cut& cut, const bucket_scratch& scratch) {
  launch(ctx, turn_table, ceil_div(cut.buckets + 1, turned_side) * ceil_div(cut.tiles, turned_side), scratch.table,
         scratch.turned, cut);
  launch(ctx, count_buckets, ceil_div(cut.buckets, block_threads / 32), scratch.turned, cut, scratch.begins);
  launch_shared(ctx, begin_buckets, 1, list_threads, cut.buckets * sizeof(std::uint32_t), scratch.begins, cut.buckets);
}

}  // namespace sheaf::cuda
