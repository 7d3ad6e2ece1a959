#include "cuda/movement/sides.cuh"
#include "papers/patidar2009/lane_rule.hpp"

// Gather and scatter as published by Patidar and Narayanan 2009 (section 4.1): the width of a record says how many
// threads move it and how wide their accesses are, and consecutive threads have adjacent parts of it. cuda.collective
// is what the library makes of this: its accesses are as wide as the record allows, its blocks share out the words of
// several records, so that no lane is idle, and each index is read once.
namespace sheaf::cuda {
namespace {

using papers::patidar2009::record_lanes;
using primitives::movement;

static_assert(papers::patidar2009::most_lanes <= block_threads);

// Thread t of the grid has lane t % lanes of record t / lanes. Blocks have whole records: blockDim.x is a multiple of
// `lanes`. The index of a record is read by all its lanes, of which the first reports it if it is bad.
template <direction Direction, class Word>
__global__ void __launch_bounds__(block_threads)
    move_by_lane_rule(const __grid_constant__ move_arguments args, std::uint32_t lanes,
                      std::uint32_t words_per_record) {
  const std::uint32_t record = threadIdx.x / lanes;
  const std::uint32_t lane = threadIdx.x - record * lanes;
  const std::uint64_t i = std::uint64_t{blockIdx.x} * (blockDim.x / lanes) + record;
  if (i >= args.count) return;
  const std::uint64_t index = index_at(args, i, /*is_read_again=*/true);
  const bool good = lane == 0 ? check_index(args, i, index) : index < args.limit;
  const std::uint64_t sequential_offset = i * args.sequential_stride;
  const std::uint64_t indexed_offset = index * args.indexed_stride;
  for (std::uint32_t w = lane; w < words_per_record; w += lanes) {
    const std::uint64_t byte = std::uint64_t{w} * sizeof(Word);
    if constexpr (Direction == direction::gather) {
      store_word(args.to + sequential_offset + byte,
                 good ? load_word<Word>(args.from + indexed_offset + byte) : Word{});
    } else {
      if (good) store_word(args.to + indexed_offset + byte, load_word<Word>(args.from + sequential_offset + byte));
    }
  }
}

// Accesses of neighbouring lanes coalesce as those of cuda.collective do. But every lane reads and checks an index for
// one word, or for a few of a record that lanes go over more than once. A record with one lane is a thread's.
memory_cost lane_rule_cost(memory_cost cost, const movement& p, const record_lanes& lanes, const machine& m) {
  const auto records = static_cast<double>(p.count);
  const std::uint64_t words = p.record_bytes / lanes.access_bytes;
  const std::uint64_t first_words = std::min<std::uint64_t>(words, lanes.count);
  cost.issue = single_issue_seconds(records * lanes.count, m) +
               issue_seconds(records * static_cast<double>(words - first_words), m);
  return lanes.count == 1 && words > 1 ? uncoalesced_cost(cost, p, m) : cost;
}

template <direction Direction>
plan::planned plan_lane_rule(const problem_of<Direction>& p, const plan::scope& scope) {
  const machine& m = scope.machine;
  if (const char* reason = order_rejection(p)) return plan::rejected(reason);
  const record_lanes lanes = papers::patidar2009::lanes_of_record(p.record_bytes, p.word_bytes);
  plan::planned plan = plan_of<Direction>(lane_rule_cost(cost_of<Direction>(p, m), p, lanes, m), m);
  plan.decided.set(lanes);
  plan.by_name_only = true;
  return plan;
}

template <direction Direction>
void run_lane_rule(const context& ctx, const problem_of<Direction>& p, const plan::planned& plan,
                   const buffers_of<Direction>& b, std::byte*) {
  const device_scope scope(ctx.device());
  const move_arguments a = arguments_of<Direction>(ctx, p, b);
  const auto lanes = plan.decided.get<record_lanes>();
  const unsigned records_per_block = block_threads / lanes.count;
  with_word(lanes.access_bytes, [&](auto word) {
    launch_blocks(ctx, move_by_lane_rule<Direction, decltype(word)>, ceil_div(p.count, records_per_block),
                  records_per_block * lanes.count, a, lanes.count,
                  static_cast<std::uint32_t>(p.record_bytes / sizeof word));
  });
}

}  // namespace

extern constinit const primitives::gather_variant gather_lane_rule{
    "cuda.lane_rule", backend_kind::cuda, plan_lane_rule<direction::gather>, run_lane_rule<direction::gather>};
extern constinit const primitives::scatter_variant scatter_lane_rule{
    "cuda.lane_rule", backend_kind::cuda, plan_lane_rule<direction::scatter>, run_lane_rule<direction::scatter>};

}  // namespace sheaf::cuda
