#include "cuda/split/cost.hpp"
#include "cuda/split/steps.hpp"
#include "papers/patidar2009/basic_split.hpp"
#include "papers/patidar2009/cuda/segments.cuh"

// cuda.one_bit: binary splits (Blelloch 1990; Harris et al. 2007), a rival in section 2: a stable pass for each bit of
// the category from the lowest up, by a prefix sum of the bits. To compare with, by name only.
namespace sheaf::cuda {
namespace {

using namespace primitives;
using namespace papers::patidar2009;

static_assert(most_categories == wide_bins);

constexpr std::uint32_t bit_threads = 256;
constexpr basic_split_form form_of_bits{.has_two_steps = false, .segment_records = bit_threads};

/// Records of the block whose bit is 0, and of those the ones of lower threads.
struct zeros {
  std::uint32_t all;
  std::uint32_t before;
};

__device__ __forceinline__ zeros count_zeros(bool is_zero) {
  __shared__ std::uint32_t warp_zeros[bit_threads / 32];
  const std::uint32_t zero_lanes = __ballot_sync(~0U, is_zero);
  const std::uint32_t lane = threadIdx.x % 32;
  if (lane == 0) warp_zeros[threadIdx.x / 32] = __popc(zero_lanes);
  __syncthreads();
  zeros found{0, static_cast<std::uint32_t>(__popc(zero_lanes & ((1U << lane) - 1)))};
#pragma unroll
  for (std::uint32_t w = 0; w < bit_threads / 32; ++w) {
    if (w < threadIdx.x / 32) found.before += warp_zeros[w];
    found.all += warp_zeros[w];
  }
  return found;
}

__device__ __forceinline__ bool is_one(const split_records& list, std::uint64_t i) {
  bool one = false;
  with_key_word(list.key, [&](auto load) { one = category_at(load, i, 0, 1) != 0; });
  return one;
}

/// Counts the zeros and ones of each block's records.
__global__ void __launch_bounds__(bit_threads)
    count_bits(const __grid_constant__ split_records list, std::uint64_t segments, std::uint32_t* run_count) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * bit_threads + threadIdx.x;
  const std::uint32_t all = count_zeros(i < list.count && !is_one(list, i)).all;
  if (threadIdx.x != 0) return;
  const std::uint64_t records = min(list.count - i, std::uint64_t{bit_threads});
  run_count[blockIdx.x] = all;
  run_count[segments + blockIdx.x] = static_cast<std::uint32_t>(records) - all;
}

/// Moves each record behind the zeros, or the ones, that come before it.
template <class Word>
__global__ void __launch_bounds__(bit_threads)
    scatter_by_bit(const __grid_constant__ split_records list, std::uint64_t segments, const std::uint64_t* run_begin) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * bit_threads + threadIdx.x;
  const bool has_record = i < list.count;
  const bool one = has_record && is_one(list, i);
  const zeros zero = count_zeros(has_record && !one);
  if (!has_record) return;
  const std::uint64_t to =
      one ? run_begin[segments + blockIdx.x] + threadIdx.x - zero.before : run_begin[blockIdx.x] + zero.before;
  copy_record<Word>(list.out + to * list.out_stride, list.in + i * list.in_stride, list.words);
}

/// One pass: the problem of two categories, without offsets, between two arrays of the call.
split_problem problem_of_bit(const split_problem& all, std::uint32_t bit) {
  split_problem one = all;
  one.categories = 2;
  const bool from_left = all.bits.order == bit_order::from_left;
  one.bits = {all.bits.first + (from_left ? all.bits.count - 1 - bit : bit), 1, all.bits.order};
  return one;
}

/// The basic split's tables for two categories, the records of all categories and where these begin, and the array
/// beside the output, without gaps.
struct one_bit_scratch {
  basic_split_scratch tables;
  std::uint64_t totals;
  std::uint64_t other;
  std::uint64_t bytes;

  explicit one_bit_scratch(const split_problem& p)
      : tables(problem_of_bit(p, 0), form_of_bits),
        totals(core::scratch_aligned(tables.bytes)),
        other(totals + 2 * most_categories * sizeof(std::uint64_t)),
        bytes(other + (p.bits.count > 1 ? p.count * p.record_bytes : 0)) {}
};

plan::planned plan_one_bit(const split_problem& problem, const plan::scope& scope) {
  if (const char* reason = basic_split_rejection(problem, form_of_bits)) return plan::rejected(reason);
  const plan::planned pass = stable_pass_cost(problem_of_bit(problem, 0), scope.machine);
  plan::planned plan;
  plan.add("passes", problem.bits.count * pass.seconds);
  plan.scratch_bytes = one_bit_scratch(problem).bytes;
  plan.by_name_only = true;
  return plan;
}

void run_one_bit(const context& ctx, const split_problem& problem, const plan::planned&, const split_buffers& buffers,
                 std::byte* scratch) {
  const device_scope current_device(ctx.device());
  if (split_empty_list(ctx, problem, buffers)) return;
  const one_bit_scratch layout(problem);
  const std::uint64_t segments = segments_of(problem.count, bit_threads);
  auto* const tile_sums = reinterpret_cast<std::uint64_t*>(scratch + layout.tables.tile_sums);
  auto* const run_count = reinterpret_cast<std::uint32_t*>(scratch + layout.tables.run_count);
  auto* const run_begin = reinterpret_cast<std::uint64_t*>(scratch + layout.tables.run_begin);
  if (buffers.offsets != nullptr) {  // of all bits together
    auto* const totals = reinterpret_cast<unsigned long long*>(scratch + layout.totals);
    require(cudaMemsetAsync(totals, 0, wide_bins * sizeof(std::uint64_t), ctx.stream()), ctx);
    const key_arguments key = keys_of_records(problem, buffers.in.data, problem.in_stride_bytes);
    launch_blocks(ctx, count_bins<wide_bins>, std::min<std::uint64_t>(segments, 1024), histogram_threads, key,
                  problem.count, totals);
    launch_blocks(ctx, scan_totals<wide_bins>, 1, column_scan_threads, static_cast<const unsigned long long*>(totals),
                  totals + wide_bins, buffers.offsets, problem.categories);
  }
  const std::byte* from = buffers.in.data;
  std::uint64_t from_stride = problem.in_stride_bytes;
  for (std::uint32_t bit = 0; bit < problem.bits.count; ++bit) {
    const bool to_out = (problem.bits.count - bit) % 2 == 1;  // the last pass writes the output
    std::byte* const to = to_out ? buffers.out.data : scratch + layout.other;
    const std::uint64_t to_stride = to_out ? problem.out_stride_bytes : problem.record_bytes;
    const split_records list = records_of(problem_of_bit(problem, bit), from, from_stride, to, to_stride);
    launch_blocks(ctx, count_bits, segments, bit_threads, list, segments, run_count);
    scan_table(ctx, run_count, 2, segments, problem.count, tile_sums, nullptr, run_begin);
    with_word(problem.word_bytes, [&](auto word) {
      launch_blocks(ctx, scatter_by_bit<decltype(word)>, segments, bit_threads, list, segments,
                    static_cast<const std::uint64_t*>(run_begin));
    });
    from = to;
    from_stride = to_stride;
  }
}

}  // namespace

extern constinit const split_variant split_one_bit{"cuda.one_bit", backend_kind::cuda, plan_one_bit, run_one_bit};

}  // namespace sheaf::cuda
