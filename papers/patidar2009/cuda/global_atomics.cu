#include "cuda/split/cost.hpp"
#include "cuda/split/steps.hpp"
#include "papers/patidar2009/basic_split.hpp"
#include "papers/patidar2009/cuda/segments.cuh"

// cuda.global_atomics: Algorithm 1 with one counter for each category in global memory, which section 3 names as a
// rival: beside the lists it needs memory for the counters alone, and pays for clashes and for slow accesses. Records
// of a category come in any order. To compare with, by name only.
namespace sheaf::cuda {
namespace {

using namespace primitives;
using namespace papers::patidar2009;

static_assert(most_categories == wide_bins);

/// Step 1: counts the categories.
__global__ void __launch_bounds__(block_threads)
    count_in_global_memory(const __grid_constant__ split_records list, unsigned long long* total) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i >= list.count) return;
  with_key_word(list.key, [&](auto load) { atomicAdd(total + category_at(load, i, 0, 1), 1ULL); });
}

/// Step 3: the counter says where a record goes.
template <class Word>
__global__ void __launch_bounds__(block_threads)
    scatter_by_global_counters(const __grid_constant__ split_records list, unsigned long long* next) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i >= list.count) return;
  with_key_word(list.key, [&](auto load) {
    const std::uint64_t to = atomicAdd(next + category_at(load, i, 0, 1), 1ULL);
    copy_record<Word>(list.out + to * list.out_stride, list.in + i * list.in_stride, list.words);
  });
}

plan::planned plan_global_atomics(const split_problem& problem, const plan::scope& scope) {
  if (const char* reason = basic_split_rejection(problem, {.is_ordered = false, .segment_records = block_threads}))
    return plan::rejected(reason);
  // Atomics at one counter take turns in the L2 cache: where there are few counters, each lasts as long as the H200
  // copies some 1000 bytes (2^24 records to 2 to 128 categories: 7 to 14 ms).
  constexpr double copied_bytes_of_atomic = 1000;
  plan::planned plan = stable_pass_cost(problem, scope.machine);
  plan.add("atomics",
           2 * static_cast<double>(problem.count) * copied_bytes_of_atomic / scope.machine.copy_bytes_per_second);
  plan.scratch_bytes = 2 * most_categories * sizeof(std::uint64_t);
  plan.by_name_only = true;
  return plan;
}

void run_global_atomics(const context& ctx, const split_problem& problem, const plan::planned&,
                        const split_buffers& buffers, std::byte* scratch) {
  const device_scope current_device(ctx.device());
  if (split_empty_list(ctx, problem, buffers)) return;
  auto* const total = reinterpret_cast<unsigned long long*>(scratch);
  unsigned long long* const next = total + most_categories;
  const split_records list =
      records_of(problem, buffers.in.data, problem.in_stride_bytes, buffers.out.data, problem.out_stride_bytes);
  const std::uint64_t blocks = ceil_div(problem.count, std::uint64_t{block_threads});
  require(cudaMemsetAsync(total, 0, most_categories * sizeof(std::uint64_t), ctx.stream()), ctx);
  launch(ctx, count_in_global_memory, blocks, list, total);
  launch_blocks(ctx, scan_totals<wide_bins>, 1, column_scan_threads, static_cast<const unsigned long long*>(total),
                next, buffers.offsets, problem.categories);
  with_word(problem.word_bytes,
            [&](auto word) { launch(ctx, scatter_by_global_counters<decltype(word)>, blocks, list, next); });
}

}  // namespace

extern constinit const split_variant split_global_atomics{"cuda.global_atomics", backend_kind::cuda,
                                                          plan_global_atomics, run_global_atomics};

}  // namespace sheaf::cuda
