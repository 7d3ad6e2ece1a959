#include "primitives/scatter_reduce.hpp"

#include "cuda/movement/memory_cost.hpp"
#include "cuda/movement/record_copy.cuh"
#include "primitives/reduce_value.hpp"
#include "primitives/with_value.hpp"

// One atomic a value: exact for integers, minima and maxima whatever the order, and for sums of floats as good as the
// order that they happen to come in. Where few slots get many of the values, blocks add those up in shared memory
// first: atomics on one slot wait for each other.
namespace sheaf::cuda {
namespace {

using primitives::scatter_reduce_buffers;
using primitives::scatter_reduce_problem;

plan::planned plan_atomic(const scatter_reduce_problem& p, const machine& m) {
  if (p.backend != backend_kind::cuda) return plan::rejected("works on CUDA memory");
  if (p.order_matters() && p.order == reduction_order::deterministic) {
    return plan::rejected("adds floats in the order in which workers come");
  }
  return to_plan(atomic_add_cost(p, m), m, true);
}

/// Adds without a result. In code with branches the compiler makes an atomic that returns one of atomicAdd(), and 2^28
/// of these take 1.4 times as long.
template <class T>
__device__ __forceinline__ void add_to(T* slot, T value) {
  const auto place = static_cast<std::uint64_t>(__cvta_generic_to_global(slot));
  if constexpr (std::is_same_v<T, float>) {
    asm volatile("red.relaxed.gpu.global.add.f32 [%0], %1;" ::"l"(place), "f"(value) : "memory");
  } else if constexpr (std::is_same_v<T, double>) {
    asm volatile("red.relaxed.gpu.global.add.f64 [%0], %1;" ::"l"(place), "d"(value) : "memory");
  } else if constexpr (sizeof(T) == 4) {
    asm volatile("red.relaxed.gpu.global.add.u32 [%0], %1;" ::"l"(place), "r"(value) : "memory");
  } else {
    asm volatile("red.relaxed.gpu.global.add.u64 [%0], %1;" ::"l"(place), "l"(value) : "memory");
  }
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
    // No atomic of the hardware knows NaN and the two zeros as we promise them; most values change nothing.
    using bits = std::conditional_t<sizeof(T) == 4, unsigned, unsigned long long>;
    auto* const place = reinterpret_cast<bits*>(slot);
    bits seen = *static_cast<volatile bits*>(place);
    while (true) {
      T old;
      memcpy(&old, &seen, sizeof(T));
      const T best = primitives::reduced<Op>(old, value);
      bits wanted;
      memcpy(&wanted, &best, sizeof(T));
      if (wanted == seen) return;
      const bits before = atomicCAS(place, seen, wanted);
      if (before == seen) return;
      seen = before;
    }
  }
}

template <reduction Op, class T>
__global__ void __launch_bounds__(block_threads)
    reduce_atomically(const __grid_constant__ move_arguments a, const T* in, T* out) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i >= a.count) return;
  const T value = __ldg(in + i);  // beside the index, not after it
  const std::uint64_t index = index_at(a, i, /*again=*/true);
  if (check_index(a, i, index)) combine<Op>(out + index, value);
}

/// Sums of a block for slots that it came upon early, which those with many values are. A slot has one place that it
/// may have; whoever comes first keeps it.
template <class T>
struct slot_cache {
  static constexpr std::uint32_t bits = 11;
  static constexpr std::uint32_t free_place = ~0U;
  std::uint32_t slot[1 << bits];
  T sum[1 << bits];

  __device__ __forceinline__ void clear() {
    for (std::uint32_t i = threadIdx.x; i < 1U << bits; i += block_threads) {
      slot[i] = free_place;
      sum[i] = T(-0.0);  // x + this is x, for -0 too
    }
  }
  /// Whether the value is added here.
  __device__ __forceinline__ bool add(std::uint32_t to, T value) {
    const std::uint32_t i = to * 0x9e3779b9U >> (32 - bits);
    std::uint32_t owner = *static_cast<volatile std::uint32_t*>(slot + i);
    if (owner == free_place) {
      owner = atomicCAS(slot + i, free_place, to);
      if (owner == free_place) owner = to;
    }
    if (owner != to) return false;
    if constexpr (sizeof(T) == 8 && std::is_integral_v<T>) {
      atomicAdd(reinterpret_cast<unsigned long long*>(sum + i), static_cast<unsigned long long>(value));
    } else {
      atomicAdd(sum + i, value);
    }
    return true;
  }
  __device__ __forceinline__ void flush(T* out) const {
    for (std::uint32_t i = threadIdx.x; i < 1U << bits; i += block_threads) {
      if (slot[i] != free_place) add_to(out + slot[i], sum[i]);
    }
  }
};

