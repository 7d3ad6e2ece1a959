#include "cuda/reduce/segmented_sum.cuh"
#include "cuda/sparse/entries.cuh"
#include "cuda/split/cost.hpp"
#include "primitives/sparse/spmv.hpp"

// The variant cuda.transposed. Products, made row by row, are sorted by column (stable LSD radix passes over pairs of
// column and product), and a segmented reduction adds those of each column, in the order of the rows. No atomics, so
// the order of sums follows from the matrix alone.
namespace sheaf::cuda {
namespace {

/// The parts of the scratch.
template <class Sum>
struct transposed_scratch {
  entries_by_column<Sum> entries;  ///< with their products
  Sum* totals;                     ///< of each column
  std::byte* of_sums;

  transposed_scratch(const spmv_problem& p, core::scratch_arrays& place)
      : entries(p, place),
        totals(place.take<Sum>(p.columns)),
        of_sums(place.take<std::byte>(segment_scratch_bytes(p.entries, sizeof(Sum)))) {}
};

template <class Sum>
plan::planned plan_product_sort(const spmv_problem& p, const machine& m) {
  core::scratch_arrays place(nullptr);
  const transposed_scratch<Sum> at(p, place);
  plan::planned plan = pair_passes_cost(at.entries.passes, m);
  plan.scratch_bytes = place.bytes();
  return plan;
}

plan::planned plan_transposed(const spmv_problem& p, const plan::scope& scope) {
  if (!p.transposed) return plan::rejected("multiplies by the transposed matrix");
  if (p.columns >= ~std::uint32_t{0}) return plan::rejected("columns exceed 32 bits");
  const machine& m = scope.machine;
  plan::planned plan =
      p.sum_bytes() == sizeof(double) ? plan_product_sort<double>(p, m) : plan_product_sort<float>(p, m);
  const std::uint64_t pair = sizeof(std::uint32_t) + p.sum_bytes();
  const std::uint64_t made = p.matrix_bytes() + 3 * 8 * p.rows + p.entries * pair;
  const std::uint64_t summed = p.entries * pair + 3 * p.columns * p.sum_bytes() + p.y_bytes();
  plan.add("products", 4 * m.step_seconds + m.streamed(made, made));
  plan.add("sums", 3 * m.step_seconds + m.streamed(summed, summed));
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

void run_transposed(const context& ctx, const spmv_problem& p, const plan::planned&, const spmv_buffers& b,
                    std::byte* scratch) {
  const device_scope scope(ctx.device());
  if (p.has_row_ends) refuse_capture(ctx, "spmv of rows with ends of their own");
  const csr_guard guard = guard_of(ctx, p, primitives::csr_call::spmv);
  with_product_types(p, [&]<class Types>(Types) {
    using value = typename Types::value;
    using sum = typename Types::sum;
    using column = typename Types::column;
    core::scratch_arrays place(scratch);
    const transposed_scratch<sum> at(p, place);
    const std::uint64_t* const offsets = at.entries.numbers.offsets;
    const auto a = arguments_of<value, column>(p, b, guard);
    queue_entry_offsets(ctx, p, b.a, guard, at.entries.numbers);
    require(cudaMemsetAsync(at.totals, 0, p.columns * sizeof(sum), ctx.stream()), ctx);
    const auto no_column = static_cast<std::uint32_t>(p.columns);
    const std::uint64_t entries = p.entries == 0 ? 0 : count_entries(ctx, p, offsets);
    for (std::uint64_t first = 0; first < entries; first += p.entries) {
      launch(ctx, make_products<sum, value, column>, ceil_div(p.entries, entries_of_a_block), a, offsets, first,
             p.entries, no_column, at.entries.columns, at.entries.written);
      const std::uint32_t* const sorted = at.entries.sort(ctx);
      add_segmented_sums<sum>(ctx, {sorted, at.entries.sorted, p.entries}, no_column, at.totals, at.of_sums);
    }
    launch(ctx, write_results<sum, value, column>, ceil_div(p.columns, block_threads), a, at.totals, p.columns);
  });
}

}  // namespace

extern constinit const primitives::spmv_variant spmv_transposed{"cuda.transposed", backend_kind::cuda, plan_transposed,
                                                                run_transposed};

}  // namespace sheaf::cuda
