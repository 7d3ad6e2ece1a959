#include "primitives/movement/scatter.hpp"

#include "cuda/movement/copy/words.cuh"
#include "cuda/movement/memory_cost.hpp"

// duplicates::last in two steps over the index. The first finds the last writer of each output record: an atomic
// maximum over the positions that name it, in a winner table. The second moves only the winners: words by a thread
// each, others as cuda.collective does. The result does not depend on the order of blocks.
namespace sheaf::cuda {
namespace {

using namespace primitives;

// Bytes of a table entry. A winner is a position plus one, and 0 means none, so 4 bytes do while every position fits.
std::uint64_t winner_bytes(const scatter_problem& p) { return p.count < ~std::uint32_t{0} ? 4 : 8; }

// Whether the whole table is cleared. If the index is short, clearing the entries that it names is faster.
bool clears_whole_table(const scatter_problem& p) { return p.indexed_count <= p.count * 8; }

plan::planned plan_last_writer(const scatter_problem& problem, const plan::scope& scope) {
  const machine& machine = scope.machine;
  plan::planned plan;
  plan.scratch_bytes = problem.indexed_count * winner_bytes(problem);
  const std::uint64_t footprint =
      problem.sequential_bytes() + 2 * problem.index_bytes() + problem.indexed_bytes() + plan.scratch_bytes;
  const plan::planned writing = to_plan(scatter_cost(problem, machine), machine, true);
  plan.add("latency", 2 * machine.step_seconds);
  plan.add("streamed", machine.streamed(problem.index_bytes(), footprint));
  plan.add("clearing", clears_whole_table(problem)
                           ? machine.streamed(plan.scratch_bytes, footprint)
                           : machine.random_writes(problem.count, winner_bytes(problem), plan.scratch_bytes));
  plan.add("atomics", machine.random_writes(problem.count, winner_bytes(problem), plan.scratch_bytes));
  plan.add("random read", machine.random_reads(problem.count, winner_bytes(problem), plan.scratch_bytes));
  plan.add("writing", writing.seconds);
  return plan;
}

template <class Winner>
__global__ void __launch_bounds__(block_threads)
    clear_named_entries(const __grid_constant__ move_arguments args, Winner* winner) {
  let_next_kernel_start();
  const std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i >= args.count) return;
  const std::uint64_t index = index_at(args, i);
  if (index < args.limit) winner[index] = 0;
}

template <class Winner>
__global__ void __launch_bounds__(block_threads)
    find_last_writers(const __grid_constant__ move_arguments args, Winner* winner) {
  wait_for_kernel_before();
  const std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i >= args.count) return;
  const std::uint64_t index = index_at(args, i);
  if (check_index(args, i, index)) atomicMax(winner + index, static_cast<Winner>(i + 1));
}

template <class Word, class Winner>
__global__ void __launch_bounds__(block_threads)
    write_last_words(const __grid_constant__ move_arguments args, const Winner* winner) {
  wait_for_kernel_before();
  const std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i >= args.count) return;
  const Word word = load_word<Word>(args.from + i * args.sequential_stride);  // in flight together with the index
  const std::uint64_t index = index_at(args, i);
  if (index < args.limit && winner[index] == i + 1) store_word(args.to + index * args.indexed_stride, word);
}

template <class Winner>
void launch_find_last_writers(const context& ctx, const scatter_problem& p, const move_arguments& args,
                              Winner* winner) {
  const std::uint64_t blocks = ceil_div(p.count, block_threads);
  if (clears_whole_table(p)) {
    require(cudaMemsetAsync(winner, 0, p.indexed_count * sizeof(Winner), ctx.stream()), ctx);
    return launch(ctx, find_last_writers<Winner>, blocks, args, winner);
  }
  launch(ctx, clear_named_entries<Winner>, blocks, args, winner);
  launch_overlapped(ctx, find_last_writers<Winner>, blocks, block_threads, 0, args, winner);
}

template <class Winner>
void launch_write_last_words(const context& ctx, const scatter_problem& p, const move_arguments& a,
                             const Winner* winner) {
  with_word(p.word_bytes, [&](auto word) {
    launch_overlapped(ctx, write_last_words<decltype(word), Winner>, ceil_div(p.count, block_threads), block_threads, 0,
                      a, winner);
  });
}

void run_last_writer(const context& ctx, const scatter_problem& problem, const plan::planned& plan,
                     const scatter_buffers& buffers, std::byte* scratch) {
  const device_scope scope(ctx.device());
  const index_guard guard = state_of(ctx).guard(scatter_wording, problem.index, problem.indexed_count);
  const move_arguments finding_arguments =
      arguments_of(problem, buffers.in.data, buffers.out.data, buffers.index, guard);
  const move_arguments moving_arguments =
      arguments_of(problem, buffers.in.data, buffers.out.data, buffers.index, index_guard{});
  const bool are_words = words_rejection(problem) == nullptr;
  if (winner_bytes(problem) == 4) {
    auto* const winner = reinterpret_cast<std::uint32_t*>(scratch);
    launch_find_last_writers(ctx, problem, finding_arguments, winner);
    if (are_words) return launch_write_last_words(ctx, problem, moving_arguments, winner);
    launch_collective<direction::scatter>(ctx, problem, moving_arguments, winner, nullptr);
  } else {
    auto* const winner = reinterpret_cast<unsigned long long*>(scratch);
    launch_find_last_writers(ctx, problem, finding_arguments, winner);
    if (are_words) return launch_write_last_words(ctx, problem, moving_arguments, winner);
    launch_collective<direction::scatter>(ctx, problem, moving_arguments, nullptr,
                                          reinterpret_cast<std::uint64_t*>(scratch));
  }
}

}  // namespace

extern constinit const scatter_variant scatter_last_writer{"cuda.last_writer", backend_kind::cuda, plan_last_writer,
                                                           run_last_writer};

}  // namespace sheaf::cuda
