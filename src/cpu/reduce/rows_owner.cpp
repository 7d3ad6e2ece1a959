#include "cpu/reduce/owned_rows.hpp"

namespace sheaf::cpu {

using namespace primitives;

namespace {

owned_shape owned_shape_of(const scatter_reduce_rows_problem& p) {
  return {.entries = p.count,
          .slots = p.indexed_count,
          .in_row_bytes = p.record_bytes,
          .out_row_bytes = p.out_row_bytes(),
          .piece_rows = p.order_matters() ? rows_per_piece(p.values_per_row) : ~std::uint64_t{0}};
}

// Owner computes: each thread goes over the whole list and combines the rows of its own slots where they lie in out.
plan::planned plan_owner_of_rows(const scatter_reduce_rows_problem& p, const plan::scope& scope) {
  const machine& m = scope.machine;
  if (p.needs_counts()) return plan::rejected("does not know how many rows have come to a row of out");
  if (p.sum() != p.out) return plan::rejected("rows are combined in another type than out's");
  if (p.indexed_count > std::uint64_t{1} << 32) return plan::rejected("slots are counted in 32 bits");
  if (p.indexed_count > p.index_limit()) return plan::rejected("there are more slots than entries can name");
  plan::planned plan = price_owners(owned_shape_of(p), p, p.values_per_row, m);
  if (plan.scratch_bytes > m.memory_bytes / 4) return plan::rejected("its scratch would take a quarter of memory");
  if (!p.reads_out()) plan.add("identity", m.streamed(p.indexed_bytes(), p.indexed_bytes()));
  return plan;
}

void run_owner_of_rows(const context& ctx, const scatter_reduce_rows_problem& p, const plan::planned& plan,
                       const scatter_reduce_rows_buffers& b, std::byte* scratch) {
  const auto decided = plan.decided.get<owned_decision>();
  auto* const out = static_cast<std::byte*>(b.out.data);
  const owned_reduction r{.in = static_cast<const std::byte*>(b.in.data),
                          .in_stride = p.sequential_stride_bytes,
                          .list = b.index,
                          .out = out,
                          .out_stride = p.indexed_stride_bytes,
                          .width = p.values_per_row,
                          .kernels = kernels_of_rows(p.in, p.out, p.op, false, p.values_per_row)};
  run_checked(ctx, p, b.index, scatter_reduce_rows_wording, [&] {
    if (!p.reads_out()) {
      for_each_range(p.indexed_count, parts_of_team(p.indexed_bytes(), decided.threads),
                     [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
                       if (p.out_row_bytes() == r.out_stride) {
                         r.kernels.clear(out + begin * r.out_stride, (end - begin) * r.width);
                         return;
                       }
                       for (std::uint64_t row = begin; row < end; ++row) {
                         r.kernels.clear(out + row * r.out_stride, r.width);
                       }
                     });
    }
    return combine_by_owners(r, owned_shape_of(p), decided, scratch);
  });
}

}  // namespace

extern constinit const scatter_reduce_rows_variant scatter_reduce_rows_owner{"cpu.owner", backend_kind::cpu,
                                                                             plan_owner_of_rows, run_owner_of_rows};

}  // namespace sheaf::cpu
