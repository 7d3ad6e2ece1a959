#include <cooperative_groups.h>

#include "cuda/device/index_guard.cuh"
#include "cuda/device/launch.cuh"
#include "cuda/linked_list/steps.cuh"

// The variant cuda.pointer_jumping, the textbook's (Wyllie 1979): each node's pointer to its predecessor moves on to
// the predecessor's own pointer until it reaches the head, in log2(n) rounds over all nodes. The other variants fall
// back on it in step 6 where their sublists are too long, because no list is worse than another for it, and where a
// list is bad, as it finds what is wrong.
namespace sheaf::cuda {
namespace {

using list_kernels::list_end;
using list_kernels::list_status;
using list_kernels::no_node;
using namespace primitives;

/// The lowest nodes with a fault; no_node, which is all bits set, where there is none. Member unchanged[r] is 0 if
/// round r of pointer jumping moved a pointer.
struct list_faults {
  std::uint32_t out_of_range;
  std::uint32_t joined;
  std::uint32_t joined_from[2];
  std::uint32_t heads[2];
  std::uint32_t on_a_cycle;
  std::uint32_t unchanged[34];
};
static_assert(sizeof(list_faults) <= 256);

using jump = list_kernels::list_jump;
using list_kernels::further_jump;

__device__ __forceinline__ jump load_jump(const jump* jumps, std::uint32_t node) {
  const unsigned long long bits = *reinterpret_cast<const volatile unsigned long long*>(jumps + node);
  return {static_cast<std::uint32_t>(bits), static_cast<std::uint32_t>(bits >> 32)};
}
__device__ __forceinline__ void store_jump(jump* jumps, std::uint32_t node, jump value) {
  *reinterpret_cast<volatile unsigned long long*>(jumps + node) =
      value.to | static_cast<unsigned long long>(value.steps) << 32;
}

struct resolve_arguments {
  list_status* status;
  successor_view list;
  std::uint32_t count;
  list_faults* faults;
  jump* jumps;
  void* ranks;  ///< null: not asked for
  std::uint32_t rank_bytes;
  bool is_forest;
  bool always;
  index_guard guard;
};

__device__ void report_fault(list_status* status, index_guard guard, list_fault fault, std::uint64_t position,
                             std::uint64_t value, std::uint64_t limit) {
  guard.wording += static_cast<int>(fault);
  guard.records = limit;
  if (fault != list_fault::out_of_range) guard.is_signed = 0;
  status->is_faulty = 1;
  report_bad_index(guard, position, value);
}

/// The steps of resolve_ranks, each by the whole grid.
template <class Successor>
struct list_resolver {
  const resolve_arguments& args;
  const cooperative_groups::grid_group grid = cooperative_groups::this_grid();
  const std::uint64_t first = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  const std::uint64_t step = std::uint64_t{gridDim.x} * block_threads;

  template <class Body>
  __device__ __forceinline__ void over_nodes(Body body) const {
    for (std::uint64_t i = first; i < args.count; i += step) body(static_cast<std::uint32_t>(i));
  }
  __device__ __forceinline__ std::uint32_t next_of(std::uint32_t node) const {
    return successor_of<Successor>(args.list, node);
  }
  __device__ __forceinline__ void report(list_fault fault, std::uint64_t position, std::uint64_t value,
                                         std::uint64_t limit) const {
    if (first == 0) report_fault(args.status, args.guard, fault, position, value, limit);
  }

  /// Points each node to its predecessor, and finds successors that are out of range or have two predecessors.
  __device__ __forceinline__ void find_predecessors() const {
    over_nodes([&](std::uint32_t i) { store_jump(args.jumps, i, {no_node, 1}); });
    grid.sync();
    over_nodes([&](std::uint32_t i) {
      const std::uint32_t next = next_of(i);
      if (next == list_end) return;
      if (next >= args.count) {
        atomicMin(&args.faults->out_of_range, i);
      } else if (atomicExch(&args.jumps[next].to, i) != no_node) {
        atomicMin(&args.faults->joined, next);
      }
    });
    grid.sync();
  }

  __device__ __forceinline__ void report_out_of_range() const {
    if (first != 0) return;
    const std::uint32_t node = args.faults->out_of_range;
    const Successor bits = static_cast<const Successor*>(args.list.data)[std::uint64_t{node} * args.list.stride];
    report(list_fault::out_of_range, node, bits, args.count);
  }

  /// Reports the node with two predecessors, with the lowest two of them.
  __device__ __forceinline__ void report_joined(std::uint32_t joined) const {
    over_nodes([&](std::uint32_t i) {
      if (next_of(i) == joined) atomicMin(&args.faults->joined_from[0], i);
    });
    grid.sync();
    over_nodes([&](std::uint32_t i) {
      if (next_of(i) == joined && i != args.faults->joined_from[0]) atomicMin(&args.faults->joined_from[1], i);
    });
    grid.sync();
    report(list_fault::two_predecessors, joined, args.faults->joined_from[0], args.faults->joined_from[1]);
  }

