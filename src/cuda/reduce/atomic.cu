#include "cuda/reduce/atomic.hpp"

#include <type_traits>

#include "cuda/movement/copy/records.cuh"
#include "cuda/movement/memory_cost.hpp"
#include "cuda/reduce/block_sums.cuh"
#include "cuda/reduce/terms.cuh"
#include "primitives/operators/reduce_value.hpp"
#include "primitives/operators/with_value.hpp"

// The variant cuda.atomic: one atomic on global memory for each value. Integer sums, minima and maxima do not depend on
// the order of the atomics; sums of floats do, so a deterministic reduction order rules this variant out. Atomics on
// one slot wait for each other: where the list has hot slots, each block adds their values up in shared memory first
// (privatization, block_sums.cuh).
namespace sheaf::cuda {
namespace {

using namespace primitives;

template <reduction Op, class T>
__device__ __forceinline__ void combine(T* slot, T value) {
  if constexpr (Op == reduction::add) {
    add_to(slot, value);
  } else if constexpr (std::is_integral_v<T>) {
    using wide = std::conditional_t<std::is_signed_v<T>, long long, unsigned long long>;
    using word = std::conditional_t<sizeof(T) == 4, T, wide>;
    if constexpr (Op == reduction::min) {
      atomicMin(reinterpret_cast<word*>(slot), static_cast<word>(value));
    } else {
      atomicMax(reinterpret_cast<word*>(slot), static_cast<word>(value));
    }
  } else {
    // A compare-and-swap loop, because the hardware's atomics do not treat NaN and the two zeros as the contract does.
    // Most values change nothing and end it at once.
    using bits = std::conditional_t<sizeof(T) == 4, unsigned, unsigned long long>;
    auto* const address = reinterpret_cast<bits*>(slot);
    bits seen = *static_cast<volatile bits*>(address);
    while (true) {
      T old;
      memcpy(&old, &seen, sizeof(T));
      const T best = reduced<Op>(old, value);
      bits wanted;
      memcpy(&wanted, &best, sizeof(T));
      if (wanted == seen) return;
      const bits before = atomicCAS(address, seen, wanted);
      if (before == seen) return;
      seen = before;
    }
  }
}

/// One thread a value. Minima and maxima are of values as they are.
template <reduction Op, class T>
__global__ void __launch_bounds__(block_threads)
    reduce_by_atomics(const __grid_constant__ move_arguments args, const T* in, T* out, bool is_negated) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i >= args.count) return;
  const T value = __ldg(in + i);  // in flight together with the index
  const std::uint64_t index = index_at(args, i, /*again=*/true);
  if (check_index(args, i, index)) combine<Op>(out + index, Op == reduction::add ? term_of(value, is_negated) : value);
}

/// Whether the list has hot slots, which atomics would wait for.
enum class hot_slots : std::uint32_t { none, present, to_be_sampled };

constexpr int adds_per_thread = 4;

/// Whether the lanes of the warp have consecutive slots. All of them call this.
__device__ __forceinline__ bool is_run_of_slots(std::uint64_t index) {
  return __all_sync(~0U, index - __shfl_sync(~0U, index, 0) == threadIdx.x % 32) != 0;
}

constexpr std::uint32_t adds_tile = block_threads * adds_per_thread;

/// What a thread adds of a tile.
template <class T>
struct tile_of_terms {
  T value[adds_per_thread];
  std::uint64_t index[adds_per_thread];

  __device__ __forceinline__ void load(const move_arguments& args, const T* in, bool is_negated, std::uint64_t begin) {
#pragma unroll
    for (int k = 0; k < adds_per_thread; ++k) {
      const std::uint64_t i = min(begin + k * block_threads + threadIdx.x, args.count - 1);
      value[k] = term_of(__ldcs(in + i), is_negated);
      index[k] = index_at(args, i);
    }
  }

