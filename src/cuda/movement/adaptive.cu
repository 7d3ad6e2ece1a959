#include "cuda/movement/if_ordered/sample.cuh"
#include "cuda/movement/pass_plan.cuh"
#include "cuda/movement/passes/kernels.cuh"

// cuda.adaptive: movement of a list of unknown order, in one launch. The first blocks move their tiles as cuda.direct
// does, while block 0 samples the list. When later blocks start, the verdict is published. If the list is ordered, they
// go on as the first blocks did. If it is scattered, they make the passes of cuda.multipass over the rest of the list,
// one pass after another in the order in which blocks start.
namespace sheaf::cuda {
namespace {

/// How the blocks of an adaptive kernel share the list.
struct adaptive_schedule {
  order_sample sample;
  primitives::equal_parts regions;     ///< regions of the indexed side, one for each pass
  std::uint64_t unconditional_blocks;  ///< first blocks, which move their tiles whatever the verdict
  std::uint64_t blocks_per_pass;
  std::uint32_t rounds;  ///< tiles that a block moves one after another if the list is ordered
  std::uint32_t passes;
  std::uint32_t asks_for_verdict;  ///< 1 if there are blocks after the unconditional ones
};

/// Least number of resident blocks on a multiprocessor for the kernel's register limit; 0 sets no limit. Scatters of
/// 4-byte words in order need all eight blocks (1.02 of cuda.direct's time, 1.10 with six), although that leaves the
/// passes too few registers (1.25 of cuda.multipass's time).
template <direction Direction, class Word, class Index>
constexpr int least_resident_blocks = Direction == direction::scatter && sizeof(Word) == 4 && sizeof(Index) == 4 ? 8
                                                                                                                 : 0;

template <direction Direction, class Word, class Index, int Items, int Step>
__global__ void __launch_bounds__(sample_threads, least_resident_blocks<Direction, Word, Index>)
    move_words_adaptively(const __grid_constant__ word_arguments<Index> args,
                          const __grid_constant__ adaptive_schedule schedule) {
  using tile_type = word_tile<Direction, Word, Index, Items, Step>;
  static_assert(sample_threads % Step == 0, "the threads take all positions of a tile");
  constexpr std::uint32_t tile = sample_threads * Items;
  const std::uint32_t block_records = tile * schedule.rounds;
  if (blockIdx.x == 0 && schedule.asks_for_verdict != 0) publish_verdict(args.index, schedule.sample);
  std::uint64_t first = tile_type::first_of(std::uint64_t{blockIdx.x} * block_records);
  tile_type ordered;
  if (blockIdx.x < schedule.unconditional_blocks || !order_is_scattered(args.index, schedule.sample)) {
#pragma unroll 1
    for (std::uint32_t round = 0; round < schedule.rounds; ++round, first += tile) {
      if (first >= args.count) return;
      ordered.load(args, first);
      ordered.finish(args, first);
    }
    return;
  }
  constexpr int pass_items = 4;  // takes as many registers as an ordered tile
  constexpr std::uint32_t pass_tile = sample_threads * pass_items;
  const std::uint64_t block = blockIdx.x - schedule.unconditional_blocks;
  const auto pass = static_cast<std::uint32_t>(block / schedule.blocks_per_pass);
  const std::uint64_t region_count = schedule.regions.count(pass);
  if (region_count == 0) return;
  const pass_region<Index> region{static_cast<Index>(schedule.regions.begin(pass)),
                                  static_cast<Index>(region_count - 1), pass == 0, false, false};
  const std::uint64_t pass_block_records = std::uint64_t{block_records} * schedule.passes;
  const std::uint64_t begin =
      schedule.unconditional_blocks * block_records + block % schedule.blocks_per_pass * pass_block_records;
  const std::uint64_t end = min(begin + pass_block_records, args.count);
#pragma unroll 1
  for (first = begin + threadIdx.x; first < end; first += pass_tile) {
    const auto records_left = static_cast<std::uint32_t>(min(end - first, std::uint64_t{pass_tile}));
    move_tile_in_pass<Direction, Word, Index, pass_items, sample_threads>(args, first, records_left, region);
  }
}

template <direction Direction, class Word, int Items, int Step>
void launch_adaptive(const context& ctx, const primitives::movement& problem, std::uint32_t rounds,
                     std::uint32_t passes, const move_arguments& args) {
  const order_verdict verdict = state_of(ctx).new_order_verdict();
  const std::uint64_t block_records = std::uint64_t{sample_threads} * Items * rounds;
  // Blocks of each multiprocessor that do not wait for the verdict: few enough that a random list loses little by them,
  // enough to keep memory busy until the verdict is published.
  constexpr std::uint64_t blocks_ahead = 2;
  const std::uint64_t all_blocks = ceil_div(problem.count, block_records);
  const std::uint64_t first_wave = static_cast<std::uint64_t>(state_of(ctx).multiprocessors()) * blocks_ahead;
  const std::uint64_t unconditional_blocks =
      can_sample(problem, verdict) ? std::min(first_wave, all_blocks) : all_blocks;
  const std::uint64_t records_left = problem.count - std::min(problem.count, unconditional_blocks * block_records);
  const std::uint64_t blocks_per_pass = std::max<std::uint64_t>(1, ceil_div(records_left, block_records * passes));
  const adaptive_schedule schedule{.sample = order_sample_of(ctx, problem, Direction == direction::scatter, verdict),
                                   .regions = {primitives::reachable_records(problem), passes},
                                   .unconditional_blocks = unconditional_blocks,
                                   .blocks_per_pass = blocks_per_pass,
                                   .rounds = rounds,
                                   .passes = passes,
                                   .asks_for_verdict = records_left > 0 ? 1U : 0U};
  const auto with_index = [&](auto index) {
    using index_value = decltype(index);
    launch_blocks(ctx, move_words_adaptively<Direction, Word, index_value, Items, Step>,
                  unconditional_blocks + (records_left > 0 ? blocks_per_pass * passes : 0), sample_threads,
                  word_arguments_of<index_value>(args), schedule);
  };
  args.wide_index != 0 ? with_index(std::uint64_t{}) : with_index(std::uint32_t{});
}

/// Narrowest record that is chosen without a name: cuda.direct gathers bytes in order by a kernel of its own
/// (gather_neighbour_bytes), which is a quarter faster than the adaptive one.
template <direction Direction>
constexpr std::uint64_t narrowest_record = Direction == direction::gather ? 2 : 1;
template <direction Direction>
constexpr std::uint64_t widest_record = Direction == direction::gather ? 4 : 8;

// Priced as the passes that a random list takes, and a tenth more for what sampling may cost any list, because a
// smaller gain is not worth it. A list in order costs about as much as with cuda.direct.
template <direction Direction>
plan::planned plan_adaptive(const problem_of<Direction>& problem, const plan::scope& scope) {
  const machine& machine = scope.machine;
  if (const char* reason = order_rejection(problem)) return plan::rejected(reason);
  if (const char* reason = words_rejection(problem)) return plan::rejected(reason);
  if (problem.record_bytes > widest_record<Direction>) {
    return plan::rejected("records this wide gain nothing from passes");
  }
  plan::planned plan = plan_passes<Direction>(problem, machine);
  plan.add("sampling", 0.1 * plan.seconds);
  primitives::movement in_order = problem;
  in_order.pattern = access_pattern::sequential();
  const bool is_short = plan_of<Direction>(cost_of<Direction>(in_order, machine), machine).seconds <
                        least_in_order_steps * machine.step_seconds;
  plan.by_name_only = is_short || problem.record_bytes < narrowest_record<Direction> ||
                      problem.pattern.shape != access_pattern::kind::unknown;
  return plan;
}

// Items and steps are those of cuda.direct. Rounds are enough that reading the verdict costs a list in order little.
template <direction Direction>
void run_adaptive(const context& ctx, const problem_of<Direction>& problem, const plan::planned& plan,
                  const buffers_of<Direction>& b, std::byte*) {
  const device_scope scope(ctx.device());
  const move_arguments args = arguments_of<Direction>(ctx, problem, b);
  const std::uint32_t passes = plan.decided.get<primitives::multipass_decision>().passes;
  if constexpr (Direction == direction::gather) {
    switch (problem.record_bytes) {
      case 1: return launch_adaptive<Direction, std::uint8_t, 4, 256>(ctx, problem, 4, passes, args);
      case 2: return launch_adaptive<Direction, std::uint16_t, 4, 256>(ctx, problem, 4, passes, args);
      default: return launch_adaptive<Direction, std::uint32_t, 6, 256>(ctx, problem, 2, passes, args);
    }
  } else {
    switch (problem.record_bytes) {
      case 1: return launch_adaptive<Direction, std::uint8_t, 8, 256>(ctx, problem, 3, passes, args);
      case 2: return launch_adaptive<Direction, std::uint16_t, 4, 256>(ctx, problem, 4, passes, args);
      case 4: return launch_adaptive<Direction, std::uint32_t, 2, 256>(ctx, problem, 4, passes, args);
      default: return launch_adaptive<Direction, uint2, 2, 32>(ctx, problem, 2, passes, args);
    }
  }
}

}  // namespace

extern constinit const primitives::gather_variant gather_adaptive{
    "cuda.adaptive", backend_kind::cuda, plan_adaptive<direction::gather>, run_adaptive<direction::gather>};
extern constinit const primitives::scatter_variant scatter_adaptive{
    "cuda.adaptive", backend_kind::cuda, plan_adaptive<direction::scatter>, run_adaptive<direction::scatter>};

}  // namespace sheaf::cuda
