#include <cooperative_groups.h>

#include "cuda/device/index_guard.cuh"
#include "cuda/device/launch.cuh"
#include "cuda/linked_list/steps.hpp"
#include "cuda/linked_list/successors.cuh"

// Step 6: what is wrong with a list that the other steps found bad, or its ranks by pointer jumping if nothing is.
namespace sheaf::cuda {
namespace {

using list_kernels::list_end;
using list_kernels::list_status;
using list_kernels::no_node;
using primitives::list_fault;
using primitives::list_problem;

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

__device__ void report(list_status* status, index_guard guard, list_fault fault, std::uint64_t position,
                       std::uint64_t value, std::uint64_t limit) {
  guard.words += static_cast<int>(fault);
  guard.records = limit;
  if (fault != list_fault::out_of_range) guard.is_signed = 0;
  status->is_faulty = 1;
  report_bad_index(guard, position, value);
}

/// What is wrong with a list, in the order of list_fault; if nothing is, ranks by pointer jumping (Wyllie 1979), in at
/// most log2(count) + 1 rounds, however the list lies. The first steps need no splitters and no walks.
template <class Successor>
__global__ void __launch_bounds__(block_threads) resolve_ranks(const __grid_constant__ resolve_arguments a) {
  if (!a.always && a.status->is_bad == 0) return;
  const auto grid = cooperative_groups::this_grid();
  const std::uint64_t first = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  const std::uint64_t step = std::uint64_t{gridDim.x} * block_threads;
  const bool is_reporter = first == 0;
  const auto over_nodes = [&](auto body) {
    for (std::uint64_t i = first; i < a.count; i += step) body(static_cast<std::uint32_t>(i));
  };
  const auto next_of = [&](std::uint32_t node) { return successor_of<Successor>(a.list, node); };

  over_nodes([&](std::uint32_t i) { store_jump(a.jumps, i, {no_node, 1}); });
  grid.sync();
  over_nodes([&](std::uint32_t i) {
    const std::uint32_t next = next_of(i);
    if (next == list_end) return;
    if (next >= a.count) {
      atomicMin(&a.faults->out_of_range, i);
    } else if (atomicExch(&a.jumps[next].to, i) != no_node) {
      atomicMin(&a.faults->joined, next);
    }
  });
  grid.sync();
  if (a.faults->out_of_range != no_node) {
    if (is_reporter) {
      const std::uint32_t node = a.faults->out_of_range;
      const Successor bits = static_cast<const Successor*>(a.list.data)[std::uint64_t{node} * a.list.stride];
      report(a.status, a.guard, list_fault::out_of_range, node, bits, a.count);
    }
    return;
  }
  const std::uint32_t joined = a.faults->joined;
  if (joined != no_node) {
    over_nodes([&](std::uint32_t i) {
      if (next_of(i) == joined) atomicMin(&a.faults->joined_from[0], i);
    });
    grid.sync();
    over_nodes([&](std::uint32_t i) {
      if (next_of(i) == joined && i != a.faults->joined_from[0]) atomicMin(&a.faults->joined_from[1], i);
    });
    grid.sync();
    if (is_reporter) {
      report(a.status, a.guard, list_fault::two_predecessors, joined, a.faults->joined_from[0],
             a.faults->joined_from[1]);
    }
    return;
  }
  over_nodes([&](std::uint32_t i) {
    if (load_jump(a.jumps, i).to == no_node) atomicMin(&a.faults->heads[0], i);
  });
  grid.sync();
  over_nodes([&](std::uint32_t i) {
    if (load_jump(a.jumps, i).to != no_node) return;
    if (i != a.faults->heads[0]) atomicMin(&a.faults->heads[1], i);
    store_jump(a.jumps, i, {i, 0});
  });
  grid.sync();
  if (!a.is_forest && a.faults->heads[1] != no_node) {
    if (is_reporter) report(a.status, a.guard, list_fault::two_heads, a.faults->heads[0], a.faults->heads[1], 0);
    return;
  }
  for (int round = 0; round < 34; ++round) {
    bool moved = false;
    over_nodes([&](std::uint32_t i) {
      const jump own = load_jump(a.jumps, i);
      if (own.steps == 0) return;
      const jump further = load_jump(a.jumps, own.to);
      if (further.steps == 0) return;  // own.to is a head
      store_jump(a.jumps, i, further_jump(own, further, a.count));
      moved = true;
    });
    if (moved) a.faults->unchanged[round] = 0;
    grid.sync();
    if (a.faults->unchanged[round] != 0 || (std::uint64_t{1} << round) > a.count) break;
  }
  over_nodes([&](std::uint32_t i) {
    if (load_jump(a.jumps, load_jump(a.jumps, i).to).steps != 0) atomicMin(&a.faults->on_a_cycle, i);
  });
  grid.sync();
  if (a.faults->on_a_cycle != no_node) {
    if (is_reporter) report(a.status, a.guard, list_fault::on_a_cycle, a.faults->on_a_cycle, 0, 0);
    return;
  }
  if (a.ranks == nullptr) return;
  over_nodes([&](std::uint32_t i) {
    const std::uint32_t rank = load_jump(a.jumps, i).steps;
    if (a.rank_bytes == 4) {
      static_cast<std::uint32_t*>(a.ranks)[i] = rank;
    } else {
      static_cast<std::uint64_t*>(a.ranks)[i] = rank;
    }
  });
}

/// Where the arrays of resolve() begin, in bytes.
struct resolve_layout {
  std::uint64_t jumps, lengths = 0, above_lengths = 0, order = 0, sums = 0, above_sums = 0, end;

