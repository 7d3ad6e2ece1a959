#include "primitives/split/by_sort.hpp"

#include "core/scratch_offsets.hpp"
#include "plan/choose.hpp"

namespace sheaf::primitives {
namespace {

// The field as a key of a sort. A number of 8 bytes is named whole, because sorts take rows that are such numbers as
// words.
key_field key_field_of(const bit_field& f, std::uint64_t key_bytes) {
  if (f.order == bit_order::little_endian && key_bytes == sizeof(std::uint64_t)) {
    return {.bytes = sizeof(std::uint64_t), .first_bit = static_cast<std::uint32_t>(f.first), .bit_count = f.count};
  }
  key_field field{.offset = f.first / 8, .bytes = bytes_touched(f), .bit_count = f.count};
  const auto skipped = static_cast<std::uint32_t>(f.first % 8);
  if (f.order == bit_order::little_endian) {
    field.first_bit = skipped;
  } else {
    field.type = key_type::bytes;
    field.first_bit = 8 * field.bytes - skipped - f.count;
  }
  return field;
}

struct calls_of_sorted_split {
  sort_problem problem;
  plan::choice<sort_variant> sort;
  plan::planned inversion;  ///< of a scatter index
};

bool inverts(const split_problem& p) { return p.product == split_product::scatter_index; }

/// Bytes of the order in the scratch, before the scratch of the calls, which run one after the other.
std::uint64_t order_bytes(const split_problem& p) {
  return inverts(p) ? core::scratch_aligned(p.count * p.record_bytes) : 0;
}

}  // namespace

sort_problem sort_of(const split_problem& split) {
  sort_problem sort;
  sort.backend = split.backend;
  sort.count = split.count;
  sort.key.fields[0] = key_field_of(split.bits, split.key_bytes);
  sort.key.field_count = 1;
  sort.key.bits = split.bits.count;
  const sorted_array moved{split.record_bytes, split.in_stride_bytes, split.out_stride_bytes, split.word_bytes};
  if (!split.has_separate_key()) {
    sort.rows = moved;
    return sort;
  }
  sort.rows = {split.key_bytes, split.key_stride_bytes, 0, split.key_word_bytes};
  sort.writes_rows = false;
  if (split.product == split_product::records) {
    sort.columns[sort.column_count++] = moved;
  } else {
    sort.product = sort_product::gather_index;
    sort.index = split.index;
  }
  return sort;
}

sort_buffers sort_buffers_of(const split_problem& split, const split_buffers& buffers, index_output order) {
  sort_buffers sorted{.in = buffers.keys};
  if (!split.has_separate_key()) {
    sorted.out = buffers.out;
  } else if (split.product == split_product::records) {
    sorted.columns[0] = {buffers.in, buffers.out};
  } else {
    sorted.index = order;
  }
  return sorted;
}

plan::planned plan_sorted_split(const split_problem& problem, const plan::scope& in, const order_inversion& inversion) {
  if (!problem.has_wide_category()) return plan::rejected("splits by more than 32 bits");
  auto calls = std::make_shared<calls_of_sorted_split>();
  calls->problem = sort_of(problem);
  const plan::scope inside = plan::inner_scope(in, order_bytes(problem));
  calls->sort = plan::cheapest_of_any_scratch(sort_variants(), calls->problem, problem.backend, inside,
                                              plan::forced_name(name_of(calls->problem), {}, in.context));
  if (calls->sort.variant == nullptr) return plan::rejected("no sort brings its records into order");
  plan::planned plan;
  plan.add("sort", calls->sort.plan.seconds);
  plan.scratch_bytes = calls->sort.plan.scratch_bytes;
  if (inverts(problem)) {
    calls->inversion = inversion.plan(problem, inside);
    if (!calls->inversion.applicable()) return plan::rejected(calls->inversion.rejection);
    plan.add("inversion", calls->inversion.seconds);
    plan.scratch_bytes = std::max(plan.scratch_bytes, calls->inversion.scratch_bytes);
  }
  plan.scratch_bytes += order_bytes(problem);
  plan.inner_calls = std::move(calls);
  return plan;
}

void run_sorted_split(const context& ctx, const split_problem& problem, const plan::planned& plan,
                      const split_buffers& buffers, const order_inversion& inversion, std::byte* scratch) {
  if (problem.count == 0) return;
  const auto& calls = plan.inner<calls_of_sorted_split>();
  std::byte* const rest = scratch + order_bytes(problem);
  const index_output order = inverts(problem) ? index_output(scratch, problem.count, problem.index) : buffers.index;
  const sort_buffers sorted = sort_buffers_of(problem, buffers, order);
  calls.sort.variant->run(ctx, calls.problem, calls.sort.plan, sorted, rest);
  if (inverts(problem)) inversion.run(ctx, problem, calls.inversion, scratch, buffers.index.data, rest);
}

}  // namespace sheaf::primitives