  /// Points heads to themselves, and finds the lowest two.
  __device__ __forceinline__ void find_heads() const {
    over_nodes([&](std::uint32_t i) {
      if (load_jump(args.jumps, i).to == no_node) atomicMin(&args.faults->heads[0], i);
    });
    grid.sync();
    over_nodes([&](std::uint32_t i) {
      if (load_jump(args.jumps, i).to != no_node) return;
      if (i != args.faults->heads[0]) atomicMin(&args.faults->heads[1], i);
      store_jump(args.jumps, i, {i, 0});
    });
    grid.sync();
  }

  /// Moves all pointers on until they have come to heads, or have gone so far that they are on args cycle.
  __device__ __forceinline__ void jump_to_heads() const {
    for (int round = 0; round < 34; ++round) {
      bool moved = false;
      over_nodes([&](std::uint32_t i) {
        const jump own = load_jump(args.jumps, i);
        if (own.steps == 0) return;
        const jump further = load_jump(args.jumps, own.to);
        if (further.steps == 0) return;  // own.to is args head
        store_jump(args.jumps, i, further_jump(own, further, args.count));
        moved = true;
      });
      if (moved) args.faults->unchanged[round] = 0;
      grid.sync();
      if (args.faults->unchanged[round] != 0 || (std::uint64_t{1} << round) > args.count) break;
    }
    over_nodes([&](std::uint32_t i) {
      if (load_jump(args.jumps, load_jump(args.jumps, i).to).steps != 0) atomicMin(&args.faults->on_a_cycle, i);
    });
    grid.sync();
  }

  __device__ __forceinline__ void store_ranks() const {
    over_nodes([&](std::uint32_t i) {
      const std::uint32_t rank = load_jump(args.jumps, i).steps;
      if (args.rank_bytes == 4) {
        static_cast<std::uint32_t*>(args.ranks)[i] = rank;
      } else {
        static_cast<std::uint64_t*>(args.ranks)[i] = rank;
      }
    });
  }
};

/// What is wrong with a list, in the order of list_fault; if nothing is, ranks by pointer jumping (Wyllie 1979), in at
/// most log2(count) + 1 rounds, however the list lies. The first steps need no splitters and no walks.
template <class Successor>
__global__ void __launch_bounds__(block_threads) resolve_ranks(const __grid_constant__ resolve_arguments args) {
  if (!args.always && args.status->is_bad == 0) return;
  const list_resolver<Successor> list{args};
  list.find_predecessors();
  if (args.faults->out_of_range != no_node) return list.report_out_of_range();
  if (const std::uint32_t joined = args.faults->joined; joined != no_node) return list.report_joined(joined);
  list.find_heads();
  if (!args.is_forest && args.faults->heads[1] != no_node) {
    return list.report(list_fault::two_heads, args.faults->heads[0], args.faults->heads[1], 0);
  }
  list.jump_to_heads();
  if (args.faults->on_a_cycle != no_node) return list.report(list_fault::on_a_cycle, args.faults->on_a_cycle, 0, 0);
  if (args.ranks != nullptr) list.store_ranks();
}

/// The arrays of resolve().
struct resolve_arrays {
  jump* jumps;
  std::uint32_t* lengths = nullptr;
  std::uint32_t* above_lengths = nullptr;
  std::uint32_t* order = nullptr;
  std::byte* sums = nullptr;
  std::byte* above_sums = nullptr;