  /// Adds the values, by `add` where it says that it has done so, else by atomics. All lanes of a warp call
  /// asks_add(slot), which says whether `add` is asked.
  template <class AsksAdd, class Add>
  __device__ __forceinline__ void add_to_output(const move_arguments& args, T* out, std::uint64_t begin,
                                                AsksAdd asks_add, Add add) const {
#pragma unroll
    for (int k = 0; k < adds_per_thread; ++k) {
      const std::uint64_t i = begin + k * block_threads + threadIdx.x;
      const bool is_asked = asks_add(index[k]);
      if (i >= args.count || !check_index(args, i, index[k])) continue;
      if (is_asked && add(static_cast<std::uint32_t>(index[k]), value[k])) continue;
      add_to(out + index[k], value[k]);
    }
  }
};

__device__ __forceinline__ unsigned long long route_of(const unsigned long long* verdict) {
  return verdict[blockIdx.x % order_verdict::copies * order_verdict::copy_words];
}

constexpr int tiles_in_order = 2;  ///< of a block of add_in_order

/// Adds values where the device has chosen the route of atomics, a few tiles a block. The device starts blocks in
/// order, so that all of them work on one stretch of the list: blocks that loop drift apart, and lines that they share
/// leave the cache in between. 2^27 f32 inside windows of 2^16 slots take 1.7 ms, in a loop 4.1.
template <class T>
__global__ void __launch_bounds__(block_threads)
    add_in_order(const __grid_constant__ move_arguments args, const T* in, T* out, bool is_negated,
                 const unsigned long long* verdict) {
  wait_for_kernel_before();
  if (route_of(verdict) != sum_route::atomics) return;
  for (int t = 0; t < tiles_in_order; ++t) {
    const std::uint64_t begin = (std::uint64_t{blockIdx.x} * tiles_in_order + t) * adds_tile;
    if (begin >= args.count) return;
    tile_of_terms<T> tile;
    tile.load(args, in, is_negated, begin);
    tile.add_to_output(
        args, out, begin, [](std::uint64_t) { return false; }, [](std::uint32_t, T) { return false; });
  }
}

constexpr std::uint64_t tiles_of_short_lists = 2;  ///< of a block of add_by_atomics

/// Whether most of 256 neighbours have the slot of the one before, so that a block's sums pay although no slot is hot.
/// One H200, 2^20 values in order by kernels with and without these sums, us: 100 and 400 a slot, u32 20 for 41, 18 for
/// 80; f32 44 for 43, 74 for 91; f64 52 for 40, 77 for 74; 32 a slot, u32 20 for 27, f32 31 for 28.
template <class T>
__device__ __forceinline__ bool are_long_runs(std::uint64_t slot) {
  constexpr int most_changes = sizeof(T) > 4 ? -1 : std::is_integral_v<T> ? 8 : 1;
  if constexpr (most_changes < 0) return false;
  const std::uint64_t before = __shfl_up_sync(~0U, slot, 1);
  return __syncthreads_count(threadIdx.x % 32 != 0 && slot != before) <= most_changes;
}

/// Whether a block finds hot slots: from a sample of the list. Of a short list, the block first looks at the slots of
/// its first tile, which is loaded before, so that it waits for memory once: 300,000 f32 in order take 5.3 us as a
/// plain kernel does, and took 6.7. Only where these repeat does it sample the list, too, because neighbours repeat in
/// a list that is sorted by slots, of which none is hot.
template <class T>
__device__ __forceinline__ bool finds_hot_slots(const move_arguments& args, const tile_of_terms<T>& first_tile) {
  const bool is_short = args.count <= gridDim.x * (tiles_of_short_lists * adds_tile);
  bool looks_at_neighbours = is_short;
  // One call in a loop, because each has a table in shared memory. All threads have the same answer.
#pragma unroll 1
  while (true) {
    const bool are_hot = sample_has_hot_slots(args.count, [&](std::uint64_t entry) {
      return looks_at_neighbours ? first_tile.index[0] : index_at(args, entry, /*again=*/true);
    });
    if (!are_hot || !looks_at_neighbours) return are_hot;
    if (are_long_runs<T>(first_tile.index[0])) return true;
    looks_at_neighbours = false;
  }
}