  explicit resolve_layout(const list_problem& p) {
    core::scratch_offsets arrays;
    jumps = arrays.take(p.count * sizeof(jump));
    if (!p.ranks()) {
      if (p.lists == list_count::many) {
        lengths = arrays.take(p.count * sizeof(std::uint32_t));
        above_lengths = arrays.take(list_kernels::items_above(p.count) * sizeof(std::uint32_t));
      }
      order = arrays.take(p.count * sizeof(std::uint32_t));
      sums = arrays.take(p.count * segment_bytes(p));
      above_sums = arrays.take(list_kernels::items_above(p.count) * segment_bytes(p));
    }
    end = arrays.bytes();
  }
};

}  // namespace

std::uint64_t resolve_bytes(const list_problem& p) { return resolve_layout(p).end; }

void list_call::resolve(std::byte* resolve_scratch, bool always) {
  const resolve_layout arrays(problem);
  resolve_arguments a{};
  a.status = status();
  a.list = successors();
  a.count = static_cast<std::uint32_t>(problem.count);
  a.faults = reinterpret_cast<list_faults*>(scratch_ + layout.resolve);
  a.jumps = reinterpret_cast<jump*>(resolve_scratch + arrays.jumps);
  a.ranks = problem.ranks() ? buffers.out : nullptr;
  a.rank_bytes = static_cast<std::uint32_t>(problem.out_bytes);
  a.is_forest = problem.lists == list_count::many;
  a.always = always;
  a.guard = state_of(ctx).guard(words_of(problem, list_fault::out_of_range), problem.successor, problem.count);
  require(cudaMemsetAsync(a.faults, 0xff, sizeof(list_faults), ctx.stream()), ctx);
  const std::uint64_t most_blocks = ceil_div(problem.count, block_threads);
  if (a.list.bytes == 4) {
    launch_cooperative(ctx, resolve_ranks<std::uint32_t>, most_blocks, block_threads, 0, a);
  } else {
    launch_cooperative(ctx, resolve_ranks<std::uint64_t>, most_blocks, block_threads, 0, a);
  }
  if (problem.ranks()) return;
  list_kernels::by_rank_arguments r{};
  r.status = status();
  r.count = a.count;
  r.jumps = a.jumps;
  if (a.is_forest) {
    r.lengths = reinterpret_cast<std::uint32_t*>(resolve_scratch + arrays.lengths);
    r.above_lengths = reinterpret_cast<std::uint32_t*>(resolve_scratch + arrays.above_lengths);
  }
  r.order = reinterpret_cast<std::uint32_t*>(resolve_scratch + arrays.order);
  r.sums = resolve_scratch + arrays.sums;
  r.above_sums = resolve_scratch + arrays.above_sums;
  r.results = buffers.out;
  r.is_exclusive = problem.is_exclusive;
  r.initial = buffers.initial;
  r.always = always;
  require(kernels_.scan_by_rank(ctx.stream(), kernels_.op, r, input()), ctx);
}

}  // namespace sheaf::cuda