  resolve_arrays(const list_problem& problem, core::scratch_arrays& arrays) : jumps(arrays.take<jump>(problem.count)) {
    if (problem.ranks()) return;
    if (problem.lists == list_count::many) {
      lengths = arrays.take<std::uint32_t>(problem.count);
      above_lengths = arrays.take<std::uint32_t>(list_kernels::items_above(problem.count));
    }
    order = arrays.take<std::uint32_t>(problem.count);
    sums = arrays.take<std::byte>(problem.count * segment_bytes(problem));
    above_sums = arrays.take<std::byte>(list_kernels::items_above(problem.count) * segment_bytes(problem));
  }
};

}  // namespace

std::uint64_t resolve_bytes(const list_problem& p) { return core::bytes_of<resolve_arrays>(p); }

void list_call::resolve(std::byte* scratch, bool always) {
  const auto arrays = core::arrays_in<resolve_arrays>(scratch, problem);
  resolve_arguments args{};
  args.status = at.status;
  args.list = successors();
  args.count = static_cast<std::uint32_t>(problem.count);
  args.faults = reinterpret_cast<list_faults*>(at.faults);
  args.jumps = arrays.jumps;
  args.ranks = problem.ranks() ? buffers.out : nullptr;
  args.rank_bytes = static_cast<std::uint32_t>(problem.out_bytes);
  args.is_forest = problem.lists == list_count::many;
  args.always = always;
  args.guard = state_of(ctx).guard(wording_of(problem, list_fault::out_of_range), problem.successor, problem.count);
  require(cudaMemsetAsync(args.faults, 0xff, sizeof(list_faults), ctx.stream()), ctx);
  const auto kernel = args.list.bytes == 4 ? resolve_ranks<std::uint32_t> : resolve_ranks<std::uint64_t>;
  launch_cooperative(ctx, kernel, ceil_div(problem.count, block_threads), block_threads, 0, args);
  if (problem.ranks()) return;
  list_kernels::by_rank_arguments scan{};
  scan.status = at.status;
  scan.count = args.count;
  scan.jumps = args.jumps;
  scan.lengths = arrays.lengths;
  scan.above_lengths = arrays.above_lengths;
  scan.order = arrays.order;
  scan.sums = arrays.sums;
  scan.above_sums = arrays.above_sums;
  scan.results = buffers.out;
  scan.is_exclusive = problem.is_exclusive;
  scan.initial = buffers.initial;
  scan.always = always;
  require(kernels_.scan_by_rank(ctx.stream(), kernels_.op, scan, input()), ctx);
}

namespace {

struct jumping_tuning {
  double round_barriers = 2;  ///< time of a round over few nodes, in barriers
  double round_reads = 1.8;   ///< time of a round's two reads and a write a node, over that of one read
  double run_latencies = 40;  ///< of the scan: latencies of memory for a height of runs, whose 64 items one thread adds
};
constexpr jumping_tuning tuning_of_jumping;

struct jumping_arrays : list_arrays {
  std::byte* resolving;

  jumping_arrays(const list_problem& p, const list_cuts& cuts, core::scratch_arrays& arrays)
      : list_arrays(p, cuts, arrays), resolving(arrays.take<std::byte>(resolve_bytes(p))) {}
};

plan::planned plan_pointer_jumping(const list_problem& problem, const plan::scope& scope) {
  const machine& machine = scope.machine;
  if (const char* reason = list_rejection(problem)) return plan::rejected(reason);
  constexpr std::uint32_t any_log2_block = 8;
  const auto cuts = std::make_shared<list_cuts>(problem, any_log2_block);
  plan::planned plan;
  price_head(problem, machine, plan);
  const std::uint64_t footprint = problem.count * sizeof(list_kernels::list_jump);
  const double rounds = std::ceil(std::log2(static_cast<double>(problem.count) + 1)) + 1;
  plan.add("predecessors", machine.random_writes(problem.count, sizeof(std::uint32_t), footprint));
  plan.add("rounds", rounds * (tuning_of_jumping.round_barriers * machine.barrier_seconds +
                               tuning_of_jumping.round_reads *
                                   machine.random_reads(problem.count, sizeof(list_kernels::list_jump), footprint) +
                               machine.streamed(2 * footprint, footprint)));
  if (!problem.ranks()) {
    const std::uint64_t sums = problem.count * segment_bytes(problem);
    plan.add("order", machine.random_writes(problem.count, segment_bytes(problem), sums) +
                          machine.random_writes(problem.count, 4, 4 * problem.count));
    const double heights = std::ceil(std::log2(static_cast<double>(problem.count) + 1) / 6);
    plan.add("scan",
             machine.streamed(4 * sums, sums) + heights * tuning_of_jumping.run_latencies * machine.access_seconds);
    plan.add("results", machine.random_writes(problem.count, problem.out_bytes, problem.count * problem.out_bytes));
  }
  plan.scratch_bytes = core::bytes_of<jumping_arrays>(problem, *cuts);
  plan.inner_calls = cuts;
  return plan;
}

void run_pointer_jumping(const context& ctx, const list_problem& p, const plan::planned& plan,
                         const list_buffers& buffers, std::byte* scratch) {
  const auto& cuts = plan.inner<list_cuts>();
  const auto at = core::arrays_in<jumping_arrays>(scratch, p, cuts);
  list_call call(ctx, p, buffers, cuts, at);
  call.begin();
  call.resolve(at.resolving, true);
  buffers.done(list_step::results);
}

}  // namespace

extern constinit const list_variant list_pointer_jumping{"cuda.pointer_jumping", backend_kind::cuda,
                                                         plan_pointer_jumping, run_pointer_jumping};

}  // namespace sheaf::cuda
