#include "cuda/movement/sides.cuh"

// Gather and scatter as published by He et al. 2007 (Fig. 3): one thread for each record, which it moves word by word.
// Accesses coalesce only if a record is one word; movement/ has what replaces it. The planner prices both forms as it
// does every other variant, and takes them by name alone.
namespace sheaf::cuda {
namespace {

using primitives::movement;

template <direction Direction, class Word>
__global__ void __launch_bounds__(block_threads)
    move_thread_per_record(const __grid_constant__ move_arguments args, std::uint32_t words_per_record) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i >= args.count) return;
  const std::uint64_t index = index_at(args, i);
  const bool good = check_index(args, i, index);
  const std::uint64_t sequential_offset = i * args.sequential_stride;
  const std::uint64_t indexed_offset = index * args.indexed_stride;
  for (std::uint32_t w = 0; w < words_per_record; ++w) {
    const std::uint64_t byte = std::uint64_t{w} * sizeof(Word);
    if constexpr (Direction == direction::gather) {
      store_word(args.to + sequential_offset + byte,
                 good ? load_word<Word>(args.from + indexed_offset + byte) : Word{});
    } else {
      if (good) store_word(args.to + indexed_offset + byte, load_word<Word>(args.from + sequential_offset + byte));
    }
  }
}

// Lanes of a warp move records that lie apart. In a gather no two lanes share a sector; in a scatter they write sectors
// in parts.
memory_cost thread_per_record_cost(memory_cost cost, const movement& p, const machine& m) {
  cost.issue = single_issue_seconds(static_cast<double>(p.count), m);
  return words_per_record(p) == 1 ? cost : uncoalesced_cost(cost, p, m);
}

template <direction Direction>
plan::planned plan_thread_per_record(const problem_of<Direction>& p, const plan::scope& scope) {
  const machine& m = scope.machine;
  if (const char* reason = order_rejection(p)) return plan::rejected(reason);
  plan::planned plan = plan_of<Direction>(thread_per_record_cost(cost_of<Direction>(p, m), p, m), m);
  plan.by_name_only = true;
  return plan;
}

template <direction Direction>
void run_thread_per_record(const context& ctx, const problem_of<Direction>& problem, const plan::planned&,
                           const buffers_of<Direction>& b, std::byte*) {
  const device_scope scope(ctx.device());
  const move_arguments a = arguments_of<Direction>(ctx, problem, b);
  with_word(problem.word_bytes, [&](auto word) {
    launch(ctx, move_thread_per_record<Direction, decltype(word)>, ceil_div(problem.count, block_threads), a,
           words_per_record(problem));
  });
}

}  // namespace

extern constinit const primitives::gather_variant gather_thread_per_record{"cuda.thread_per_record", backend_kind::cuda,
                                                                           plan_thread_per_record<direction::gather>,
                                                                           run_thread_per_record<direction::gather>};
extern constinit const primitives::scatter_variant scatter_thread_per_record{
    "cuda.thread_per_record", backend_kind::cuda, plan_thread_per_record<direction::scatter>,
    run_thread_per_record<direction::scatter>};

}  // namespace sheaf::cuda
