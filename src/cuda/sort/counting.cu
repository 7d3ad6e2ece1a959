#include "cuda/block/scan.cuh"
#include "cuda/device/speeds.hpp"
#include "cuda/device/state.hpp"
#include "cuda/split/launch.cuh"
#include "primitives/sort/contract.hpp"

// cuda.counting: counting sort of rows of one byte that are their own key. A histogram counts how often each byte
// occurs, a scan of the counts tells where the run of each byte begins, and the runs are written; no row is moved.
namespace sheaf::cuda {
namespace {

using namespace primitives;

constexpr int byte_values = 256;
constexpr unsigned write_threads = 256;
constexpr std::uint32_t bytes_per_thread = 64;

/// All byte values in the order of the key.
using key_order = std::array<unsigned char, byte_values>;

key_order key_order_of(const key_layout& key) {
  key_order order;
  std::array<std::uint64_t, byte_values> number;
  for (int v = 0; v < byte_values; ++v) {
    order[v] = static_cast<unsigned char>(v);
    const auto row = static_cast<std::byte>(v);
    number[v] = key_of(&row, key).word[0];
  }
  std::sort(order.begin(), order.end(), [&](int a, int b) { return number[a] < number[b]; });
  return order;
}

/// Every block scans all counts in the order of the key, and writes its part of the runs.
__global__ void __launch_bounds__(write_threads)
    fill_runs(const unsigned long long* counts, const __grid_constant__ key_order order, std::uint64_t count,
              unsigned char* out) {
  static_assert(write_threads == byte_values);
  __shared__ __align__(16) unsigned long long warp_sums[byte_values / 32];
  __shared__ unsigned long long first[byte_values];  // where each run begins
  unsigned long long run_begin[1] = {counts[order[threadIdx.x]]};
  scan_bins<byte_values, byte_values>(run_begin, warp_sums);
  first[threadIdx.x] = run_begin[0];
  __syncthreads();
  // In each step a thread writes 4 bytes, and its warp 128 adjacent ones.
  for (std::uint32_t k = 0; k < bytes_per_thread / 4; ++k) {
    const std::uint64_t position =
        std::uint64_t{blockIdx.x} * write_threads * bytes_per_thread + (k * write_threads + threadIdx.x) * 4;
    if (position >= count) return;
    std::uint32_t run = 0;  // the last run that begins at or before position
    for (std::uint32_t step = byte_values / 2; step > 0; step /= 2) {
      if (first[run + step] <= position) run += step;
    }
    for (std::uint32_t b = 0; b < 4 && position + b < count; ++b) {
      while (run + 1 < byte_values && first[run + 1] <= position + b) ++run;
      out[position + b] = order[run];
    }
  }
}

plan::planned plan_counting(const sort_problem& problem, const plan::scope& scope) {
  const machine& machine = scope.machine;
  const bool is_own_key = problem.product == sort_product::records && problem.rows.record_bytes == 1 &&
                          problem.column_count == 0 && problem.key.field_count == 1 && problem.key.bits == 8;
  if (!is_own_key) return plan::rejected("counts rows of one byte that are their own key");
  if (problem.rows.in_stride_bytes != 1 || problem.rows.out_stride_bytes != 1)
    return plan::rejected("rows are not contiguous");
  plan::planned plan;
  plan.add("latency", machine.launch_seconds + 8 * machine.step_seconds);
  const double read = static_cast<double>(problem.count);
  // Bytes that are counted and written in the time in which the L2 cache moves one, fitted to an H100: 2^28 take 0.66
  // ms.
  constexpr double counted = 0.048;
  plan.add("counted and written",
           std::max(2 * read / machine.copy_bytes_per_second, instruction_seconds(read, counted, machine)));
  plan.scratch_bytes = byte_values * sizeof(unsigned long long);
  return plan;
}

void run_counting(const context& ctx, const sort_problem& problem, const plan::planned& plan,
                  const sort_buffers& buffers, std::byte* scratch) {
  const device_scope scope(ctx.device());
  auto* const counts = reinterpret_cast<unsigned long long*>(scratch);
  require(cudaMemsetAsync(counts, 0, byte_values * sizeof *counts, ctx.stream()), ctx);
  const key_arguments key = keys_of({.data = buffers.in.data, .stride = 1, .word_bytes = 1, .bits = {0, 8}});
  const std::uint64_t one_wave =
      state_of(ctx).resident_blocks(reinterpret_cast<const void*>(count_bins<byte_values>), histogram_threads, 0);
  const std::uint64_t blocks = std::min(one_wave, ceil_div(problem.count, std::uint64_t{histogram_threads} * 8));
  launch_blocks(ctx, count_bins<byte_values>, blocks, histogram_threads, key, problem.count, counts);
  launch_blocks(ctx, fill_runs, ceil_div(problem.count, write_threads * bytes_per_thread), write_threads,
                static_cast<const unsigned long long*>(counts), key_order_of(problem.key), problem.count,
                reinterpret_cast<unsigned char*>(buffers.out.data));
}

}  // namespace

extern constinit const sort_variant sort_counting{"cuda.counting", backend_kind::cuda, plan_counting, run_counting};

}  // namespace sheaf::cuda
