#include <algorithm>

#include "core/scratch_offsets.hpp"
#include "cuda/movement/copy/records.cuh"
#include "cuda/reduce/segmented_sum.cuh"
#include "cuda/reduce/variants.hpp"
#include "cuda/split/cost.hpp"
#include "cuda/split/passes.hpp"
#include "primitives/scatter_reduce.hpp"
#include "primitives/split.hpp"

// The variant cuda.sorted: a stable LSD radix sort of (slot, value) pairs, then a segmented reduction. The order of
// additions depends on positions alone, so sums of floats are deterministic; and each slot is written once, which pays
// where slots are out of cache.
namespace sheaf::cuda {
namespace {

using primitives::scatter_reduce_buffers;
using primitives::scatter_reduce_problem;

/// The sort. A bad index counts as one more slot, which sorts behind all others.
pair_passes sort_passes(const scatter_reduce_problem& p) {
  pair_passes passes;
  const std::uint64_t slots = std::min<std::uint64_t>(p.indexed_count + 1, std::uint64_t{1} << 32);
  passes.key_bits = std::max(1U, primitives::category_bits(slots));
  passes.value_bytes = static_cast<std::uint32_t>(bytes(p.type));
  passes.count = p.count;
  passes.writes_keys = true;
  return passes;
}

/// Indices of 8 bytes are narrowed to slots of 32 bits first, because the passes take keys of at most 32 bits.
bool narrows_index(const scatter_reduce_problem& p) { return bytes(p.index) == 8; }

/// Where the parts of the scratch begin, in bytes; that of the passes begins at 0.
struct scratch_layout {
  std::uint64_t values;   ///< sorted values
  std::uint64_t slots;    ///< indices of 8 bytes, narrowed
  std::uint64_t carries;  ///< scratch of the segmented reduction
  std::uint64_t bytes;    ///< size of the whole scratch

  explicit scratch_layout(const scatter_reduce_problem& p) {
    const pair_passes passes = sort_passes(p);
    values = core::scratch_aligned(pair_scratch_bytes(passes));
    slots = values + core::scratch_aligned(p.count * passes.value_bytes);
    carries = slots + (narrows_index(p) ? core::scratch_aligned(p.count * sizeof(std::uint32_t)) : 0);
    bytes = carries + segment_scratch_bytes(p.count, passes.value_bytes);
  }
};

plan::planned plan_sorted(const scatter_reduce_problem& p, const plan::scope& scope) {
  const machine& m = scope.machine;
  if (!p.sums()) return plan::rejected("adds and subtracts");
  if (p.indexed_count >= ~std::uint32_t{0}) return plan::rejected("slots pass 32 bits");
  primitives::split_problem split;
  split.backend = p.backend;
  split.count = p.count;
  split.record_bytes = split.in_stride_bytes = split.out_stride_bytes = bytes(p.type);
  split.word_bytes = static_cast<std::uint32_t>(bytes(p.type));
  split.key_from = split_key::kind::category;
  split.key_stride_bytes = sizeof(std::uint32_t);
  const pair_passes passes = sort_passes(p);
  plan::planned plan = pair_passes_cost(split, m, passes.key_bits, pass_count(passes), true);
  const auto count = static_cast<double>(p.count);
  const auto value = static_cast<double>(bytes(p.type));
  if (narrows_index(p)) plan.add("slots", count * 12 / m.copy_bytes_per_second);
  // Where few of many slots are written, each lies alone in its memory fetch.
  const auto slots = static_cast<double>(std::max<std::uint64_t>(1, std::min(p.count, p.indexed_count)));
  const double bytes_per_slot = static_cast<double>(p.indexed_bytes()) / slots;
  const double fetched_bytes = std::clamp(bytes_per_slot, value, static_cast<double>(m.fetch_bytes));
  plan.add("sums", (count * (4 + value) + slots * 2 * fetched_bytes) / m.copy_bytes_per_second);
  const scratch_layout layout(p);
  plan.decided.set(layout);
  plan.scratch_bytes = layout.bytes;
  return plan;
}

constexpr int slots_per_thread = 4;

/// slot[i] = index[i]; a bad index becomes bad_slot and is reported.
__global__ void __launch_bounds__(block_threads)
    narrow_indices(const __grid_constant__ move_arguments a, std::uint32_t bad_slot, std::uint32_t* slot) {
  const std::uint64_t first = std::uint64_t{blockIdx.x} * (block_threads * slots_per_thread) + threadIdx.x;
#pragma unroll
  for (int k = 0; k < slots_per_thread; ++k) {
    const std::uint64_t i = first + k * block_threads;
    if (i >= a.count) continue;
    const std::uint64_t index = index_at(a, i);
    slot[i] = check_index(a, i, index) ? static_cast<std::uint32_t>(index) : bad_slot;
  }
}

template <class T>
void run_as(const context& ctx, const scatter_reduce_problem& p, const scratch_layout& layout,
            const scatter_reduce_buffers& b, std::byte* scratch) {
  constexpr const char* operation = "cuda.sorted";
  const auto bad_slot = static_cast<std::uint32_t>(p.indexed_count);
  pair_passes passes = sort_passes(p);
  passes.values = static_cast<const std::byte*>(b.in.data);
  passes.out = scratch + layout.values;
  passes.keys = {.data = static_cast<const std::byte*>(b.index.data),
                 .stride = sizeof(std::uint32_t),
                 .word_bytes = sizeof(std::uint32_t),
                 .bits = {0, 32},
                 .categories = p.indexed_count,
                 .may_be_bad = true,
                 .words = &primitives::scatter_reduce_words,
                 .type = p.index};
  if (narrows_index(p)) {
    const index_guard guard = state_of(ctx).guard(primitives::scatter_reduce_words, p.index, p.indexed_count);
    launch(ctx, operation, narrow_indices, ceil_div(p.count, block_threads * slots_per_thread),
           arguments_of(p, nullptr, nullptr, b.index, guard), bad_slot,
           reinterpret_cast<std::uint32_t*>(scratch + layout.slots));
    passes.keys.data = scratch + layout.slots;
    passes.keys.bits = {0, passes.key_bits};
    passes.keys.may_be_bad = false;
  }
  const std::uint32_t* const slots = run_pair_passes(ctx, operation, passes, scratch);
  const sorted_pairs<T> list{slots, reinterpret_cast<const T*>(passes.out), p.count, p.op == reduction::subtract};
  add_segmented_sums<T>(ctx, operation, list, bad_slot, static_cast<T*>(b.out.data), scratch + layout.carries);
}

void run_sorted(const context& ctx, const scatter_reduce_problem& p, const plan::planned& plan,
                const scatter_reduce_buffers& b, std::byte* scratch) {
  const device_scope current_device(ctx.device());
  const auto layout = plan.decided.get<scratch_layout>();
  switch (p.type) {
    case value_type::f32: return run_as<float>(ctx, p, layout, b, scratch);
    case value_type::f64: return run_as<double>(ctx, p, layout, b, scratch);
    case value_type::i32:
    case value_type::u32: return run_as<std::uint32_t>(ctx, p, layout, b, scratch);
    default: return run_as<std::uint64_t>(ctx, p, layout, b, scratch);
  }
}

}  // namespace

constinit const primitives::scatter_reduce_variant scatter_reduce_sorted{"cuda.sorted", backend_kind::cuda, plan_sorted,
                                                                         run_sorted};

}  // namespace sheaf::cuda
