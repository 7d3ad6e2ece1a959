#include "primitives/scatter_reduce.hpp"

#include "cuda/movement.cuh"
#include "cuda/traffic.hpp"
#include "primitives/reduce_value.hpp"
#include "primitives/with_value.hpp"

// One atomic a value: exact for integers, minima and maxima whatever the order, and for sums of floats as good as the
// order that they happen to come in.
namespace sheaf::cuda {
namespace {

using primitives::scatter_reduce_buffers;
using primitives::scatter_reduce_problem;

plan::planned plan_atomic(const scatter_reduce_problem& p, const machine& m) {
  if (p.backend != backend_kind::cuda) return plan::rejected("works on CUDA memory");
  if (p.order_matters() && p.order == reduction_order::deterministic) {
    return plan::rejected("adds floats in the order in which workers come");
  }
  return priced(atomics_of(p, m), m, true);
}

template <reduction Op, class T>
__device__ __forceinline__ void combine(T* slot, T value) {
  if constexpr (Op == reduction::add) {
    if constexpr (std::is_floating_point_v<T>) {
      atomicAdd(slot, value);
    } else if constexpr (sizeof(T) == 4) {
      atomicAdd(reinterpret_cast<unsigned*>(slot), static_cast<unsigned>(value));
    } else {
      atomicAdd(reinterpret_cast<unsigned long long*>(slot), static_cast<unsigned long long>(value));
    }
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
  if (is_good_either(a, i, index)) combine<Op>(out + index, value);
}

void run_atomic(const context& ctx, const scatter_reduce_problem& p, const plan::planned&,
                const scatter_reduce_buffers& b) {
  const device_scope here(ctx.device());
  const index_guard guard = state_of(ctx).guard(core::index_role::scatter_index, p.index, p.far_count);
  const move_arguments a = arguments_of(p, nullptr, nullptr, b.index, guard);
  const std::uint64_t blocks = ceil_div(p.count, block_threads);
  // Sums of signed numbers are those of unsigned ones, bit by bit.
  value_type type = p.type;
  if (p.op == reduction::add && type == value_type::i32) type = value_type::u32;
  if (p.op == reduction::add && type == value_type::i64) type = value_type::u64;
  primitives::with_value_and_op(type, p.op, [&](auto value, auto op) {
    using T = decltype(value);
    if constexpr (!(op() == reduction::add && std::is_integral_v<T> && std::is_signed_v<T>)) {
      launch(ctx, "cuda.atomic", reduce_atomically<op(), T>, blocks, a, static_cast<const T*>(b.in.data),
             static_cast<T*>(b.out.data));
    }
  });
}

}  // namespace

constinit const primitives::scatter_reduce_variant scatter_reduce_atomic{"cuda.atomic", plan_atomic, run_atomic};

}  // namespace sheaf::cuda
