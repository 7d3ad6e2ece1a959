#include "core/scratch_offsets.hpp"
#include "cuda/device/speeds.hpp"
#include "cuda/movement/buckets/scatter_passes.cuh"
#include "cuda/movement/copy/words.cuh"
#include "cuda/movement/memory_cost.hpp"

// duplicates::last by propagation blocking: the passes of cuda.bucketed with records that carry a tag, one more than
// their position in the list. The kernel that puts a bucket in order keeps the highest tag of each place. Records that
// find their buckets full, because the list is skewed, are compared with these winners afterwards, as cuda.last_writer
// compares all of them. A list in order, which the device finds out, goes through the winner table alone.
namespace sheaf::cuda {
namespace {

using namespace primitives;

/// Arrays beside those of the passes, as offsets in scratch.
struct bucketed_last_decision {
  bucketing cut;
  bucket_layout buckets;
  std::uint64_t winners;         ///< tags, one for each record of the output
  std::uint64_t overflow_tags;   ///< one for each record of the list
  std::uint64_t overflow_count;  ///< a word
  std::uint64_t verdict;         ///< copies of that on the list's order

  void tell(plan::told& to) const { cut.tell(to); }
};

constexpr std::uint32_t tagged_bytes(std::uint32_t record_bytes) { return record_bytes == 4 ? 8 : 16; }

plan::planned plan_bucketed_last(const scatter_problem& problem, const plan::scope& scope) {
  const machine& machine = scope.machine;
  if (problem.duplicates != duplicates::last) return plan::rejected("runs only where the last writer has to win");
  if (const char* reason = words_rejection(problem)) return plan::rejected(reason);
  if (problem.record_bytes != 4 && problem.record_bytes != 8) return plan::rejected("records do not have 4 or 8 bytes");
  const std::uint32_t word_bytes = tagged_bytes(problem.record_bytes);
  const bucketing bucketing = bucketing_of(problem, word_bytes);
  core::scratch_offsets arrays;
  bucketed_last_decision decided{};
  decided.cut = bucketing;
  decided.buckets = layout_of(problem, bucketing, word_bytes, arrays);
  if (const char* reason = bucketing_rejection(problem, bucketing, decided.buckets, word_bytes, scope))
    return plan::rejected(reason);
  decided.winners = arrays.take(problem.indexed_count * sizeof(std::uint32_t));
  decided.overflow_tags = arrays.take(problem.count * sizeof(std::uint32_t));
  decided.overflow_count = arrays.take(sizeof(std::uint32_t));
  decided.verdict = arrays.take(order_verdict::copies * order_verdict::copy_words * sizeof(unsigned long long));
  plan::planned plan;
  plan.decided.set(decided);
  plan.scratch_bytes = arrays.bytes();
  const auto count = static_cast<double>(problem.count);
  const auto width = static_cast<double>(word_bytes);
  const double in = count * static_cast<double>(problem.sequential_stride_bytes + bytes(problem.index));
  // Rates of the passes and of the last kernel, as in cuda.bucketed; its last kernel reads buckets twice.
  const double pass_rate = machine.copy_bytes_per_second * (word_bytes == 16 ? 0.78 : 0.67);
  const double write_rate = machine.copy_bytes_per_second * 0.6;
  plan.add("latency", machine.launch_seconds + (18 + 2 * bucketing.passes) * machine.step_seconds);
  if (bucketing.passes == 2) {
    plan.add("coarse buckets", (in + count * (width + 4)) / pass_rate);
    plan.add("fine buckets", count * (2 * width + 4 + 2) / pass_rate);
  } else {
    plan.add("fine buckets", (in + count * (width + 2)) / pass_rate);
  }
  const double written =
      std::min(count, static_cast<double>(problem.indexed_count)) * static_cast<double>(problem.record_bytes);
  plan.add("bucket writes", (count * (width + 4) + written) / (write_rate * busy_share(bucketing, machine)));
  plan.by_name_only = problem.count < sample_window || (problem.pattern.shape != access_pattern::kind::unknown &&
                                                        problem.pattern.shape != access_pattern::kind::random);
  return plan;
}

/// Publishes the verdict on the list's order for the kernels that follow. One block.
template <class Index>
__global__ void __launch_bounds__(sample_threads)
    judge_order(const Index* index, const __grid_constant__ order_sample sample) {
  let_next_kernel_start();
  const bool is_scattered = sample_is_scattered(index, sample);
  if (threadIdx.x < order_verdict::copies) {
    sample.verdict_slot[threadIdx.x * order_verdict::copy_words] = sample.call_number << 1 | (is_scattered ? 1 : 0);
  }
}

/// Arguments of the kernels that compare tags in device memory.
struct winner_arguments {
  move_arguments move;
  std::uint32_t* winners;
  overflow_list overflow;  ///< without tags: all records of the list
  std::uint64_t outputs;
  order_sample sample;
  bool asks_for_verdict;
};

/// Whether the kernel has nothing to do: it works for overflowing records, or for lists in order.
template <bool OfOverflow>
__device__ __forceinline__ bool is_idle(const winner_arguments& a) {
  if constexpr (OfOverflow) return *a.overflow.count == 0;
  return !a.asks_for_verdict || verdict_is_scattered(a.sample);
}

__global__ void __launch_bounds__(block_threads) clear_winners(const __grid_constant__ winner_arguments args) {
  wait_for_kernel_before();
  if (is_idle<false>(args)) return;
  constexpr std::uint32_t winners =
      sizeof(uint4) / sizeof *args.winners;  // the table is scratch, and ends with such a word
  const std::uint64_t step = std::uint64_t{gridDim.x} * block_threads * winners;
  for (std::uint64_t i = (std::uint64_t{blockIdx.x} * block_threads + threadIdx.x) * winners; i < args.outputs;
       i += step) {
    *reinterpret_cast<uint4*>(args.winners + i) = uint4{};
  }
}

/// Records of the list that a block works for, where it works for the list: as in add_in_order of cuda.atomic, blocks
/// that the device starts in order keep to one stretch of it.
constexpr std::uint64_t records_of_block = std::uint64_t{block_threads} * 8;

/// Calls work(tag, index) for the records that the kernel works for.
template <bool OfOverflow, class Work>
__device__ __forceinline__ void for_each_tag(const winner_arguments& args, Work work) {
  const std::uint64_t step = OfOverflow ? std::uint64_t{gridDim.x} * block_threads : block_threads;
  const std::uint64_t first = std::uint64_t{blockIdx.x} * (OfOverflow ? block_threads : records_of_block);
  const std::uint64_t end =
      OfOverflow ? std::uint64_t{*args.overflow.count} : min(args.move.count, first + records_of_block);
#pragma unroll 4
  for (std::uint64_t i = first + threadIdx.x; i < end; i += step) {
    const std::uint32_t tag = OfOverflow ? args.overflow.tags[i] : static_cast<std::uint32_t>(i) + 1;
    work(tag, index_at(args.move, tag - 1, true));
  }
}

template <bool OfOverflow>
__global__ void __launch_bounds__(block_threads) find_winners(const __grid_constant__ winner_arguments args) {
  wait_for_kernel_before();
  if (is_idle<OfOverflow>(args)) return;
  for_each_tag<OfOverflow>(args, [&](std::uint32_t tag, std::uint64_t index) {
    // Records that overflow have good indices: their pass has looked at them.
    if (OfOverflow || check_index(args.move, tag - 1, index)) atomicMax(args.winners + index, tag);
  });
}

template <bool OfOverflow, class Record>
__global__ void __launch_bounds__(block_threads) write_winners(const __grid_constant__ winner_arguments args) {
  wait_for_kernel_before();
  if (is_idle<OfOverflow>(args)) return;
  for_each_tag<OfOverflow>(args, [&](std::uint32_t tag, std::uint64_t index) {
    if (index >= args.move.limit || args.winners[index] != tag) return;
    store_word(args.move.to + index * args.move.indexed_stride,
               load_word<Record>(args.move.from + std::uint64_t{tag - 1} * args.move.sequential_stride));
  });
}

template <class Record>
void scatter_last(const context& ctx, const scatter_problem& problem, const scatter_buffers& buffers,
                  const bucketed_last_decision& decided, std::byte* scratch) {
  index_guard guard;  // with bounds::trust, an index past the output is skipped without a report
  if (problem.bounds == bounds::check)
    guard = state_of(ctx).guard(scatter_wording, problem.index, problem.indexed_count);
  auto* const overflow_count = reinterpret_cast<std::uint32_t*>(scratch + decided.overflow_count);
  const order_verdict verdict{reinterpret_cast<unsigned long long*>(scratch + decided.verdict), 1};
  winner_arguments args{
      .move = arguments_of(problem, buffers.in.data, buffers.out.data, buffers.index, guard),
      .winners = reinterpret_cast<std::uint32_t*>(scratch + decided.winners),
      .overflow = {reinterpret_cast<std::uint32_t*>(scratch + decided.overflow_tags), overflow_count},
      .outputs = problem.indexed_count,
      .sample = order_sample_of(ctx, problem, true, verdict),
      .asks_for_verdict = problem.pattern.shape == access_pattern::kind::unknown && problem.count >= sample_window};
  args.move.limit = std::min(problem.index_limit(), problem.indexed_count);
  const std::uint64_t resident = static_cast<std::uint64_t>(state_of(ctx).multiprocessors()) * 8;
  const auto launch_for = [&](std::uint64_t blocks, auto kernel) {
    launch_overlapped(ctx, kernel, blocks, block_threads, 0, args);
  };
  bucket_passes<tagged<Record>, Record> passes(ctx, problem, buffers, decided.cut, decided.buckets, scratch);
  passes.clear();
  require(cudaMemsetAsync(overflow_count, 0, sizeof *overflow_count, ctx.stream()), ctx);
  if (args.asks_for_verdict) {
    const auto judge = [&](auto index) {
      using index_value = decltype(index);
      launch_blocks(ctx, judge_order<index_value>, 1, sample_threads,
                    static_cast<const index_value*>(buffers.index.data), args.sample);
    };
    bytes(problem.index) == 8 ? judge(std::uint64_t{}) : judge(std::uint32_t{});
    launch_for(resident, clear_winners);
    launch_for(ceil_div(problem.count, records_of_block), find_winners<false>);
    launch_for(ceil_div(problem.count, records_of_block), write_winners<false, Record>);
    passes.make_conditional(args.sample, 0);
  }
  passes.run(guard, args.overflow);
  const std::uint32_t position_bits = decided.cut.position_bits;
  const last_of_buckets_arguments<Record> last{.index = passes.fine_index(),
                                               .word = passes.fine_words(),
                                               .sizes = passes.fine_sizes(),
                                               .capacity = decided.buckets.fine_capacity,
                                               .bucket_bits = position_bits,
                                               .buckets = decided.cut.fine_buckets,
                                               .out = buffers.out.data,
                                               .out_stride = problem.indexed_stride_bytes,
                                               .out_count = problem.indexed_count,
                                               .overflow_count = overflow_count,
                                               .winners = args.winners,
                                               .sample = passes.sample(),
                                               .tile_counter = passes.next_tile_counter()};
  const std::size_t shared_bytes = (sizeof(Record) + sizeof(std::uint32_t)) << position_bits;
  launch_overlapped(ctx, write_last_of_buckets<Record>, passes.blocks_for(last.buckets, 4), write_threads,
                    std::max<std::size_t>(shared_bytes, 16), last);
  launch_for(resident, find_winners<true>);
  launch_for(resident, write_winners<true, Record>);
}

void run_bucketed_last(const context& ctx, const scatter_problem& problem, const plan::planned& plan,
                       const scatter_buffers& b, std::byte* scratch) {
  const device_scope scope(ctx.device());
  const auto decided = plan.decided.get<bucketed_last_decision>();
  problem.record_bytes == 4 ? scatter_last<std::uint32_t>(ctx, problem, b, decided, scratch)
                            : scatter_last<uint2>(ctx, problem, b, decided, scratch);
}

}  // namespace

extern constinit const scatter_variant scatter_bucketed_last{"cuda.bucketed_last", backend_kind::cuda,
                                                             plan_bucketed_last, run_bucketed_last};

}  // namespace sheaf::cuda
