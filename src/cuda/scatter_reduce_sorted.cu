#include <algorithm>

#include "cuda/movement.cuh"
#include "cuda/segment_sums.cuh"
#include "cuda/split_cost.hpp"
#include "cuda/split_passes.hpp"
#include "primitives/scatter_reduce.hpp"
#include "primitives/split.hpp"

// Sums of floats that are the same in every run: pairs of slot and value are split by slot, in order, and runs of one
// slot are added up in an order that their positions alone decide.
namespace sheaf::cuda {
namespace {

using primitives::scatter_reduce_buffers;
using primitives::scatter_reduce_problem;

constexpr std::uint32_t digit_bits = 8;

/// A bad index becomes one slot more, after all others.
std::uint32_t slot_bits(const scatter_reduce_problem& p) {
  return primitives::category_bits(std::min<std::uint64_t>(p.far_count + 1, std::uint64_t{1} << 32));
}

std::uint32_t pair_bytes(const scatter_reduce_problem& p) { return bytes(p.type) == 4 ? 8 : 16; }

std::uint32_t passes_of(const scatter_reduce_problem& p) {
  return static_cast<std::uint32_t>(std::max<std::uint64_t>(1, ceil_div(slot_bits(p), digit_bits)));
}

std::uint64_t aligned(std::uint64_t bytes) { return ceil_div(bytes, 256) * 256; }

plan::planned plan_sorted(const scatter_reduce_problem& p, const machine& m) {
  if (p.backend != backend_kind::cuda) return plan::rejected("works on CUDA memory");
  if (!p.order_matters()) return plan::rejected("what the order does not matter to needs no order");
  if (p.far_count >= ~std::uint32_t{0}) return plan::rejected("slots pass 32 bits");
  primitives::split_problem passes;
  passes.backend = p.backend;
  passes.count = p.count;
  passes.record_bytes = passes.in_stride_bytes = passes.out_stride_bytes = passes.word_bytes = pair_bytes(p);
  passes.bits = {0, slot_bits(p), bit_order::little_endian};
  plan::planned plan = passes_cost(passes, m, passes_of(p), pair_bytes(p), false);
  const auto count = static_cast<double>(p.count);
  const auto pair = static_cast<double>(pair_bytes(p));
  plan.add("pairs",
           (count * (static_cast<double>(p.near_stride_bytes + bytes(p.index)) + 2 * pair)) / m.copy_bytes_per_second);
  plan.add("sums", static_cast<double>(std::min(p.count, p.far_count)) * 2 * static_cast<double>(p.record_bytes) /
                       m.copy_bytes_per_second);
  plan.scratch_bytes = 2 * aligned(p.count * pair_bytes(p)) + aligned(stable_scratch_bytes(p.count, pair_bytes(p))) +
                       segment_scratch_bytes(p.count, pair_bytes(p));
  return plan;
}

template <class T>
__global__ void __launch_bounds__(block_threads)
    make_slot_pairs(const __grid_constant__ move_arguments a, const T* in, std::uint32_t bad_slot, slot_pair<T>* pair) {
  const std::uint64_t first = std::uint64_t{blockIdx.x} * (block_threads * pairs_per_thread) + threadIdx.x;
#pragma unroll
  for (int k = 0; k < pairs_per_thread; ++k) {
    const std::uint64_t i = first + k * block_threads;
    if (i >= a.count) continue;
    const std::uint64_t index = index_at(a, i);
    slot_pair<T> made{};
    made.slot = is_good_either(a, i, index) ? static_cast<std::uint32_t>(index) : bad_slot;
    made.value = __ldcs(in + i);
    pair[i] = made;
  }
}

template <class T>
void run_with(const context& ctx, const scatter_reduce_problem& p, const scatter_reduce_buffers& b,
              std::byte* scratch) {
  constexpr const char* what = "cuda.sorted";
  using pair = slot_pair<T>;
  const std::uint64_t array = aligned(p.count * sizeof(pair));
  std::byte* const pairs = scratch;
  std::byte* const spare = scratch + array;
  std::byte* const tables = scratch + 2 * array;
  std::byte* const carries = tables + aligned(stable_scratch_bytes(p.count, sizeof(pair)));
  const index_guard guard = state_of(ctx).guard(core::index_role::scatter_index, p.index, p.far_count);
  const move_arguments a = arguments_of(p, nullptr, nullptr, b.index, guard);
  const auto bad_slot = static_cast<std::uint32_t>(p.far_count);
  const std::uint32_t passes = passes_of(p);
  std::byte* from = passes % 2 == 0 ? pairs : spare;
  launch(ctx, what, make_slot_pairs<T>, ceil_div(p.count, block_threads * pairs_per_thread), a,
         static_cast<const T*>(b.in.data), bad_slot, reinterpret_cast<pair*>(from));
  split_pass pass;
  pass.count = p.count;
  pass.word_bytes = sizeof(pair);
  for (std::uint32_t i = 0; i < passes; ++i) {
    const std::uint32_t low = slot_bits(p) * i / passes;
    const std::uint32_t high = slot_bits(p) * (i + 1) / passes;
    pass.bits = {low, std::max(1U, high - low), bit_order::little_endian};
    pass.categories = std::uint64_t{1} << pass.bits.count;
    pass.in = from;
    pass.out = from == pairs ? spare : pairs;
    run_stable_pass(ctx, what, pass, tables);
    from = pass.out;
  }
  add_segments<T>(ctx, what, reinterpret_cast<const pair*>(pairs), p.count, bad_slot, static_cast<T*>(b.out.data),
                  carries);
}

void run_sorted(const context& ctx, const scatter_reduce_problem& p, const plan::planned& plan,
                const scatter_reduce_buffers& b) {
  const device_scope here(ctx.device());
  const core::scratch memory(ctx.state(), plan.scratch_bytes);
  if (p.type == value_type::f32) {
    run_with<float>(ctx, p, b, memory.as<std::byte>());
  } else {
    run_with<double>(ctx, p, b, memory.as<std::byte>());
  }
}

}  // namespace

constinit const primitives::scatter_reduce_variant scatter_reduce_sorted{"cuda.sorted", plan_sorted, run_sorted};

}  // namespace sheaf::cuda
