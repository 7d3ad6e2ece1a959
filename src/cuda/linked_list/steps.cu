#include "cuda/linked_list/steps.cuh"

#include "cuda/device/launch.cuh"

namespace sheaf::cuda {
namespace {

using list_kernels::list_end;
using list_kernels::list_status;
using list_kernels::no_node;
using primitives::list_problem;

constexpr unsigned blocks_each = 8;  // of a streaming kernel, for each multiprocessor

/// Sets a bit for each node that is a successor. A bit that is set already belongs to a node that two lead to.
template <class Successor>
__global__ void __launch_bounds__(block_threads) mark_successors(const successor_view list, std::uint32_t count,
                                                                 std::uint32_t* has_predecessor, list_status* status) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * block_threads;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x; i < count; i += step) {
    const std::uint32_t next = successor_of<Successor>(list, static_cast<std::uint32_t>(i));
    if (next == list_kernels::list_end) continue;
    if (next >= count) {
      status->is_bad = 1;
      continue;
    }
    const std::uint32_t bit = 1U << (next % 32);
    if ((atomicOr(has_predecessor + next / 32, bit) & bit) != 0) status->is_bad = 1;
  }
}

/// Lists the nodes that are not the successor of any node.
__global__ void __launch_bounds__(block_threads)
    collect_heads(const std::uint32_t* has_predecessor, std::uint32_t count, std::uint32_t* heads,
                  list_status* status) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * block_threads;
  const std::uint64_t words = (std::uint64_t{count} + 31) / 32;
  for (std::uint64_t word = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x; word < words; word += step) {
    const std::uint64_t left = count - word * 32;
    std::uint32_t bits = ~has_predecessor[word];
    if (left < 32) bits &= (1U << left) - 1;
    if (bits == 0) continue;
    std::uint32_t place = atomicAdd(&status->heads, static_cast<unsigned>(__popc(bits)));
    for (; bits != 0; bits &= bits - 1) {
      heads[place++] =
          static_cast<std::uint32_t>(word * 32) + static_cast<std::uint32_t>(__ffs(static_cast<int>(bits))) - 1;
    }
  }
}

}  // namespace

list_call::list_call(const context& call_ctx, const list_problem& call_problem,
                     const primitives::list_buffers& call_buffers, const list_cuts& all_cuts, const list_arrays& arrays)
    : ctx(call_ctx),
      problem(call_problem),
      buffers(call_buffers),
      cuts(all_cuts),
      at(arrays),
      device_(call_ctx.device()),
      builtin_(call_buffers.type, call_buffers.op),
      kernels_(call_problem.ranks()                ? rank_operator()
               : call_buffers.on_device != nullptr ? *call_buffers.on_device
                                                   : builtin_.kernels()) {
  // A program's kernels come from headers that may be older than the library.
  const bool fits =
      kernels_.sublist_bytes <= sublist_bytes(call_problem) && kernels_.prefix_bytes <= prefix_bytes(call_problem) &&
      (call_problem.ranks() ||
       (kernels_.packed_bytes <= packed_bytes(call_problem) && kernels_.segment_bytes <= segment_bytes(call_problem)));
  if (!fits) {
    throw error(error_code::internal, "list_scan: the program was compiled with headers of another version");
  }
}

list_kernels::list_heads list_call::heads() const { return {at.heads, at.has_predecessor}; }

successor_view list_call::successors() const {
  const std::uint32_t is_signed = problem.successor == index_type::i32 || problem.successor == index_type::i64;
  if (problem.is_packed) return {static_cast<const std::uint32_t*>(buffers.nodes) + 1, 4, 2, is_signed};
  return {buffers.successor.data, static_cast<std::uint32_t>(bytes(problem.successor)), 1, is_signed};
}

list_kernels::list_input list_call::input() const {
  const successor_view list = successors();
  if (packs(problem)) return {at.packed, 4, 0};
  if (problem.is_packed) return {buffers.nodes, 4, list.is_signed};
  return {list.data, list.bytes, list.is_signed};
}

void list_call::begin() {
  const auto count = static_cast<std::uint32_t>(problem.count);
  const auto streaming = static_cast<std::uint64_t>(state_of(ctx).multiprocessors()) * blocks_each;
  const auto blocks = std::min(streaming, ceil_div(count, block_threads));
  require(cudaMemsetAsync(at.status, 0, sizeof(list_status), ctx.stream()), ctx);
  require(cudaMemsetAsync(at.unset, 0xff, at.unset_bytes, ctx.stream()), ctx);
  const successor_view list = successors();
  if (packs(problem)) {
    require(
        kernels_.pack(ctx.stream(), {at.status, list.data, list.bytes, list.is_signed, buffers.in, count, at.packed}),
        ctx);
  }
  if (problem.lists == list_count::one) return buffers.done(primitives::list_step::head);
  require(cudaMemsetAsync(at.has_predecessor, 0, (problem.count + 31) / 32 * 4, ctx.stream()), ctx);
  const auto mark = list.bytes == 4 ? mark_successors<std::uint32_t> : mark_successors<std::uint64_t>;
  launch(ctx, mark, blocks, list, count, at.has_predecessor, at.status);
  launch(ctx, collect_heads, std::min(streaming, ceil_div((count + 31) / 32, block_threads)),
         static_cast<const std::uint32_t*>(at.has_predecessor), count, at.heads, at.status);
  buffers.done(primitives::list_step::head);
}

list_kernels::walk_arguments list_call::walk_arguments() const {
  list_kernels::walk_arguments args{};
  args.status = at.status;
  args.cut = cuts.of[0];
  args.heads = heads();
  args.above = at.level[0];
  args.most_steps = most_steps(cuts.of[0].log2_block);
  args.is_exclusive = problem.is_exclusive;
  if (problem.lists == list_count::one && !packs(problem)) {
    const std::uint64_t worth = problem.count / (8 * list_kernels::list_threads) + 1;
    args.summing_blocks = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(worth, static_cast<std::uint64_t>(state_of(ctx).multiprocessors())));
  }
  return args;
}

void list_call::scan_sublists() {
  list_kernels::levels_arguments args{};
  args.status = at.status;
  args.levels = cuts.levels;
  for (std::uint32_t l = 0; l < cuts.levels; ++l) {
    args.level[l] = at.level[l];
    args.most_steps = std::max(args.most_steps, most_steps(cuts.of[l + 1].log2_block));
  }
  args.nodes = static_cast<std::uint32_t>(problem.count);
  args.last = at.last;
  args.is_forest = problem.lists == list_count::many;
  require(kernels_.scan_sublists(ctx.stream(), kernels_.op, args), ctx);
  buffers.done(primitives::list_step::sublists);
}

list_kernels::finish_arguments list_call::finish_arguments() const {
  list_kernels::finish_arguments args{};
  args.status = at.status;
  args.cut = cuts.of[0];
  args.heads = heads();
  args.prefixes = at.level[0].prefixes;
  args.is_exclusive = problem.is_exclusive;
  args.initial = buffers.initial;
  return args;
}

}  // namespace sheaf::cuda
