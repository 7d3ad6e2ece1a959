#include "papers/patidar2009/basic_split.hpp"

#include "cuda/device/speeds.hpp"
#include "cuda/split/cost.hpp"
#include "cuda/split/steps.hpp"
#include "papers/patidar2009/cuda/segments.cuh"

// The basic split on CUDA. A block takes a segment of the list. Where increments are ordered it is one warp, whose
// lanes increment counters in turn, in the order of the records (Appendix A); else it has 256 threads, which increment
// them by the hardware's atomics in shared memory, in any order.
namespace sheaf::cuda {

using namespace primitives;
using namespace papers::patidar2009;

namespace {

struct segment_arguments {
  split_records records;
  std::uint64_t segments;
  std::uint32_t segment_records;
  std::uint32_t* run_count;
  std::uint32_t* local_scan;  ///< null with one step
  std::uint64_t* run_begin;
  std::byte* local;
  std::uint64_t local_stride;
};

/// Calls work(segment, first record, records) for each segment of the block, which takes every gridDim.x-th.
template <class Work>
__device__ __forceinline__ void for_each_segment(const segment_arguments& args, Work work) {
  for (std::uint64_t segment = blockIdx.x; segment < args.segments; segment += gridDim.x) {
    const std::uint64_t first = segment * args.segment_records;
    const std::uint64_t left = args.records.count - first;
    work(segment, first, static_cast<std::uint32_t>(min(left, std::uint64_t{args.segment_records})));
    __syncthreads();  // before shared memory is used for the next segment
  }
}

/// Replaces the counters by the sum of those before each.
__device__ __forceinline__ void scan_counters(std::uint32_t* counter, std::uint32_t categories) {
  __shared__ std::uint32_t sums[segment_threads];
  const std::uint32_t per_thread = (categories + blockDim.x - 1) / blockDim.x;
  const std::uint32_t begin = min(threadIdx.x * per_thread, categories);
  const std::uint32_t end = min(begin + per_thread, categories);
  std::uint32_t sum = 0;
  for (std::uint32_t c = begin; c < end; ++c) sum += counter[c];
  sums[threadIdx.x] = sum;
  __syncthreads();
  for (std::uint32_t distance = 1; distance < blockDim.x; distance *= 2) {
    const std::uint32_t lower = threadIdx.x >= distance ? sums[threadIdx.x - distance] : 0;
    __syncthreads();
    sums[threadIdx.x] += lower;
    __syncthreads();
  }
  std::uint32_t before = sums[threadIdx.x] - sum;
  for (std::uint32_t c = begin; c < end; ++c) {
    const std::uint32_t count = counter[c];
    counter[c] = before;
    before += count;
  }
}

/// Step 1: counts the categories of each segment, by atomics in shared memory, and scans these counts. Shared memory:
/// a counter of 4 bytes for each category.
__global__ void __launch_bounds__(segment_threads) count_segments(const __grid_constant__ segment_arguments args) {
  extern __shared__ std::uint32_t counter[];
  const std::uint32_t categories = args.records.categories;
  for_each_segment(args, [&](std::uint64_t segment, std::uint64_t first, std::uint32_t records) {
    for (std::uint32_t c = threadIdx.x; c < categories; c += blockDim.x) counter[c] = 0;
    __syncthreads();
    with_key_word(args.records.key, [&](auto load) {
      for (std::uint32_t i = threadIdx.x; i < records; i += blockDim.x) {
        atomicAdd(&counter[category_at(load, first, i, records)], 1U);
      }
    });
    __syncthreads();
    for (std::uint32_t c = threadIdx.x; c < categories; c += blockDim.x) {
      args.run_count[c * args.segments + segment] = counter[c];
    }
    if (args.local_scan == nullptr) return;
    __syncthreads();
    scan_counters(counter, categories);
    __syncthreads();
    for (std::uint32_t c = threadIdx.x; c < categories; c += blockDim.x) {
      args.local_scan[c * args.segments + segment] = counter[c];
    }
  });
}

/// The increment of a counter that returns its value before. The ordered one is Appendix A's: the lanes of the block's
/// only warp take turns.
template <bool Ordered, class Counter>
__device__ __forceinline__ Counter increment(Counter* counter, bool has_record) {
  if constexpr (!Ordered) return has_record ? atomicAdd(counter, Counter{1}) : 0;
  Counter own = 0;
  for (std::uint32_t turn = 0; turn < warp_lanes; ++turn) {
    if (threadIdx.x == turn && has_record) own = (*counter)++;
    __syncwarp();
  }
  return own;
}

/// Counters of step 3: of places in the segment, or in the output.
template <bool TwoSteps>
using place_counter = std::conditional_t<TwoSteps, std::uint32_t, unsigned long long>;

/// Step 3: with two steps splits each segment in global memory, with one scatters its records to the output. Shared
/// memory: a place_counter for each category, which begins with the prefix sum of the category.
template <class Word, bool TwoSteps, bool Ordered>
__global__ void __launch_bounds__(Ordered ? warp_lanes : segment_threads)
    move_records(const __grid_constant__ segment_arguments args) {
  extern __shared__ unsigned long long shared[];
  auto* const next = reinterpret_cast<place_counter<TwoSteps>*>(shared);
  const split_records& list = args.records;
  for_each_segment(args, [&](std::uint64_t segment, std::uint64_t first, std::uint32_t records) {
    for (std::uint32_t c = threadIdx.x; c < list.categories; c += blockDim.x) {
      const std::uint64_t run = c * args.segments + segment;
      next[c] = TwoSteps ? args.local_scan[run] : args.run_begin[run];
    }
    __syncthreads();
    with_key_word(list.key, [&](auto load) {
      for (std::uint32_t begin = 0; begin < records; begin += blockDim.x) {
        const std::uint32_t i = begin + threadIdx.x;
        const bool has_record = i < records;
        const std::uint32_t c = category_at(load, first, i, records);
        const std::uint64_t place = increment<Ordered>(&next[c], has_record);
        if (!has_record) continue;
        const std::byte* const from = list.in + (first + i) * list.in_stride;
        std::byte* const to =
            TwoSteps ? args.local + (first + place) * args.local_stride : list.out + place * list.out_stride;
        copy_record<Word>(to, from, list.words);
      }
    });
  });
}

/// Step 4: copies the runs of split segments to the output, adjacent threads adjacent records. Shared memory: for each
/// category 8 bytes, from a record's place in the local list to that in the output.
template <class Word>
__global__ void __launch_bounds__(segment_threads) copy_runs(const __grid_constant__ segment_arguments args) {
  extern __shared__ unsigned long long shift[];
  const split_records& list = args.records;
  for_each_segment(args, [&](std::uint64_t segment, std::uint64_t first, std::uint32_t records) {
    for (std::uint32_t c = threadIdx.x; c < list.categories; c += blockDim.x) {
      const std::uint64_t run = c * args.segments + segment;
      shift[c] = args.run_begin[run] - args.local_scan[run];
    }
    __syncthreads();
    with_key_word(list.key, [&](auto load) {
      for (std::uint32_t i = threadIdx.x; i < records; i += blockDim.x) {
        const std::uint64_t to = shift[category_at(load, first, i, records)] + i;
        copy_record<Word>(list.out + to * list.out_stride, args.local + (first + i) * args.local_stride, list.words);
      }
    });
  });
}

template <class Word>
void launch_moves(const context& ctx, const basic_split_form& form, std::uint64_t blocks,
                  const segment_arguments& args) {
  const auto counters = [&](std::size_t bytes_each) { return args.records.categories * bytes_each; };
  if (form.is_ordered && form.has_two_steps) {
    launch_shared(ctx, move_records<Word, true, true>, blocks, warp_lanes, counters(sizeof(std::uint32_t)), args);
  } else if (form.is_ordered) {
    launch_shared(ctx, move_records<Word, false, true>, blocks, warp_lanes, counters(sizeof(std::uint64_t)), args);
  } else if (form.has_two_steps) {
    launch_shared(ctx, move_records<Word, true, false>, blocks, segment_threads, counters(sizeof(std::uint32_t)), args);
  } else {
    launch_shared(ctx, move_records<Word, false, false>, blocks, segment_threads, counters(sizeof(std::uint64_t)),
                  args);
  }
}

}  // namespace

plan::planned plan_basic_split(const split_problem& problem, const basic_split_form& form, const machine& machine) {
  if (const char* reason = basic_split_rejection(problem, form)) return plan::rejected(reason);
  // While lanes increment in turn, one lane of 32 works.
  constexpr double turns = 0.00138;  // records for a byte of the L2 cache
  plan::planned plan = stable_pass_cost(problem, machine);
  if (form.is_ordered) plan.add("turns", instruction_seconds(static_cast<double>(problem.count), turns, machine));
  if (form.has_two_steps) {
    plan.add("local list", 2 * static_cast<double>(problem.count) * static_cast<double>(problem.record_bytes) /
                               machine.copy_bytes_per_second);
  }
  plan.scratch_bytes = basic_split_scratch(problem, form).bytes;
  plan.by_name_only = true;
  return plan;
}

void run_basic_split(const context& ctx, const split_problem& problem, const basic_split_form& form,
                     const split_buffers& buffers, std::byte* scratch, const split_listener* listener) {
  const device_scope current_device(ctx.device());
  if (split_empty_list(ctx, problem, buffers)) return;
  const auto done = [listener](split_step step) {
    if (listener != nullptr) listener->step_done(listener->state, step);
  };
  const basic_split_scratch layout(problem, form);
  segment_arguments args{
      .records =
          records_of(problem, buffers.in.data, problem.in_stride_bytes, buffers.out.data, problem.out_stride_bytes),
      .segments = segments_of(problem.count, form.segment_records),
      .segment_records = form.segment_records,
      .run_count = reinterpret_cast<std::uint32_t*>(scratch + layout.run_count),
      .local_scan = form.has_two_steps ? reinterpret_cast<std::uint32_t*>(scratch + layout.local_scan) : nullptr,
      .run_begin = reinterpret_cast<std::uint64_t*>(scratch + layout.run_begin),
      .local = scratch + layout.local,
      .local_stride = problem.record_bytes};
  const std::uint64_t blocks = form.blocks == 0 ? args.segments : std::min<std::uint64_t>(form.blocks, args.segments);
  const std::uint32_t threads = form.is_ordered ? warp_lanes : segment_threads;
  launch_shared(ctx, count_segments, blocks, threads, problem.categories * sizeof(std::uint32_t), args);
  done(split_step::count);
  scan_table(ctx, args.run_count, args.records.categories, args.segments, problem.count,
             reinterpret_cast<std::uint64_t*>(scratch + layout.tile_sums), buffers.offsets, args.run_begin,
             form.blocks);
  done(split_step::scan);
  with_word(problem.word_bytes, [&](auto word) { launch_moves<decltype(word)>(ctx, form, blocks, args); });
  done(split_step::local_split);
  if (!form.has_two_steps) return;
  args.records = records_of(problem, args.local, args.local_stride, buffers.out.data, problem.out_stride_bytes);
  with_word(problem.word_bytes, [&](auto word) {
    launch_shared(ctx, copy_runs<decltype(word)>, blocks, threads, problem.categories * sizeof(std::uint64_t), args);
  });
  done(split_step::scatter);
}

}  // namespace sheaf::cuda
