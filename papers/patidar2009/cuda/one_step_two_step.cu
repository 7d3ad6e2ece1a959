#include "cuda/device/speeds.hpp"
#include "cuda/split/cost.hpp"
#include "cuda/split/passes.hpp"
#include "cuda/split/scan_kernels.cuh"

// The basic split of Patidar and Narayanan 2009 as published (section 3.1, Algorithms 1 and 2), to compare with. Each
// block is one warp and takes a segment of the list. Segment histograms go to a table in column-major order; its prefix
// sums say where each segment's run of a category begins. Lanes increment counters in turn, in the order of the records
// (Appendix A). The one-step variant scatters records straight to the output. The two-step variant sorts each segment
// in global memory first and then copies it run by run. Both run by name only, on 8-byte records that hold their key of
// up to 8 bits.
namespace sheaf::cuda {
namespace {

using namespace primitives;

constexpr std::uint32_t segment_records = 1024;
constexpr std::uint32_t warp_lanes = 32;
constexpr std::uint32_t bins = narrow_bins;

std::uint64_t segments_of(const split_problem& p) { return ceil_div(p.count, segment_records); }

/// Step 1: the histogram of each segment, by atomics in shared memory, to table[bin][segment].
__global__ void __launch_bounds__(warp_lanes) count_segments(const uint2* in, std::uint64_t count, word_field field,
                                                             std::uint32_t* table, std::uint64_t segments) {
  __shared__ std::uint32_t histogram[bins];
  for (std::uint32_t b = threadIdx.x; b < bins; b += warp_lanes) histogram[b] = 0;
  __syncwarp();
  const std::uint64_t first = std::uint64_t{blockIdx.x} * segment_records;
  for (std::uint32_t s = threadIdx.x; s < segment_records && first + s < count; s += warp_lanes) {
    atomicAdd(&histogram[category_of(in[first + s], field)], 1U);
  }
  __syncwarp();
  for (std::uint32_t b = threadIdx.x; b < bins; b += warp_lanes) table[b * segments + blockIdx.x] = histogram[b];
}

/// Step 2: prefix sums of the table, one block a category. The totals of the categories are summed and scanned first.
constexpr std::uint32_t scan_threads = 256;

__global__ void __launch_bounds__(scan_threads)
    sum_rows(const std::uint32_t* table, std::uint64_t segments, unsigned long long* total) {
  __shared__ unsigned long long sums[scan_threads];
  unsigned long long sum = 0;
  for (std::uint64_t s = threadIdx.x; s < segments; s += scan_threads) sum += table[blockIdx.x * segments + s];
  sums[threadIdx.x] = sum;
  __syncthreads();
  for (std::uint32_t half = scan_threads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) total[blockIdx.x] = sums[0];
}

__global__ void __launch_bounds__(scan_threads)
    scan_rows(const std::uint32_t* table, std::uint64_t segments, const unsigned long long* bin_begin,
              std::uint64_t* run_begin) {
  __shared__ __align__(16) unsigned long long warp_sums[scan_threads / 32];
  unsigned long long begin = bin_begin[blockIdx.x];
  for (std::uint64_t first = 0; first < segments; first += scan_threads) {
    const std::uint64_t s = first + threadIdx.x;
    unsigned long long sum[1] = {s < segments ? table[blockIdx.x * segments + s] : 0};
    const unsigned long long own = sum[0];
    scan_bins<scan_threads, scan_threads>(sum, warp_sums);
    if (s < segments) run_begin[blockIdx.x * segments + s] = begin + sum[0];
    __shared__ unsigned long long last;
    if (threadIdx.x == scan_threads - 1) last = sum[0] + own;
    __syncthreads();
    begin += last;
    __syncthreads();
  }
}

/// The ordered atomic increment of Appendix A: the lanes of the block's only warp increment in turn.
__device__ __forceinline__ std::uint32_t increment_in_turn(std::uint32_t* counter, bool has_record) {
  std::uint32_t own = 0;
  for (std::uint32_t turn = 0; turn < warp_lanes; ++turn) {
    if (threadIdx.x == turn && has_record) own = (*counter)++;
    __syncwarp();
  }
  return own;
}

/// One-step variant, step 3: scatters each record to the output.
__global__ void __launch_bounds__(warp_lanes)
    scatter_segments(const uint2* in, std::uint64_t count, word_field field, const std::uint64_t* run_begin,
                     std::uint64_t segments, uint2* out) {
  __shared__ std::uint32_t next[bins];
  for (std::uint32_t b = threadIdx.x; b < bins; b += warp_lanes) next[b] = 0;
  __syncwarp();
  const std::uint64_t first = std::uint64_t{blockIdx.x} * segment_records;
  for (std::uint32_t s0 = 0; s0 < segment_records && first + s0 < count; s0 += warp_lanes) {
    const std::uint64_t i = first + s0 + threadIdx.x;
    const bool has_record = i < count;
    const uint2 word = has_record ? in[i] : uint2{};
    const std::uint32_t b = has_record ? category_of(word, field) : 0;
    const std::uint32_t rank = increment_in_turn(&next[b], has_record);
    if (has_record) out[run_begin[b * segments + blockIdx.x] + rank] = word;
  }
}

constexpr std::uint32_t bins_per_lane = bins / warp_lanes;

/// Where the runs of the lane's categories begin in the block's segment, once it is sorted.
__device__ __forceinline__ void find_runs(const std::uint32_t* table, std::uint64_t segments,
                                          std::uint32_t (&begin)[bins_per_lane]) {
  for (std::uint32_t j = 0; j < bins_per_lane; ++j) {
    begin[j] = table[(threadIdx.x * bins_per_lane + j) * segments + blockIdx.x];
  }
  __shared__ __align__(16) std::uint32_t warp_sums[1];
  scan_bins<bins, warp_lanes>(begin, warp_sums);
}

/// Two-step variant, step 3: sorts each segment in `local`, which is global memory.
__global__ void __launch_bounds__(warp_lanes)
    sort_segments(const uint2* in, std::uint64_t count, word_field field, const std::uint32_t* table,
                  std::uint64_t segments, uint2* local) {
  __shared__ std::uint32_t next[bins];
  std::uint32_t begin[bins_per_lane];
  find_runs(table, segments, begin);
  for (std::uint32_t j = 0; j < bins_per_lane; ++j) next[threadIdx.x * bins_per_lane + j] = begin[j];
  __syncwarp();
  const std::uint64_t first = std::uint64_t{blockIdx.x} * segment_records;
  for (std::uint32_t s0 = 0; s0 < segment_records && first + s0 < count; s0 += warp_lanes) {
    const std::uint64_t i = first + s0 + threadIdx.x;
    const bool has_record = i < count;
    const uint2 word = has_record ? in[i] : uint2{};
    const std::uint32_t rank = increment_in_turn(&next[has_record ? category_of(word, field) : 0], has_record);
    if (has_record) local[first + rank] = word;
  }
}

/// Two-step variant, step 4: copies the runs of each sorted segment to the output, adjacent lanes adjacent records.
__global__ void __launch_bounds__(warp_lanes)
    copy_segments(const uint2* local, std::uint64_t count, word_field field, const std::uint32_t* table,
                  const std::uint64_t* run_begin, std::uint64_t segments, uint2* out) {
  __shared__ std::uint64_t output_shift[bins];
  std::uint32_t begin[bins_per_lane];
  find_runs(table, segments, begin);
  for (std::uint32_t j = 0; j < bins_per_lane; ++j) {
    const std::uint32_t b = threadIdx.x * bins_per_lane + j;
    output_shift[b] = run_begin[b * segments + blockIdx.x] - begin[j];
  }
  __syncwarp();
  const std::uint64_t first = std::uint64_t{blockIdx.x} * segment_records;
  for (std::uint32_t s = threadIdx.x; s < segment_records && first + s < count; s += warp_lanes) {
    const uint2 word = local[first + s];
    out[output_shift[category_of(word, field)] + s] = word;
  }
}

// ---- plans and runs

/// Where the parts of the scratch begin, in bytes; the totals begin at 0.
struct scratch_layout {
  std::uint64_t bin_begin;
  std::uint64_t run_begin;
  std::uint64_t table;
  std::uint64_t local;
  std::uint64_t bytes;  ///< size of the whole scratch
};

scratch_layout layout_of(const split_problem& problem, bool two_steps) {
  scratch_layout layout{};
  const std::uint64_t entries = bins * segments_of(problem);
  layout.bin_begin = bins * sizeof(std::uint64_t);
  layout.run_begin = 2 * layout.bin_begin;
  layout.table = layout.run_begin + entries * sizeof(std::uint64_t);
  layout.local = layout.table + entries * sizeof(std::uint32_t);
  layout.bytes = layout.local + (two_steps ? problem.count * sizeof(uint2) : 0);
  return layout;
}

template <bool TwoSteps>
plan::planned plan_paper(const split_problem& problem, const plan::scope& scope) {
  const machine& machine = scope.machine;
  if (problem.product != split_product::records || problem.has_separate_key() || problem.word_bytes != 8 ||
      problem.record_bytes != 8 || problem.in_stride_bytes != 8 || problem.out_stride_bytes != 8 ||
      problem.categories > bins) {
    return plan::rejected("splits contiguous 8-byte records by up to 8 of their own bits");
  }
  if (segments_of(problem) >= ~std::uint32_t{0}) return plan::rejected("handles at most 2^32 segments");
  // While lanes increment in turn, one lane of 32 works.
  constexpr double turns = 0.00138;  // records for a byte of the L2 cache
  plan::planned plan = stable_pass_cost(problem, machine);
  plan.add("turns", instruction_seconds(static_cast<double>(problem.count), turns, machine));
  if (TwoSteps) plan.add("local list", static_cast<double>(problem.count) * 16 / machine.copy_bytes_per_second);
  const scratch_layout layout = layout_of(problem, TwoSteps);
  plan.decided.set(layout);
  plan.scratch_bytes = layout.bytes;
  plan.by_name_only = true;
  return plan;
}

template <bool TwoSteps>
void run_paper(const context& ctx, const split_problem& problem, const plan::planned& plan,
               const split_buffers& buffers, std::byte* scratch) {
  const device_scope current_device(ctx.device());
  if (problem.count == 0) {
    if (buffers.offsets == nullptr) return;
    require(cudaMemsetAsync(buffers.offsets, 0, (problem.categories + 1) * sizeof(std::uint64_t), ctx.stream()), ctx);
    return;
  }
  const auto layout = plan.decided.get<scratch_layout>();
  auto* const total = reinterpret_cast<unsigned long long*>(scratch);
  auto* const bin_begin = reinterpret_cast<unsigned long long*>(scratch + layout.bin_begin);
  auto* const run_begin = reinterpret_cast<std::uint64_t*>(scratch + layout.run_begin);
  auto* const table = reinterpret_cast<std::uint32_t*>(scratch + layout.table);
  auto* const local = reinterpret_cast<uint2*>(scratch + layout.local);
  const auto* const in = reinterpret_cast<const uint2*>(buffers.in.data);
  auto* const out = reinterpret_cast<uint2*>(buffers.out.data);
  const word_field field = word_field_of(problem.bits, 8);
  const std::uint64_t segments = segments_of(problem);
  launch_blocks(ctx, count_segments, segments, warp_lanes, in, problem.count, field, table, segments);
  launch_blocks(ctx, sum_rows, bins, scan_threads, static_cast<const std::uint32_t*>(table), segments, total);
  launch_blocks(ctx, scan_totals<bins>, 1, column_scan_threads, static_cast<const unsigned long long*>(total),
                bin_begin, buffers.offsets, problem.categories);
  launch_blocks(ctx, scan_rows, bins, scan_threads, static_cast<const std::uint32_t*>(table), segments,
                static_cast<const unsigned long long*>(bin_begin), run_begin);
  if (!TwoSteps) {
    launch_blocks(ctx, scatter_segments, segments, warp_lanes, in, problem.count, field,
                  static_cast<const std::uint64_t*>(run_begin), segments, out);
    return;
  }
  launch_blocks(ctx, sort_segments, segments, warp_lanes, in, problem.count, field,
                static_cast<const std::uint32_t*>(table), segments, local);
  launch_blocks(ctx, copy_segments, segments, warp_lanes, static_cast<const uint2*>(local), problem.count, field,
                static_cast<const std::uint32_t*>(table), static_cast<const std::uint64_t*>(run_begin), segments, out);
}

}  // namespace

extern constinit const split_variant split_one_step{"cuda.one_step", backend_kind::cuda, plan_paper<false>,
                                                    run_paper<false>};
extern constinit const split_variant split_two_step{"cuda.two_step", backend_kind::cuda, plan_paper<true>,
                                                    run_paper<true>};

}  // namespace sheaf::cuda
