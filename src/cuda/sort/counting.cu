#include <algorithm>
#include <array>

#include "cuda/block/scan.cuh"
#include "cuda/device/state.hpp"
#include "cuda/split/launch.cuh"
#include "primitives/sort.hpp"

// Rows of one byte that are their own key: they are counted, and written as often as they were there.
namespace sheaf::cuda {
namespace {

using primitives::key_layout;
using primitives::sort_buffers;
using primitives::sort_problem;
using primitives::sort_product;

constexpr int values = 256;
constexpr unsigned fill_threads = 256;
constexpr std::uint32_t bytes_a_thread = 64;

/// All bytes in the order of the key.
using byte_order = std::array<unsigned char, values>;

byte_order order_of(const key_layout& key) {
  byte_order order;
  std::array<std::uint64_t, values> number;
  for (int v = 0; v < values; ++v) {
    order[v] = static_cast<unsigned char>(v);
    const auto row = static_cast<std::byte>(v);
    number[v] = primitives::key_of(&row, key).word[0];
  }
  std::sort(order.begin(), order.end(), [&](int a, int b) { return number[a] < number[b]; });
  return order;
}

/// Where the runs of bytes begin, in the order of the key.
__global__ void __launch_bounds__(values)
    begin_runs(const unsigned long long* total, const __grid_constant__ byte_order order, unsigned long long* begin) {
  __shared__ __align__(16) unsigned long long warp_sums[values / 32];
  unsigned long long run[1] = {total[order[threadIdx.x]]};
  scan_bins<values, values>(run, warp_sums);
  begin[threadIdx.x] = run[0];
}

__global__ void __launch_bounds__(fill_threads)
    fill_runs(const unsigned long long* begin, const __grid_constant__ byte_order order, std::uint64_t count,
              unsigned char* out) {
  __shared__ unsigned long long first[values];
  first[threadIdx.x] = begin[threadIdx.x];
  __syncthreads();
  // Words of a warp lie side by side.
  for (std::uint32_t k = 0; k < bytes_a_thread / 4; ++k) {
    const std::uint64_t at =
        std::uint64_t{blockIdx.x} * fill_threads * bytes_a_thread + (k * fill_threads + threadIdx.x) * 4;
    if (at >= count) return;
    std::uint32_t run = 0;  // the last that begins at or before
    for (std::uint32_t step = values / 2; step > 0; step /= 2) {
      if (first[run + step] <= at) run += step;
    }
    for (std::uint32_t b = 0; b < 4 && at + b < count; ++b) {
      while (run + 1 < values && first[run + 1] <= at + b) ++run;
      out[at + b] = order[run];
    }
  }
}

plan::planned plan_counting(const sort_problem& p, const machine& m) {
  if (p.backend != backend_kind::cuda) return plan::rejected("works on CUDA memory");
  const bool is_own_key = p.product == sort_product::records && p.rows.record_bytes == 1 && p.column_count == 0 &&
                          p.key.field_count == 1 && p.key.bits == 8;
  if (!is_own_key) return plan::rejected("counts rows of one byte that are their own key");
  if (p.rows.in_stride_bytes != 1 || p.rows.out_stride_bytes != 1) return plan::rejected("rows lie apart");
  plan::planned plan;
  plan.add("latency", m.launch_seconds + 3 * m.step_seconds);
  const double read = static_cast<double>(p.count);
  // One H200 counts and writes 132 * 12e9 bytes a second.
  plan.add("counted and written", std::max(2 * read / m.copy_bytes_per_second, read / (12e9 * m.parallelism)));
  plan.scratch_bytes = 2 * values * sizeof(unsigned long long);
  return plan;
}

void run_counting(const context& ctx, const sort_problem& p, const plan::planned& plan, const sort_buffers& b) {
  constexpr const char* what = "cuda.counting";
  const device_scope here(ctx.device());
  const core::scratch memory(ctx.state(), plan.scratch_bytes);
  auto* const total = memory.as<unsigned long long>();
  unsigned long long* const begin = total + values;
  require(cudaMemsetAsync(total, 0, values * sizeof *total, ctx.stream()), what);
  const key_arguments key = keys_of({.data = b.in.data, .stride = 1, .word_bytes = 1, .bits = {0, 8}});
  const std::uint64_t blocks = std::min<std::uint64_t>(static_cast<std::uint64_t>(state_of(ctx).multiprocessors()) * 4,
                                                       ceil_div(p.count, std::uint64_t{histogram_threads} * 8));
  launch_blocks(ctx, what, count_bins<values>, blocks, histogram_threads, key, p.count, total);
  const byte_order order = order_of(p.key);
  launch_blocks(ctx, what, begin_runs, 1, values, static_cast<const unsigned long long*>(total), order, begin);
  launch_blocks(ctx, what, fill_runs, ceil_div(p.count, fill_threads * bytes_a_thread), fill_threads,
                static_cast<const unsigned long long*>(begin), order, p.count,
                reinterpret_cast<unsigned char*>(b.out.data));
}

}  // namespace

constinit const primitives::sort_variant sort_counting{"cuda.counting", plan_counting, run_counting};

}  // namespace sheaf::cuda