/// Whether values crowd in few slots: of 256 entries of the list, 16 or more name a slot that another one names too. At
/// random over 2^16 slots one does in two lists. Called by all threads of a block.
__device__ __forceinline__ bool is_crowded(const move_arguments& a) {
  constexpr std::uint32_t places = 1024;
  constexpr int least_shared = 16;
  __shared__ unsigned long long last[places];
  const std::uint64_t entry = a.count / block_threads * threadIdx.x + threadIdx.x * 29 % 64;
  const auto slot = static_cast<std::uint32_t>(index_at(a, min(entry, a.count - 1), /*again=*/true));
  const std::uint32_t place = slot * 0x9e3779b9U >> 22;
  const unsigned long long mine = static_cast<unsigned long long>(slot) << 32 | threadIdx.x;
  atomicExch(last + place, mine);
  __syncthreads();
  const unsigned long long other = last[place];
  return __syncthreads_count(other != mine && other >> 32 == slot) >= least_shared;
}

enum class crowding : std::uint32_t { none, sure, looked_for };

constexpr int added_at_once = 4;

/// Sums, by blocks that walk over the list.
template <class T>
__global__ void __launch_bounds__(block_threads)
    add_values(const __grid_constant__ move_arguments a, const T* in, T* out, crowding crowds) {
  __shared__ slot_cache<T> cache;
  const bool crowded = crowds == crowding::sure || (crowds == crowding::looked_for && is_crowded(a));
  if (crowded) cache.clear();
  __syncthreads();
  constexpr std::uint32_t tile = block_threads * added_at_once;
  for (std::uint64_t begin = std::uint64_t{blockIdx.x} * tile; begin < a.count;
       begin += std::uint64_t{gridDim.x} * tile) {
    T value[added_at_once];
    std::uint64_t index[added_at_once];
#pragma unroll
    for (int k = 0; k < added_at_once; ++k) {
      const std::uint64_t i = min(begin + k * block_threads + threadIdx.x, a.count - 1);
      value[k] = __ldcs(in + i);
      index[k] = index_at(a, i);
    }
#pragma unroll
    for (int k = 0; k < added_at_once; ++k) {
      const std::uint64_t i = begin + k * block_threads + threadIdx.x;
      if (i >= a.count || !check_index(a, i, index[k])) continue;
      if (crowded && cache.add(static_cast<std::uint32_t>(index[k]), value[k])) continue;
      add_to(out + index[k], value[k]);
    }
  }
  if (!crowded) return;
  __syncthreads();
  cache.flush(out);
}

/// Short lists and slots past 32 bits are added one by one.
bool walks(const scatter_reduce_problem& p) {
  constexpr std::uint64_t least_count = std::uint64_t{1} << 18;
  return p.op == reduction::add && p.count >= least_count && p.indexed_count < ~std::uint32_t{0};
}

crowding crowding_of(const access_pattern& pattern) {
  using kind = access_pattern::kind;
  if (pattern.shape == kind::skewed || pattern.shape == kind::repeated) return crowding::sure;
  return pattern.shape == kind::unknown ? crowding::looked_for : crowding::none;
}

template <class T>
void queue_walk(const context& ctx, const scatter_reduce_problem& p, const move_arguments& a,
                const scatter_reduce_buffers& b) {
  constexpr std::uint64_t blocks_each = 8;
  const std::uint64_t tiles = ceil_div(p.count, block_threads * added_at_once);
  const std::uint64_t blocks =
      std::min(tiles, static_cast<std::uint64_t>(state_of(ctx).multiprocessors()) * blocks_each);
  launch(ctx, "cuda.atomic", add_values<T>, blocks, a, static_cast<const T*>(b.in.data), static_cast<T*>(b.out.data),
         crowding_of(p.pattern));
}

void run_atomic(const context& ctx, const scatter_reduce_problem& p, const plan::planned&,
                const scatter_reduce_buffers& b) {
  const device_scope here(ctx.device());
  const index_guard guard = state_of(ctx).guard(core::index_role::slot_index, p.index, p.indexed_count);
  const move_arguments a = arguments_of(p, nullptr, nullptr, b.index, guard);
  const std::uint64_t blocks = ceil_div(p.count, block_threads);
  // Sums of signed numbers are those of unsigned ones, bit by bit.
  value_type type = p.type;
  if (p.op == reduction::add && type == value_type::i32) type = value_type::u32;
  if (p.op == reduction::add && type == value_type::i64) type = value_type::u64;
  primitives::with_value_and_op(type, p.op, [&](auto value, auto op) {
    using T = decltype(value);
    if constexpr (!(op() == reduction::add && std::is_integral_v<T> && std::is_signed_v<T>)) {
      if constexpr (op() == reduction::add) {
        if (walks(p)) return queue_walk<T>(ctx, p, a, b);
      }
      launch(ctx, "cuda.atomic", reduce_atomically<op(), T>, blocks, a, static_cast<const T*>(b.in.data),
             static_cast<T*>(b.out.data));
    }
  });
}

}  // namespace

constinit const primitives::scatter_reduce_variant scatter_reduce_atomic{"cuda.atomic", plan_atomic, run_atomic};

}  // namespace sheaf::cuda
