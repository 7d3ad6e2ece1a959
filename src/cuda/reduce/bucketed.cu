#include "core/scratch_offsets.hpp"
#include "cuda/device/speeds.hpp"
#include "cuda/movement/buckets/scatter_passes.cuh"
#include "cuda/movement/copy/words.cuh"
#include "cuda/movement/memory_cost.hpp"
#include "cuda/reduce/atomic.hpp"
#include "cuda/reduce/block_sums.cuh"
#include "cuda/reduce/bucket_sums.cuh"

// The variant cuda.bucketed: sums by propagation blocking. The passes of the bucketed scatter send the values to
// buckets of slots, and a block adds up each bucket in shared memory and adds the sums to the output in whole lines. So
// sums of slots at random, whose output is larger than the cache, cost no access at random. Of a list that nothing is
// said of a sample decides: one in order, or with hot slots, is left to the atomics of cuda.atomic.
namespace sheaf::cuda {
namespace {

using namespace primitives;

/// What a plan decides for run. Arrays begin at these bytes of the scratch.
struct bucketed_decision {
  bucketing cut;
  bucket_layout buckets;
  std::uint64_t verdict;

  void tell(plan::told& to) const { cut.tell(to); }
};

/// Fitted to an H200, 2^24 and 2^27 values.
struct bucketed_tuning {
  double pass_share = 0.85;     ///< of copy bandwidth that a pass reaches
  double pass_ranked = 0.0334;  ///< values that a pass ranks in the time in which the L2 cache moves a byte
  double sum_share = 0.9;       ///< of copy bandwidth that add_buckets reaches
  double sum_added = 0.022;     ///< values that it adds in the time in which the L2 cache moves a byte
  double slots_swept = 0.077;   ///< slots that it clears and looks at in that time
};
constexpr bucketed_tuning tuning_of_bucketed;

plan::planned plan_bucketed(const scatter_reduce_problem& problem, const plan::scope& scope) {
  const machine& machine = scope.machine;
  if (!problem.sums()) return plan::rejected("only adds and subtracts");
  if (problem.order_matters() && problem.order == reduction_order::deterministic) {
    return plan::rejected("adds floats in the order in which workers arrive");
  }
  if (problem.indexed_count >= ~std::uint32_t{0}) return plan::rejected("slots exceed 32 bits");
  if (const char* reason = words_rejection(problem)) return plan::rejected(reason);
  const auto width = static_cast<std::uint32_t>(bytes(problem.type));
  const bucketing bucketing = bucketing_of(problem, width);
  core::scratch_offsets arrays;
  bucketed_decision decided{bucketing, layout_of(problem, bucketing, width, arrays), 0};
  if (const char* reason = bucketing_rejection(problem, bucketing, decided.buckets, width, scope))
    return plan::rejected(reason);
  decided.verdict = arrays.take(order_verdict::copies * order_verdict::copy_words * sizeof(unsigned long long));
  plan::planned plan;
  plan.decided.set(decided);
  plan.scratch_bytes = arrays.bytes();
  const auto count = static_cast<double>(problem.count);
  const double in = count * static_cast<double>(width + bytes(problem.index));
  const auto stream = [&](const char* name, double bytes, double share, double handled) {
    plan::planned stream_plan;
    stream_plan.add_overlapped(3, {{"streamed", bytes / (machine.copy_bytes_per_second * share)},
                                   {"handled", instruction_seconds(count, handled, machine)}});
    plan.add(name, stream_plan.seconds);
  };
  plan.add("latency", machine.launch_seconds + (6 + 2 * bucketing.passes) * machine.step_seconds);
  if (bucketing.passes == 2) {
    stream("coarse buckets", in + count * (width + 4), tuning_of_bucketed.pass_share, tuning_of_bucketed.pass_ranked);
    stream("fine buckets", count * (2 * width + 4 + 2), tuning_of_bucketed.pass_share, tuning_of_bucketed.pass_ranked);
  } else {
    stream("fine buckets", in + count * (width + 2), tuning_of_bucketed.pass_share, tuning_of_bucketed.pass_ranked);
  }
  stream("bucket sums", count * (width + 2) + 2 * static_cast<double>(problem.indexed_bytes()),
         busy_share(bucketing, machine) * tuning_of_bucketed.sum_share,
         busy_share(bucketing, machine) * tuning_of_bucketed.sum_added);
  plan.add("slots swept",
           instruction_seconds(static_cast<double>(problem.indexed_count), tuning_of_bucketed.slots_swept, machine));
  plan.by_name_only = problem.count < sample_window || !is_scattered(problem.pattern);
  return plan;
}

/// Publishes by which route the list is added up. One block.
template <class Index>
__global__ void __launch_bounds__(sample_threads)
    choose_route(const __grid_constant__ move_arguments a, const __grid_constant__ order_sample sample) {
  static_assert(sample_threads == block_threads);
  let_next_kernel_start();
  const bool is_scattered = sample_is_scattered(static_cast<const Index*>(a.index), sample);
  const bool has_hot_slots = sample_has_hot_slots(a);
  if (threadIdx.x < order_verdict::copies) {
    sample.verdict_slot[threadIdx.x * order_verdict::copy_words] = has_hot_slots  ? sum_route::block_sums
                                                                   : is_scattered ? sum_route::buckets
                                                                                  : sum_route::atomics;
  }
}

template <class T>
void sum_by_buckets(const context& ctx, const scatter_reduce_problem& problem, const scatter_reduce_buffers& buffers,
                    const bucketed_decision& decided, std::byte* scratch) {
  index_guard guard;  // with bounds::trust, an index past the output has no bucket and is skipped without a report
  if (problem.bounds == bounds::check) {
    guard = state_of(ctx).guard(scatter_reduce_wording, problem.index, problem.indexed_count);
  }
  const scatter_buffers records{
      {buffers.in.data, problem.count, sizeof(T)}, buffers.index, {buffers.out.data, problem.indexed_count, sizeof(T)}};
  bucket_passes<term<T>> passes(ctx, problem, records, decided.cut, decided.buckets, scratch);
  passes.clear();
  if (problem.pattern.shape == access_pattern::kind::unknown && problem.count >= sample_window) {
    move_arguments args = arguments_of(problem, nullptr, nullptr, buffers.index, guard);
    args.limit = std::min(problem.index_limit(), problem.indexed_count);  // skipped by the atomics likewise
    auto* const verdict = reinterpret_cast<unsigned long long*>(scratch + decided.verdict);
    const order_sample sample = order_sample_of(ctx, problem, true, {verdict, 1});
    const auto kernel = args.wide_index != 0 ? choose_route<std::uint64_t> : choose_route<std::uint32_t>;
    launch_blocks(ctx, kernel, 1, sample_threads, args, sample);
    add_by_route(ctx, problem, args, buffers, verdict);
    passes.make_conditional(sample, 0);
  }
  const bool subtracts = problem.op == reduction::subtract;
  passes.run(guard, {}, subtracts);
  const bucket_sums_of<T> sums{.index = passes.fine_index(),
                               .terms = passes.fine_words(),
                               .sizes = passes.fine_sizes(),
                               .capacity = decided.buckets.fine_capacity,
                               .bucket_bits = decided.cut.position_bits,
                               .buckets = decided.cut.fine_buckets,
                               .out = static_cast<T*>(buffers.out.data),
                               .subtracts = subtracts,
                               .sample = passes.sample(),
                               .tile_counter = passes.next_tile_counter()};
  launch_overlapped(ctx, add_buckets<T>, passes.blocks_for(sums.buckets, 4), write_threads,
                    std::max<std::size_t>(sizeof(T) << sums.bucket_bits, 16), sums);
}

void run_bucketed(const context& ctx, const scatter_reduce_problem& p, const plan::planned& plan,
                  const scatter_reduce_buffers& b, std::byte* scratch) {
  const device_scope current_device(ctx.device());
  const auto decided = plan.decided.get<bucketed_decision>();
  with_term(p.type, [&](auto term) { sum_by_buckets<decltype(term)>(ctx, p, b, decided, scratch); });
}

}  // namespace

extern constinit const scatter_reduce_variant scatter_reduce_bucketed{"cuda.bucketed", backend_kind::cuda,
                                                                      plan_bucketed, run_bucketed};

}  // namespace sheaf::cuda
