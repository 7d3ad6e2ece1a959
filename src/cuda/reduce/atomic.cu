#include "primitives/scatter_reduce.hpp"

#include "cuda/movement/copy/records.cuh"
#include "cuda/movement/memory_cost.hpp"
#include "cuda/reduce/block_sums.cuh"
#include "cuda/reduce/variants.hpp"
#include "primitives/operators/reduce_value.hpp"
#include "primitives/operators/with_value.hpp"

// The variant cuda.atomic: one atomic on global memory for each value. Integer sums, minima and maxima do not depend on
// the order of the atomics; sums of floats do, so a deterministic reduction order rules this variant out. Atomics on
// one slot wait for each other: where the list has hot slots, each block adds their values up in shared memory first
// (privatization, block_sums.cuh).
namespace sheaf::cuda {
namespace {

using primitives::scatter_reduce_buffers;
using primitives::scatter_reduce_problem;

/// Adds by `red`, an atomic that returns nothing. In code with branches the compiler makes atomicAdd() an atomic that
/// returns the old value, and 2^28 of these take 1.4 times as long.
template <class T>
__device__ __forceinline__ void add_to(T* slot, T value) {
  const auto address = static_cast<std::uint64_t>(__cvta_generic_to_global(slot));
  if constexpr (std::is_same_v<T, float>) {
    asm volatile("red.relaxed.gpu.global.add.f32 [%0], %1;" ::"l"(address), "f"(value) : "memory");
  } else if constexpr (std::is_same_v<T, double>) {
    asm volatile("red.relaxed.gpu.global.add.f64 [%0], %1;" ::"l"(address), "d"(value) : "memory");
  } else if constexpr (sizeof(T) == 4) {
    asm volatile("red.relaxed.gpu.global.add.u32 [%0], %1;" ::"l"(address), "r"(value) : "memory");
  } else {
    asm volatile("red.relaxed.gpu.global.add.u64 [%0], %1;" ::"l"(address), "l"(value) : "memory");
  }
}

/// The value, or its negative where the call subtracts: a difference is a sum of negatives.
template <class T>
__device__ __forceinline__ T term_of(T value, bool is_negated) {
  return is_negated ? -value : value;
}

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
      const T best = primitives::reduced<Op>(old, value);
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
    reduce_by_atomics(const __grid_constant__ move_arguments a, const T* in, T* out, bool is_negated) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i >= a.count) return;
  const T value = __ldg(in + i);  // in flight together with the index
  const std::uint64_t index = index_at(a, i, /*again=*/true);
  if (check_index(a, i, index)) combine<Op>(out + index, Op == reduction::add ? term_of(value, is_negated) : value);
}

/// Whether the list has hot slots, which atomics would wait for.
enum class hot_slots : std::uint32_t { none, present, to_be_sampled };

constexpr int adds_per_thread = 4;

/// Whether the lanes of the warp have consecutive slots. All of them call this.
__device__ __forceinline__ bool is_run_of_slots(std::uint64_t index) {
  return __all_sync(~0U, index - __shfl_sync(~0U, index, 0) == threadIdx.x % 32) != 0;
}

/// Adds values in a grid-stride loop, those of hot slots through the sums of the block. With `adds_runs_at_once`, lanes
/// that add to consecutive slots add to the output, as one transaction.
template <class T>
__global__ void __launch_bounds__(block_threads)
    add_by_atomics(const __grid_constant__ move_arguments a, const T* in, T* out, hot_slots hot, bool adds_runs_at_once,
                   bool is_negated) {
  __shared__ block_sums<T> sums;
  const bool has_hot_slots = hot == hot_slots::present || (hot == hot_slots::to_be_sampled && sample_has_hot_slots(a));
  if (has_hot_slots) sums.clear();
  __syncthreads();
  constexpr std::uint32_t tile = block_threads * adds_per_thread;
  for (std::uint64_t begin = std::uint64_t{blockIdx.x} * tile; begin < a.count;
       begin += std::uint64_t{gridDim.x} * tile) {
    T value[adds_per_thread];
    std::uint64_t index[adds_per_thread];
#pragma unroll
    for (int k = 0; k < adds_per_thread; ++k) {
      const std::uint64_t i = min(begin + k * block_threads + threadIdx.x, a.count - 1);
      value[k] = term_of(__ldcs(in + i), is_negated);
      index[k] = index_at(a, i);
    }
#pragma unroll
    for (int k = 0; k < adds_per_thread; ++k) {
      const std::uint64_t i = begin + k * block_threads + threadIdx.x;
      const bool is_run = adds_runs_at_once && is_run_of_slots(index[k]);
      if (i >= a.count || !check_index(a, i, index[k])) continue;
      if (has_hot_slots && !is_run && sums.add(static_cast<std::uint32_t>(index[k]), value[k])) continue;
      add_to(out + index[k], value[k]);
    }
  }
  if (!has_hot_slots) return;
  __syncthreads();
  sums.flush([out](std::uint32_t slot, T sum) { add_to(out + slot, sum); });
}

/// Short lists, and outputs of more slots than 32 bits number, are left to one thread a value.
bool adds_in_loop(const scatter_reduce_problem& p) {
  constexpr std::uint64_t least_count = std::uint64_t{1} << 18;
  return p.sums() && p.count >= least_count && p.indexed_count < ~std::uint32_t{0};
}

