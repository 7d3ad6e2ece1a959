#include "cuda/movement/buckets/gather_schedule.cuh"

#include "cuda/movement/buckets/gather_schedule.hpp"
#include "cuda/movement/if_ordered/direct.hpp"
#include "cuda/movement/memory_cost.hpp"
#include "primitives/movement/gather.hpp"

// The bucketed gather: builds a gather schedule in scratch and applies it once. If the list's order is unknown,
// direct-if-ordered runs first, and the kernels of the schedule end at once if the list is ordered.
namespace sheaf::cuda {
namespace {

using namespace primitives;

// A list in order that takes fewer steps of the profile than this would lose some per cent to the order sample.
constexpr double least_in_order_steps = 128;

plan::planned plan_bucketed(const gather_problem& problem, const plan::scope& scope) {
  const machine& machine = scope.machine;
  if (const char* reason = schedule_rejection(problem)) return plan::rejected(reason);
  const std::uint64_t tile_bytes =
      bucketing_tile * std::max<std::uint64_t>(problem.record_bytes, sizeof(std::uint64_t));
  if (const char* reason = shared_memory_rejection(scope, tile_bytes)) return plan::rejected(reason);
  plan::planned plan;
  const schedule_layout layout = layout_of_schedule(problem, bucket_storage::fixed_capacity);
  plan.decided.set(layout);
  plan.scratch_bytes = layout.end;
  // Kernels run one after another, and the few blocks of a short list wait for memory.
  plan.add("latency", machine.launch_seconds + 17 * machine.step_seconds);
  plan.add("schedule", build_seconds(problem, machine));
  plan.add("bucket reads and collection", apply_seconds(problem, machine));
  if (problem.pattern.shape == access_pattern::kind::unknown) {
    plan.add("sampling", 0.03 * plan.seconds);
    movement in_order = problem;
    in_order.pattern = access_pattern::sequential();
    plan.by_name_only =
        to_plan(gather_cost(in_order, machine), machine, false).seconds < least_in_order_steps * machine.step_seconds;
  } else {
    plan.by_name_only = problem.pattern.shape != access_pattern::kind::random;
  }
  return plan;
}

// Blocks of a kernel. If the kernel may have to end at once, its blocks are as many as are resident, and draw their
// tiles. Otherwise each block takes one tile.
std::uint64_t blocks_for(const context& ctx, std::uint64_t tiles, bool asks_for_verdict, std::uint32_t resident) {
  const auto resident_blocks = static_cast<std::uint64_t>(state_of(ctx).multiprocessors()) * resident;
  constexpr std::uint64_t most = (std::uint64_t{1} << 31) - 1;
  return std::max<std::uint64_t>(1, std::min(tiles, asks_for_verdict ? resident_blocks : most));
}

void run_bucketed(const context& ctx, const gather_problem& problem, const plan::planned& plan,
                  const gather_buffers& buffers, std::byte* scratch) {
  const device_scope scope(ctx.device());
  const index_guard guard = state_of(ctx).guard(gather_wording, problem.index, problem.indexed_count);
  const auto layout = plan.decided.get<schedule_layout>();
  auto* const tile_counters = reinterpret_cast<std::uint32_t*>(scratch + layout.tile_counters);
  direct_attempt attempt;
  if (problem.pattern.shape == access_pattern::kind::unknown) {
    attempt = gather_if_ordered(ctx, problem,
                                arguments_of(problem, buffers.table.data, buffers.out.data, buffers.index, guard),
                                tile_counters + most_scheduled_kernels);
    if (!attempt.asks_for_verdict) return;
  }
  const gather_schedule schedule{.bucket_indices = reinterpret_cast<std::uint32_t*>(scratch + layout.bucket_indices),
                                 .bucket_sizes = reinterpret_cast<std::uint32_t*>(scratch + layout.bucket_sizes),
                                 .bucket_begins = nullptr,
                                 .capacity = layout.capacity,
                                 .tile_slots = reinterpret_cast<std::uint16_t*>(scratch + layout.tile_slots),
                                 .run_in_bucket = reinterpret_cast<std::uint32_t*>(scratch + layout.run_in_bucket),
                                 .run_in_tile = reinterpret_cast<std::uint16_t*>(scratch + layout.run_in_tile),
                                 .count = problem.count - attempt.records_moved,
                                 .first_position = attempt.records_moved,
                                 .buckets = layout.buckets,
                                 .shift = layout.shift};
  const bool asks_for_verdict = attempt.asks_for_verdict;
  const auto tile_counter = [&](std::uint32_t kernel) { return asks_for_verdict ? tile_counters + kernel : nullptr; };
  const std::uint64_t tiles = ceil_div(schedule.count, bucketing_tile);
  const std::byte* const index =
      static_cast<const std::byte*>(buffers.index.data) + schedule.first_position * bytes(problem.index);
  require(cudaMemsetAsync(schedule.bucket_sizes, 0, (layout.buckets + all_counter_words) * sizeof(std::uint32_t),
                          ctx.stream()),
          ctx);
  const auto build = [&](auto value) {
    using index_value = decltype(value);
    const std::uint64_t last = std::min(problem.index_limit(), problem.indexed_count) - 1;
    using source = list_source<index_value>;
    const build_arguments<source> args{
        {reinterpret_cast<const index_value*>(index),
         static_cast<index_value>(std::min<std::uint64_t>(last, static_cast<index_value>(~index_value{0}))), guard,
         schedule.first_position},
        attempt.sample,
        tile_counter(0)};
    launch_shared(ctx, build_schedule<source>, blocks_for(ctx, tiles, asks_for_verdict, 2), bucketing_threads,
                  build_shared_bytes<source>, schedule, args);
  };
  bytes(problem.index) == 8 ? build(std::uint64_t{}) : build(std::uint32_t{});
  with_word(problem.word_bytes, [&](auto value) {
    using word = decltype(value);
    constexpr int items = sizeof(word) == 16 ? 4 : 8;
    auto* const bucket_words = reinterpret_cast<word*>(scratch + layout.bucket_words);
    const auto tiles_per_bucket =
        static_cast<std::uint32_t>(ceil_div(layout.capacity, std::uint64_t{block_threads} * items));
    launch_blocks(ctx, read_buckets<word, items>,
                  blocks_for(ctx, std::uint64_t{tiles_per_bucket} * layout.buckets, asks_for_verdict, 8), block_threads,
                  schedule, buffers.table.data, static_cast<std::uint32_t>(problem.indexed_stride_bytes), bucket_words,
                  tiles_per_bucket, attempt.sample, tile_counter(1));
    const overflow_source overflow{index, bytes(problem.index) == 8 ? 1U : 0U, buffers.table.data,
                                   problem.indexed_stride_bytes};
    launch_shared(ctx, collect_tiles<word, overflow_source>, blocks_for(ctx, tiles, asks_for_verdict, 3),
                  bucketing_threads, bucketing_tile * sizeof(word), schedule, static_cast<const word*>(bucket_words),
                  buffers.out.data + schedule.first_position * problem.sequential_stride_bytes,
                  problem.sequential_stride_bytes, overflow, 0U, attempt.sample, tile_counter(2));
  });
}

}  // namespace

extern constinit const gather_variant gather_bucketed{"cuda.bucketed", backend_kind::cuda, plan_bucketed, run_bucketed};

}  // namespace sheaf::cuda
