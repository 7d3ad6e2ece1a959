#include "cpu/movement/memory_cost.hpp"
#include "cpu/movement/record_copy.hpp"
#include "cpu/reduce/kernels.hpp"
#include "cpu/threads/cache_hints.hpp"
#include "cpu/threads/checked_parts.hpp"
#include "cpu/threads/core_speed.hpp"

namespace sheaf::cpu {

using namespace primitives;

namespace {

// Owner computes: each thread owns a range of the rows of out and goes over the whole list, adding to out where it
// lies. Sums of more rows than a piece has would need a place of their own.
plan::planned plan_owner_of_rows(const scatter_reduce_rows_problem& p, const plan::scope& scope) {
  const machine& m = scope.machine;
  if (p.needs_counts()) return plan::rejected("does not know how many rows have come to a row of out");
  if (p.sum() != p.out) return plan::rejected("rows are combined in another type than out's");
  if (p.order_matters() && p.count > rows_per_piece(p.values_per_row)) {
    return plan::rejected("more rows may come to one row of out than are combined in one piece");
  }
  plan::planned plan;
  if (p.count > 0) plan = to_plan(scatter_cost(p, m), m, true);
  if (!p.reads_out()) plan.add("identity", m.streamed(p.indexed_bytes(), p.indexed_bytes()));
  constexpr double digits_per_check = 0.385;
  constexpr double digits_per_row = 2;
  plan.add("steps", shared_digit_seconds(p.count, digits_per_check, m, 1) +
                        shared_digit_seconds(p.count, digits_per_row, m, m.parallelism));
  return plan;
}

template <class Index>
first_bad combine_owned(const scatter_reduce_rows_problem& p, const scatter_reduce_rows_buffers& b,
                        const reduction_kernels& kernels, const Index* index, std::uint64_t begin, std::uint64_t end) {
  auto* const out = static_cast<std::byte*>(b.out.data);
  const auto* const in = static_cast<const std::byte*>(b.in.data);
  const std::uint64_t distance = prefetch_distance_of(p.record_bytes);
  first_bad bad;
  if (!p.reads_out()) {
    for (std::uint64_t row = begin; row < end; ++row) {
      kernels.clear(out + row * p.indexed_stride_bytes, p.values_per_row);
    }
  }
  for (std::uint64_t i = 0; i < p.count; ++i) {
    if (i + distance < p.count) prefetch(out, index[i + distance] * p.indexed_stride_bytes, p.record_bytes);
    const std::uint64_t to = index[i];
    if (to - begin < end - begin) {
      const std::uint64_t offset = i * p.sequential_stride_bytes;
      kernels.combine(out + to * p.indexed_stride_bytes, in, &offset, nullptr, 1, p.values_per_row, false);
    } else if (to >= p.indexed_count) {
      bad.note(i);
    }
  }
  return bad;
}

void run_owner_of_rows(const context& ctx, const scatter_reduce_rows_problem& p, const plan::planned&,
                       const scatter_reduce_rows_buffers& b, std::byte*) {
  const reduction_kernels kernels = kernels_of_rows(p.in, p.out, p.op, false, p.values_per_row);
  with_index(b.index, [&](const auto* index) {
    for_each_checked_part(ctx, p, p.indexed_count, b.index, scatter_reduce_rows_wording,
                          [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
                            return combine_owned(p, b, kernels, index, begin, end);
                          });
  });
}

}  // namespace

extern constinit const scatter_reduce_rows_variant scatter_reduce_rows_owner{"cpu.owner", backend_kind::cpu,
                                                                             plan_owner_of_rows, run_owner_of_rows};

}  // namespace sheaf::cpu
