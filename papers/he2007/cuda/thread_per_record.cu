#include "cuda/movement/copy/records.cuh"
#include "cuda/movement/memory_cost.hpp"
#include "primitives/movement/gather.hpp"
#include "primitives/movement/scatter.hpp"

// Gather and scatter as published by He et al. 2007 (Fig. 3): one thread for each record, which it moves word by word.
// Accesses coalesce only if a record is one word; movement/ has what replaces it. The planner prices both forms as it
// does every other variant, and takes them by name alone.
namespace sheaf::cuda {
namespace {

using primitives::gather_buffers;
using primitives::gather_problem;
using primitives::movement;
using primitives::scatter_buffers;
using primitives::scatter_problem;

template <direction Direction, class Word>
__global__ void __launch_bounds__(block_threads)
    move_thread_per_record(const __grid_constant__ move_arguments a, std::uint32_t words_per_record) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i >= a.count) return;
  const std::uint64_t index = index_at(a, i);
  const bool good = check_index(a, i, index);
  const std::uint64_t sequential_offset = i * a.sequential_stride;
  const std::uint64_t indexed_offset = index * a.indexed_stride;
  for (std::uint32_t w = 0; w < words_per_record; ++w) {
    const std::uint64_t byte = std::uint64_t{w} * sizeof(Word);
    if constexpr (Direction == direction::gather) {
      store_word(a.to + sequential_offset + byte, good ? load_word<Word>(a.from + indexed_offset + byte) : Word{});
    } else {
      if (good) store_word(a.to + indexed_offset + byte, load_word<Word>(a.from + sequential_offset + byte));
    }
  }
}

template <direction Direction>
void launch_thread_per_record(const context& ctx, const movement& p, const move_arguments& a) {
  with_word(p.word_bytes, [&](auto word) {
    launch(ctx, move_thread_per_record<Direction, decltype(word)>, ceil_div(p.count, block_threads), a,
           words_per_record(p));
  });
}

// Lanes of a warp move records that lie apart. In a gather no two lanes share a sector; in a scatter they write sectors
// in parts.
memory_cost thread_per_record_cost(memory_cost cost, const movement& p, const machine& m) {
  cost.issue = single_issue_seconds(static_cast<double>(p.count), m);
  return words_per_record(p) == 1 ? cost : uncoalesced_cost(cost, p, m);
}

plan::planned plan_gather(const gather_problem& p, const plan::scope& scope) {
  const machine& m = scope.machine;
  plan::planned plan = to_plan(thread_per_record_cost(gather_cost(p, m), p, m), m, false);
  plan.by_name_only = true;
  return plan;
}

void run_gather(const context& ctx, const gather_problem& p, const plan::planned&, const gather_buffers& b,
                std::byte*) {
  const device_scope scope(ctx.device());
  const index_guard guard = state_of(ctx).guard(primitives::gather_words, p.index, p.indexed_count);
  launch_thread_per_record<direction::gather>(ctx, p, arguments_of(p, b.table.data, b.out.data, b.index, guard));
}

plan::planned plan_scatter(const scatter_problem& p, const plan::scope& scope) {
  const machine& m = scope.machine;
  if (p.duplicates == duplicates::last) return plan::rejected("any writer may win");
  plan::planned plan = to_plan(thread_per_record_cost(scatter_cost(p, m), p, m), m, true);
  plan.by_name_only = true;
  return plan;
}

void run_scatter(const context& ctx, const scatter_problem& p, const plan::planned&, const scatter_buffers& b,
                 std::byte*) {
  const device_scope scope(ctx.device());
  const index_guard guard = state_of(ctx).guard(primitives::scatter_words, p.index, p.indexed_count);
  launch_thread_per_record<direction::scatter>(ctx, p, arguments_of(p, b.in.data, b.out.data, b.index, guard));
}

}  // namespace

extern constinit const primitives::gather_variant gather_thread_per_record{"cuda.thread_per_record", backend_kind::cuda,
                                                                           plan_gather, run_gather};
extern constinit const primitives::scatter_variant scatter_thread_per_record{
    "cuda.thread_per_record", backend_kind::cuda, plan_scatter, run_scatter};

}  // namespace sheaf::cuda
