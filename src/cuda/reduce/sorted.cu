#include <algorithm>

#include "cuda/movement/record_copy.cuh"
#include "cuda/reduce/segmented_sum.cuh"
#include "cuda/split/cost.hpp"
#include "cuda/split/passes.hpp"
#include "primitives/scatter_reduce.hpp"
#include "primitives/split.hpp"

// Values are put in order of their slots, and runs of one slot are added up in an order that their positions alone
// decide: sums of floats are the same in every run, and slots out of cache are written once.
namespace sheaf::cuda {
namespace {

using primitives::scatter_reduce_buffers;
using primitives::scatter_reduce_problem;

std::uint64_t aligned(std::uint64_t bytes) { return ceil_div(bytes, 256) * 256; }

/// A bad index becomes one slot more, after all others.
pair_passes passes_for(const scatter_reduce_problem& p) {
  pair_passes passes;
  const std::uint64_t slots = std::min<std::uint64_t>(p.indexed_count + 1, std::uint64_t{1} << 32);
  passes.key_bits = std::max(1U, primitives::category_bits(slots));
  passes.value_bytes = static_cast<std::uint32_t>(bytes(p.type));
  passes.count = p.count;
  passes.writes_keys = true;
  return passes;
}

/// Indices of 8 bytes become slots first, as keys of passes have 32 bits.
bool is_wide(const scatter_reduce_problem& p) { return bytes(p.index) == 8; }

struct sorted_room {
  std::uint64_t values;  ///< in order
  std::uint64_t slots;   ///< of wide indices
  std::uint64_t carries;
  std::uint64_t bytes;

  explicit sorted_room(const scatter_reduce_problem& p) {
    const pair_passes passes = passes_for(p);
    values = aligned(pair_scratch_bytes(passes));
    slots = values + aligned(p.count * passes.value_bytes);
    carries = slots + (is_wide(p) ? aligned(p.count * sizeof(std::uint32_t)) : 0);
    bytes = carries + segment_scratch_bytes(p.count, passes.value_bytes);
  }
};

plan::planned plan_sorted(const scatter_reduce_problem& p, const machine& m) {
  if (p.backend != backend_kind::cuda) return plan::rejected("works on CUDA memory");
  if (p.op != reduction::add) return plan::rejected("adds");
  if (p.indexed_count >= ~std::uint32_t{0}) return plan::rejected("slots pass 32 bits");
  primitives::split_problem values;
  values.backend = p.backend;
  values.count = p.count;
  values.record_bytes = values.in_stride_bytes = values.out_stride_bytes = bytes(p.type);
  values.word_bytes = static_cast<std::uint32_t>(bytes(p.type));
  values.key_from = split_key::kind::category;
  values.key_stride_bytes = sizeof(std::uint32_t);
  const pair_passes passes = passes_for(p);
  plan::planned plan = pair_passes_cost(values, m, passes.key_bits, pass_count(passes), true);
  const auto count = static_cast<double>(p.count);
  const auto value = static_cast<double>(bytes(p.type));
  if (is_wide(p)) plan.add("slots", count * 12 / m.copy_bytes_per_second);
  // Slots that are few among many lie alone in what memory fetches.
  const auto slots = static_cast<double>(std::max<std::uint64_t>(1, std::min(p.count, p.indexed_count)));
  const double apart = static_cast<double>(p.indexed_bytes()) / slots;
  const double fetched = std::clamp(apart, value, static_cast<double>(m.fetch_bytes));
  plan.add("sums", (count * (4 + value) + slots * 2 * fetched) / m.copy_bytes_per_second);
  plan.scratch_bytes = sorted_room(p).bytes;
  return plan;
}

constexpr int slots_per_thread = 4;

/// slot[i] = index[i]; bad ones become bad_slot and are reported.
__global__ void __launch_bounds__(block_threads)
    narrow_slots(const __grid_constant__ move_arguments a, std::uint32_t bad_slot, std::uint32_t* slot) {
  const std::uint64_t first = std::uint64_t{blockIdx.x} * (block_threads * slots_per_thread) + threadIdx.x;
#pragma unroll
  for (int k = 0; k < slots_per_thread; ++k) {
    const std::uint64_t i = first + k * block_threads;
    if (i >= a.count) continue;
    const std::uint64_t index = index_at(a, i);
    slot[i] = is_good_either(a, i, index) ? static_cast<std::uint32_t>(index) : bad_slot;
  }
}

template <class T>
void run_with(const context& ctx, const scatter_reduce_problem& p, const scatter_reduce_buffers& b,
              std::byte* scratch) {
  constexpr const char* what = "cuda.sorted";
  const sorted_room room(p);
  const auto bad_slot = static_cast<std::uint32_t>(p.indexed_count);
  pair_passes passes = passes_for(p);
  passes.values = static_cast<const std::byte*>(b.in.data);
  passes.out = scratch + room.values;
  passes.keys = {.data = static_cast<const std::byte*>(b.index.data),
                 .stride = sizeof(std::uint32_t),
                 .word_bytes = sizeof(std::uint32_t),
                 .bits = {0, 32},
                 .categories = p.indexed_count,
                 .may_be_bad = true,
                 .role = core::index_role::slot_index,
                 .type = p.index};
  if (is_wide(p)) {
    const index_guard guard = state_of(ctx).guard(core::index_role::slot_index, p.index, p.indexed_count);
    launch(ctx, what, narrow_slots, ceil_div(p.count, block_threads * slots_per_thread),
           arguments_of(p, nullptr, nullptr, b.index, guard), bad_slot,
           reinterpret_cast<std::uint32_t*>(scratch + room.slots));
    passes.keys.data = scratch + room.slots;
    passes.keys.bits = {0, passes.key_bits};
    passes.keys.may_be_bad = false;
  }
  const std::uint32_t* const slots = run_pair_passes(ctx, what, passes, scratch);
  add_segments<T>(ctx, what, {slots, reinterpret_cast<const T*>(passes.out), p.count}, bad_slot,
                  static_cast<T*>(b.out.data), scratch + room.carries);
}

void run_sorted(const context& ctx, const scatter_reduce_problem& p, const plan::planned& plan,
                const scatter_reduce_buffers& b) {
  const device_scope here(ctx.device());
  const core::scratch memory(ctx.state(), plan.scratch_bytes);
  switch (p.type) {
    case value_type::f32: return run_with<float>(ctx, p, b, memory.as<std::byte>());
    case value_type::f64: return run_with<double>(ctx, p, b, memory.as<std::byte>());
    case value_type::i32:
    case value_type::u32: return run_with<std::uint32_t>(ctx, p, b, memory.as<std::byte>());
    default: return run_with<std::uint64_t>(ctx, p, b, memory.as<std::byte>());
  }
}

}  // namespace

constinit const primitives::scatter_reduce_variant scatter_reduce_sorted{"cuda.sorted", plan_sorted, run_sorted};

}  // namespace sheaf::cuda
