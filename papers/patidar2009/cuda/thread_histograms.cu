#include "cuda/split/cost.hpp"
#include "cuda/split/steps.hpp"
#include "papers/patidar2009/basic_split.hpp"
#include "papers/patidar2009/cuda/segments.cuh"

// cuda.thread_histograms: the split of He et al. 2008, a rival in sections 2 and 3: each thread has a histogram of its
// own in shared memory, so that none clash, and splits a segment of its own. Shared memory bounds the categories: 64.
// To compare with, by name only.
namespace sheaf::cuda {
namespace {

using namespace primitives;
using namespace papers::patidar2009;

constexpr std::uint32_t histogram_categories = 64;
constexpr std::uint32_t histogram_block_threads = 64;  // 16 KB of counters, all that devices of that time had
constexpr std::uint32_t thread_records = 128;
constexpr basic_split_form form_of_threads{.has_two_steps = false, .segment_records = thread_records};

/// A thread's counters: those of a category side by side, so that the threads of a warp never meet in a bank. They take
/// histogram_block_threads counters of dynamic shared memory for each category.
struct thread_counters {
  std::uint32_t* counter;

  __device__ __forceinline__ std::uint32_t& of(std::uint32_t category) {
    return counter[category * histogram_block_threads + threadIdx.x];
  }
};

/// Step 1: each thread counts the categories of its records.
__global__ void __launch_bounds__(histogram_block_threads)
    count_by_threads(const __grid_constant__ split_records list, std::uint64_t segments, std::uint32_t* run_count) {
  extern __shared__ std::uint32_t shared[];
  thread_counters counters{shared};
  const std::uint64_t segment = std::uint64_t{blockIdx.x} * histogram_block_threads + threadIdx.x;
  if (segment >= segments) return;
  for (std::uint32_t c = 0; c < list.categories; ++c) counters.of(c) = 0;
  const std::uint64_t first = segment * thread_records;
  const auto records = static_cast<std::uint32_t>(min(list.count - first, std::uint64_t{thread_records}));
  with_key_word(list.key, [&](auto load) {
    for (std::uint32_t i = 0; i < records; ++i) ++counters.of(category_at(load, first, i, records));
  });
  for (std::uint32_t c = 0; c < list.categories; ++c) run_count[c * segments + segment] = counters.of(c);
}

/// Step 3: each thread scatters its records.
template <class Word>
__global__ void __launch_bounds__(histogram_block_threads)
    scatter_by_threads(const __grid_constant__ split_records list, std::uint64_t segments,
                       const std::uint64_t* run_begin) {
  extern __shared__ std::uint32_t shared[];
  thread_counters counters{shared};
  const std::uint64_t segment = std::uint64_t{blockIdx.x} * histogram_block_threads + threadIdx.x;
  if (segment >= segments) return;
  for (std::uint32_t c = 0; c < list.categories; ++c) counters.of(c) = 0;
  const std::uint64_t first = segment * thread_records;
  const auto records = static_cast<std::uint32_t>(min(list.count - first, std::uint64_t{thread_records}));
  with_key_word(list.key, [&](auto load) {
    for (std::uint32_t i = 0; i < records; ++i) {
      const std::uint32_t c = category_at(load, first, i, records);
      const std::uint64_t to = run_begin[c * segments + segment] + counters.of(c)++;
      copy_record<Word>(list.out + to * list.out_stride, list.in + (first + i) * list.in_stride, list.words);
    }
  });
}

plan::planned plan_thread_histograms(const split_problem& problem, const plan::scope& scope) {
  if (problem.categories > histogram_categories) return plan::rejected("splits into at most 64 categories");
  if (const char* reason = basic_split_rejection(problem, form_of_threads)) return plan::rejected(reason);
  // Neighbouring threads read and write records that lie far apart: a sector of 32 bytes for each.
  const auto count = static_cast<double>(problem.count);
  plan::planned plan = stable_pass_cost(problem, scope.machine);
  plan.add("sectors", count * 3 * 32 / scope.machine.copy_bytes_per_second);
  plan.scratch_bytes = basic_split_scratch(problem, form_of_threads).bytes;
  plan.by_name_only = true;
  return plan;
}

void run_thread_histograms(const context& ctx, const split_problem& problem, const plan::planned&,
                           const split_buffers& buffers, std::byte* scratch) {
  const device_scope current_device(ctx.device());
  if (split_empty_list(ctx, problem, buffers)) return;
  const basic_split_scratch layout(problem, form_of_threads);
  const split_records list =
      records_of(problem, buffers.in.data, problem.in_stride_bytes, buffers.out.data, problem.out_stride_bytes);
  const std::uint64_t segments = segments_of(problem.count, thread_records);
  const std::uint64_t blocks = ceil_div(segments, std::uint64_t{histogram_block_threads});
  auto* const run_count = reinterpret_cast<std::uint32_t*>(scratch + layout.run_count);
  auto* const run_begin = reinterpret_cast<std::uint64_t*>(scratch + layout.run_begin);
  const std::size_t shared_bytes = list.categories * histogram_block_threads * sizeof(std::uint32_t);
  launch_shared(ctx, count_by_threads, blocks, histogram_block_threads, shared_bytes, list, segments, run_count);
  scan_table(ctx, run_count, list.categories, segments, problem.count,
             reinterpret_cast<std::uint64_t*>(scratch + layout.tile_sums), buffers.offsets, run_begin);
  with_word(problem.word_bytes, [&](auto word) {
    launch_shared(ctx, scatter_by_threads<decltype(word)>, blocks, histogram_block_threads, shared_bytes, list,
                  segments, static_cast<const std::uint64_t*>(run_begin));
  });
}

}  // namespace

extern constinit const split_variant split_thread_histograms{"cuda.thread_histograms", backend_kind::cuda,
                                                             plan_thread_histograms, run_thread_histograms};

}  // namespace sheaf::cuda