/// Adds values in a grid-stride loop, those of hot slots through the sums of the block. With `adds_runs_at_once`, lanes
/// that add to consecutive slots add to the output, as one transaction. Where the device has chosen a route, adds on
/// the one for hot slots alone; else blocks look for these themselves.
template <class T>
__global__ void __launch_bounds__(block_threads)
    add_by_atomics(const __grid_constant__ move_arguments args, const T* in, T* out, hot_slots hot,
                   bool adds_runs_at_once, bool is_negated, const unsigned long long* verdict) {
  wait_for_kernel_before();
  if (verdict != nullptr && route_of(verdict) != sum_route::block_sums) return;
  __shared__ block_sums<T> sums;
  std::uint64_t begin = std::uint64_t{blockIdx.x} * adds_tile;
  tile_of_terms<T> tile;
  tile.load(args, in, is_negated, begin);
  const bool has_hot_slots = verdict != nullptr || hot == hot_slots::present ||
                             (hot == hot_slots::to_be_sampled && finds_hot_slots(args, tile));
  if (has_hot_slots) sums.clear();
  __syncthreads();
  while (begin < args.count) {
    tile.add_to_output(
        args, out, begin,
        [&](std::uint64_t slot) { return has_hot_slots && !(adds_runs_at_once && is_run_of_slots(slot)); },
        [&](std::uint32_t slot, T value) { return sums.add(slot, value); });
    begin += std::uint64_t{gridDim.x} * adds_tile;
    if (begin < args.count) tile.load(args, in, is_negated, begin);
  }
  if (!has_hot_slots) return;
  __syncthreads();
  sums.flush([out](std::uint32_t slot, T sum) { add_to(out + slot, sum); });
}

constexpr std::uint64_t few_slots = 1 << block_sums<float>::bits;  ///< a block has room for so many sums

hot_slots hot_slots_of(const scatter_reduce_problem& p) {
  using kind = access_pattern::kind;
  if (p.pattern.shape == kind::skewed || p.pattern.shape == kind::repeated) return hot_slots::present;
  if (p.pattern.shape != kind::unknown) return hot_slots::none;
  return p.indexed_count <= few_slots ? hot_slots::present : hot_slots::to_be_sampled;
}

/// Lists without hot slots are left to one thread a value, so that all blocks work on one stretch of them: 2^27 f32 in
/// order take 0.54 ms, in a loop 0.64. So are short lists, and outputs of more slots than 32 bits number.
bool adds_in_loop(const scatter_reduce_problem& p) {
  constexpr std::uint64_t least_count = std::uint64_t{1} << 18;
  return p.sums() && p.count >= least_count && p.indexed_count < ~std::uint32_t{0} &&
         hot_slots_of(p) != hot_slots::none;
}

struct atomic_tuning {
  /// A sum in shared memory takes as long as so many bytes of a copy: 2^24 values of 4 bytes, 0.16 to 0.22 ms.
  double block_sum_bytes = 24;
  /// Of the time of slots at random. Lists that nothing is said of are often in order or skewed, and then take less.
  double usual_share = 0.75;
};
constexpr atomic_tuning tuning_of_atomic;

/// Whether blocks add up so few values that the sums of a block, which it adds to the output at its end, are an eighth
/// of its values or more. Lanes with consecutive slots are better off without: 300,000 f32 into 1000 slots one after
/// the other took 41 us with sums on an H100, and take 17 without.
bool has_few_values_for_its_sums(const scatter_reduce_problem& p, std::uint64_t blocks) {
  return p.count < 8 * blocks * std::min(p.indexed_count, few_slots);
}

/// Blocks of add_by_atomics. Where slots are few, a block has four times as many values as sums to add to the output at
/// its end, as long as each multiprocessor has a block.
std::uint64_t blocks_of_adds(const scatter_reduce_problem& problem, std::uint64_t multiprocessors) {
  constexpr std::uint64_t most_each = 8;
  const std::uint64_t blocks =
      std::min(ceil_div(problem.count, block_threads * adds_per_thread), multiprocessors * most_each);
  if (hot_slots_of(problem) == hot_slots::none || problem.indexed_count > few_slots) return blocks;
  return std::min(blocks,
                  std::max(multiprocessors, problem.count / (4 * std::max<std::uint64_t>(1, problem.indexed_count))));
}

