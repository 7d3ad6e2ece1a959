#include <algorithm>

#include "cuda/reduce/segmented_sum.cuh"
#include "cuda/sparse/entries.cuh"
#include "cuda/split/cost.hpp"
#include "cuda/split/passes.hpp"
#include "primitives/sparse/spmv.hpp"

// The variant cuda.transposed. Products, made row by row, are sorted by column (stable LSD radix passes over pairs of
// column and product), and a segmented reduction adds those of each column, in the order of the rows. No atomics, so
// the order of sums follows from the matrix alone.
namespace sheaf::cuda {
namespace {

using primitives::spmv_buffers;
using primitives::spmv_problem;

/// Where the parts of the scratch begin, in bytes.
struct transposed_layout {
  std::uint64_t offsets, sums_of_tiles;  ///< of entries
  std::uint64_t columns, products;       ///< of each entry
  std::uint64_t sorted;                  ///< products by column
  std::uint64_t totals;                  ///< of each column
  std::uint64_t carries, passes;         ///< scratch of the reduction and of the sort
};

/// An entry with no such column sorts as one column more.
pair_passes passes_by_column(const spmv_problem& p) {
  pair_passes passes;
  passes.key_bits = std::max(1U, primitives::category_bits(p.columns + 1));
  passes.value_bytes = static_cast<std::uint32_t>(p.sum_bytes());
  passes.count = p.entries;
  passes.writes_keys = true;
  passes.keys.stride = passes.keys.word_bytes = sizeof(std::uint32_t);
  passes.keys.bits = {0, passes.key_bits};
  passes.keys.categories = p.columns;
  return passes;
}

plan::planned plan_transposed(const spmv_problem& p, const plan::scope& scope) {
  if (!p.transposed) return plan::rejected("multiplies by the transposed matrix");
  if (p.columns >= ~std::uint32_t{0}) return plan::rejected("columns pass 32 bits");
  const machine& m = scope.machine;
  const pair_passes passes = passes_by_column(p);
  core::scratch_offsets place;
  transposed_layout layout;
  const entry_offsets_layout offsets(p.rows, place);
  layout.offsets = offsets.offsets;
  layout.sums_of_tiles = offsets.sums;
  layout.columns = place.take(p.entries * sizeof(std::uint32_t));
  layout.products = place.take(p.entries * p.sum_bytes());
  layout.sorted = place.take(p.entries * p.sum_bytes());
  layout.totals = place.take(p.columns * p.sum_bytes());
  layout.carries = place.take(segment_scratch_bytes(p.entries, p.sum_bytes()));
  layout.passes = place.take(p.entries == 0 ? 0 : pair_scratch_bytes(passes));

  primitives::split_problem split;
  split.backend = p.backend;
  split.count = p.entries;
  split.record_bytes = split.in_stride_bytes = split.out_stride_bytes = p.sum_bytes();
  split.word_bytes = static_cast<std::uint32_t>(p.sum_bytes());
  split.key_from = split_key::kind::category;
  split.key_stride_bytes = sizeof(std::uint32_t);
  plan::planned plan = pair_passes_cost(split, m, passes.key_bits, pass_count(passes), true);
  const std::uint64_t pair = sizeof(std::uint32_t) + p.sum_bytes();
  const std::uint64_t made = p.matrix_bytes() + 3 * 8 * p.rows + p.entries * pair;
  const std::uint64_t summed = p.entries * pair + 3 * p.columns * p.sum_bytes() + p.y_bytes();
  plan.add("products", 4 * m.step_seconds + m.streamed(made, made));
  plan.add("sums", 3 * m.step_seconds + m.streamed(summed, summed));
  plan.decided.set(layout);
  plan.scratch_bytes = place.bytes();
  return plan;
}

/// Writes the column and the product of the entries from `first` on; past the last entry, no column.
template <class Sum, class Value, class Column>
__global__ void __launch_bounds__(block_threads)
    make_products(const __grid_constant__ product_arguments<Value, Column> a, const std::uint64_t* offsets,
                  std::uint64_t first, std::uint64_t count, std::uint32_t no_column, std::uint32_t* columns,
                  Sum* products) {
  for_each_entry(a.rows, offsets, first, count, [&](std::uint64_t i, std::uint64_t row, std::uint64_t place) {
    if (place == no_place) {
      columns[i] = no_column;
      products[i] = 0;
      return;
    }
    const Column column = __ldcs(a.columns + place);
    const bool has_column = column < a.column_limit;
    if (!has_column) report_column(a.guard, a.columns, a.column_limit, place, place + 1, row);
    columns[i] = has_column ? static_cast<std::uint32_t>(column) : no_column;
    products[i] = static_cast<Sum>(__ldcs(a.values + place)) * static_cast<Sum>(__ldg(a.x + row));
  });
}

template <class Sum, class Value, class Column>
__global__ void __launch_bounds__(block_threads)
    write_results(const __grid_constant__ product_arguments<Value, Column> a, const Sum* totals, std::uint64_t count) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i < count) write_result(a, i, totals[i]);
}