constexpr std::uint64_t few_slots = 1 << block_sums<float>::bits;  ///< a block has room for so many sums

hot_slots hot_slots_of(const scatter_reduce_problem& p) {
  using kind = access_pattern::kind;
  if (p.pattern.shape == kind::skewed || p.pattern.shape == kind::repeated) return hot_slots::present;
  if (p.pattern.shape != kind::unknown) return hot_slots::none;
  return p.indexed_count <= few_slots ? hot_slots::present : hot_slots::to_be_sampled;
}

struct atomic_tuning {
  /// A sum in shared memory takes as long as so many bytes of a copy: 2^24 values of 4 bytes, 0.16 to 0.22 ms.
  double block_sum_bytes = 24;
  /// Of the time of slots at random. Lists that nothing is said of are often in order or skewed, and then take less.
  double usual_share = 0.75;
};
constexpr atomic_tuning tuning;

/// Whether blocks add up so few values that the sums of a block, which it adds to the output at its end, are an eighth
/// of its values or more. Lanes with consecutive slots are better off without: 300,000 f32 into 1000 slots one after
/// the other took 41 us with sums on an H100, and take 17 without.
bool has_few_values_for_its_sums(const scatter_reduce_problem& p, std::uint64_t blocks) {
  return p.count < 8 * blocks * std::min(p.indexed_count, few_slots);
}

/// Blocks of add_by_atomics. Where slots are few, a block has four times as many values as sums to add to the output at
/// its end, as long as each multiprocessor has a block.
std::uint64_t blocks_of_adds(const scatter_reduce_problem& p, std::uint64_t multiprocessors) {
  constexpr std::uint64_t most_each = 8;
  const std::uint64_t blocks =
      std::min(ceil_div(p.count, block_threads * adds_per_thread), multiprocessors * most_each);
  if (hot_slots_of(p) == hot_slots::none || p.indexed_count > few_slots) return blocks;
  return std::min(blocks, std::max(multiprocessors, p.count / (4 * std::max<std::uint64_t>(1, p.indexed_count))));
}

plan::planned plan_atomic(const scatter_reduce_problem& p, const plan::scope& scope) {
  const machine& m = scope.machine;
  if (p.order_matters() && p.order == reduction_order::deterministic) {
    return plan::rejected("adds floats in the order in which workers come");
  }
  memory_cost cost = atomic_add_cost(p, m);
  const hot_slots hot = adds_in_loop(p) ? hot_slots_of(p) : hot_slots::none;
  if (hot != hot_slots::none && p.indexed_count <= few_slots) {
    cost.access = static_cast<double>(p.count) * tuning.block_sum_bytes / m.copy_bytes_per_second;
    cost.access += m.atomic_adds(blocks_of_adds(p, m.parallelism) * p.indexed_count, bytes(p.type), p.indexed_bytes());
  } else if (hot == hot_slots::to_be_sampled) {
    cost.access *= tuning.usual_share;
  }
  return to_plan(cost, m, true);
}

template <class T>
void launch_adds(const context& ctx, const scatter_reduce_problem& p, const move_arguments& a,
                 const scatter_reduce_buffers& b) {
  const std::uint64_t blocks = blocks_of_adds(p, static_cast<std::uint64_t>(state_of(ctx).multiprocessors()));
  launch(ctx, "cuda.atomic", add_by_atomics<T>, blocks, a, static_cast<const T*>(b.in.data),
         static_cast<T*>(b.out.data), hot_slots_of(p), has_few_values_for_its_sums(p, blocks),
         p.op == reduction::subtract);
}

void run_atomic(const context& ctx, const scatter_reduce_problem& p, const plan::planned&,
                const scatter_reduce_buffers& b, std::byte*) {
  const device_scope current_device(ctx.device());
  const index_guard guard = state_of(ctx).guard(primitives::scatter_reduce_words, p.index, p.indexed_count);
  const move_arguments a = arguments_of(p, nullptr, nullptr, b.index, guard);
  const std::uint64_t blocks = ceil_div(p.count, block_threads);
  // Signed sums have the bits of unsigned ones, and the kernels of sums subtract.
  value_type type = p.type;
  if (p.sums() && type == value_type::i32) type = value_type::u32;
  if (p.sums() && type == value_type::i64) type = value_type::u64;
  primitives::with_value_and_op(type, p.sums() ? reduction::add : p.op, [&](auto value, auto op) {
    using T = decltype(value);
    constexpr bool is_signed_sum = op() == reduction::add && std::is_integral_v<T> && std::is_signed_v<T>;
    if constexpr (op() != reduction::subtract && !is_signed_sum) {
      if constexpr (op() == reduction::add) {
        if (adds_in_loop(p)) return launch_adds<T>(ctx, p, a, b);
      }
      launch(ctx, "cuda.atomic", reduce_by_atomics<op(), T>, blocks, a, static_cast<const T*>(b.in.data),
             static_cast<T*>(b.out.data), p.op == reduction::subtract);
    }
  });
}

}  // namespace

constinit const primitives::scatter_reduce_variant scatter_reduce_atomic{"cuda.atomic", backend_kind::cuda, plan_atomic,
                                                                         run_atomic};

}  // namespace sheaf::cuda