plan::planned plan_atomic(const scatter_reduce_problem& problem, const plan::scope& scope) {
  const machine& machine = scope.machine;
  if (problem.order_matters() && problem.order == reduction_order::deterministic) {
    return plan::rejected("adds floats in the order in which workers arrive");
  }
  memory_cost cost = atomic_add_cost(problem, machine);
  const hot_slots hot = adds_in_loop(problem) ? hot_slots_of(problem) : hot_slots::none;
  if (hot != hot_slots::none && problem.indexed_count <= few_slots) {
    cost.access = static_cast<double>(problem.count) * tuning_of_atomic.block_sum_bytes / machine.copy_bytes_per_second;
    cost.access += machine.atomic_adds(blocks_of_adds(problem, machine.parallelism) * problem.indexed_count,
                                       bytes(problem.type), problem.indexed_bytes());
  } else if (hot == hot_slots::to_be_sampled) {
    cost.access *= tuning_of_atomic.usual_share;
  }
  return to_plan(cost, machine, true);
}

template <class T>
void launch_adds(const context& ctx, const scatter_reduce_problem& problem, const move_arguments& args,
                 const scatter_reduce_buffers& buffers, const unsigned long long* verdict) {
  const std::uint64_t blocks = blocks_of_adds(problem, static_cast<std::uint64_t>(state_of(ctx).multiprocessors()));
  const auto launch_kernel = [&](const auto&... arguments) {
    if (verdict != nullptr) {
      launch_overlapped(ctx, add_by_atomics<T>, blocks, block_threads, 0, arguments...);
    } else {
      launch(ctx, add_by_atomics<T>, blocks, arguments...);
    }
  };
  launch_kernel(args, static_cast<const T*>(buffers.in.data), static_cast<T*>(buffers.out.data), hot_slots_of(problem),
                has_few_values_for_its_sums(problem, blocks), problem.op == reduction::subtract, verdict);
}

void run_atomic(const context& ctx, const scatter_reduce_problem& problem, const plan::planned&,
                const scatter_reduce_buffers& buffers, std::byte*) {
  const device_scope current_device(ctx.device());
  const index_guard guard = state_of(ctx).guard(scatter_reduce_wording, problem.index, problem.indexed_count);
  const move_arguments args = arguments_of(problem, nullptr, nullptr, buffers.index, guard);
  const std::uint64_t blocks = ceil_div(problem.count, block_threads);
  const auto reduce = [&](auto value, auto op) {
    using T = decltype(value);
    launch(ctx, reduce_by_atomics<op(), T>, blocks, args, static_cast<const T*>(buffers.in.data),
           static_cast<T*>(buffers.out.data), problem.op == reduction::subtract);
  };
  if (adds_in_loop(problem)) {
    return with_term(problem.type,
                     [&](auto term) { launch_adds<decltype(term)>(ctx, problem, args, buffers, nullptr); });
  }
  if (problem.sums()) {
    return with_term(problem.type,
                     [&](auto term) { reduce(term, std::integral_constant<reduction, reduction::add>{}); });
  }
  with_value_and_op(problem.type, problem.op, [&](auto value, auto op) {
    if constexpr (op() == reduction::min || op() == reduction::max) reduce(value, op);
  });
}

}  // namespace

void add_by_route(const context& ctx, const scatter_reduce_problem& problem, const move_arguments& args,
                  const scatter_reduce_buffers& buffers, const unsigned long long* verdict) {
  with_term(problem.type, [&](auto term) {
    using T = decltype(term);
    launch_overlapped(ctx, add_in_order<T>, ceil_div(problem.count, adds_tile * tiles_in_order), block_threads, 0, args,
                      static_cast<const T*>(buffers.in.data), static_cast<T*>(buffers.out.data),
                      problem.op == reduction::subtract, verdict);
    launch_adds<T>(ctx, problem, args, buffers, verdict);
  });
}

extern constinit const scatter_reduce_variant scatter_reduce_atomic{"cuda.atomic", backend_kind::cuda, plan_atomic,
                                                                    run_atomic};

}  // namespace sheaf::cuda