/// Entries of all rows. Rows that do not overlap have no more than the arrays; how many rows with ends of their own
/// have, which may share entries, the host asks the device.
std::uint64_t count_entries(const context& ctx, const spmv_problem& p, const std::uint64_t* offsets) {
  if (!p.has_row_ends) return p.entries;
  std::uint64_t count = 0;
  ctx.state().copy(&count, offsets + p.rows, sizeof count);  // waits
  return count;
}

void run_transposed(const context& ctx, const spmv_problem& p, const plan::planned& plan, const spmv_buffers& b,
                    std::byte* scratch) {
  const device_scope scope(ctx.device());
  if (p.has_row_ends) refuse_capture(ctx, "spmv of rows with ends of their own");
  const auto layout = plan.decided.get<transposed_layout>();
  const csr_guard guard = guard_of(ctx, p, primitives::csr_call::spmv);
  core::scratch_offsets place;
  const entry_offsets_layout offsets_layout(p.rows, place);
  const std::uint64_t* const offsets = queue_entry_offsets(ctx, p, b.a, guard, offsets_layout, scratch);
  const auto no_column = static_cast<std::uint32_t>(p.columns);
  auto* const columns = reinterpret_cast<std::uint32_t*>(scratch + layout.columns);
  with_product_types(p, [&]<class Types>(Types) {
    using value = typename Types::value;
    using sum = typename Types::sum;
    using column = typename Types::column;
    const auto a = arguments_of<value, column>(p, b, guard);
    auto* const products = reinterpret_cast<sum*>(scratch + layout.products);
    auto* const totals = reinterpret_cast<sum*>(scratch + layout.totals);
    require(cudaMemsetAsync(totals, 0, p.columns * sizeof(sum), ctx.stream()), ctx);
    const std::uint64_t entries = p.entries == 0 ? 0 : count_entries(ctx, p, offsets);
    for (std::uint64_t first = 0; first < entries; first += p.entries) {
      launch(ctx, make_products<sum, value, column>, ceil_div(p.entries, entries_of_a_block), a, offsets, first,
             p.entries, no_column, columns, products);
      pair_passes passes = passes_by_column(p);
      passes.keys.data = reinterpret_cast<const std::byte*>(columns);
      passes.values = scratch + layout.products;
      passes.out = scratch + layout.sorted;
      const std::uint32_t* const sorted = run_pair_passes(ctx, passes, scratch + layout.passes);
      add_segmented_sums<sum>(ctx, {sorted, reinterpret_cast<const sum*>(passes.out), p.entries}, no_column, totals,
                              scratch + layout.carries);
    }
    launch(ctx, write_results<sum, value, column>, ceil_div(p.columns, block_threads), a,
           static_cast<const sum*>(totals), p.columns);
  });
}

}  // namespace

extern constinit const primitives::spmv_variant spmv_transposed{"cuda.transposed", backend_kind::cuda, plan_transposed,
                                                                run_transposed};

}  // namespace sheaf::cuda
