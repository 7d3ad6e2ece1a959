#include "cuda/reduce/segmented_sum.cuh"
#include "cuda/sparse/entries.cuh"
#include "cuda/split/cost.hpp"

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

plan::planned plan_transposed(const spmv_problem& problem, const plan::scope& scope) {
  if (!problem.transposed) return plan::rejected("multiplies by the transposed matrix");
  if (problem.columns >= ~std::uint32_t{0}) return plan::rejected("columns exceed 32 bits");
  const machine& machine = scope.machine;
  plan::planned plan = problem.sum_bytes() == sizeof(double) ? plan_product_sort<double>(problem, machine)
                                                             : plan_product_sort<float>(problem, machine);
  const std::uint64_t pair = sizeof(std::uint32_t) + problem.sum_bytes();
  const std::uint64_t made = problem.matrix_bytes() + 3 * 8 * problem.rows + problem.entries * pair;
  const std::uint64_t summed = problem.entries * pair + 3 * problem.columns * problem.sum_bytes() + problem.y_bytes();
  plan.add("products", 4 * machine.step_seconds + machine.streamed(made, made));
  plan.add("sums", 3 * machine.step_seconds + machine.streamed(summed, summed));
  return plan;
}

/// Writes the column and the product of the entries from `first` on; past the last entry, no column.
template <class Sum, class Value, class Column>
__global__ void __launch_bounds__(block_threads)
    make_products(const __grid_constant__ product_arguments<Value, Column> args, const std::uint64_t* offsets,
                  std::uint64_t first, std::uint64_t count, std::uint32_t no_column, std::uint32_t* columns,
                  Sum* products) {
  for_each_entry(args.rows, offsets, first, count, [&](std::uint64_t i, std::uint64_t row, std::uint64_t place) {
    if (place == no_place) {
      columns[i] = no_column;
      products[i] = 0;
      return;
    }
    const Column column = __ldcs(args.columns + place);
    const bool has_column = column < args.column_limit;
    if (!has_column) report_column(args.guard, args.columns, args.column_limit, place, place + 1, row);
    columns[i] = has_column ? static_cast<std::uint32_t>(column) : no_column;
    products[i] = static_cast<Sum>(__ldcs(args.values + place)) * static_cast<Sum>(__ldg(args.x + row));
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

void run_transposed(const context& ctx, const spmv_problem& problem, const plan::planned&, const spmv_buffers& buffers,
                    std::byte* scratch) {
  const device_scope scope(ctx.device());
  if (problem.has_row_ends) refuse_capture(ctx, "spmv of rows with ends of their own");
  const csr_guard guard = guard_of(ctx, problem, problem.call);
  with_product_types(problem, [&]<class Types>(Types) {
    using value = typename Types::value;
    using sum = typename Types::sum;
    using column = typename Types::column;
    core::scratch_arrays place(scratch);
    const transposed_scratch<sum> at(problem, place);
    const std::uint64_t* const offsets = at.entries.numbers.offsets;
    const auto args = arguments_of<value, column>(problem, buffers, guard);
    queue_entry_offsets(ctx, problem, buffers.a, guard, at.entries.numbers);
    require(cudaMemsetAsync(at.totals, 0, problem.columns * sizeof(sum), ctx.stream()), ctx);
    const auto no_column = static_cast<std::uint32_t>(problem.columns);
    const std::uint64_t entries = problem.entries == 0 ? 0 : count_entries(ctx, problem, offsets);
    for (std::uint64_t first = 0; first < entries; first += problem.entries) {
      launch(ctx, make_products<sum, value, column>, ceil_div(problem.entries, entries_of_a_block), args, offsets,
             first, problem.entries, no_column, at.entries.columns, at.entries.written);
      const std::uint32_t* const sorted = at.entries.sort(ctx);
      add_segmented_sums<sum>(ctx, {sorted, at.entries.sorted, problem.entries}, no_column, at.totals, at.of_sums);
    }
    launch(ctx, write_results<sum, value, column>, ceil_div(problem.columns, block_threads), args, at.totals,
           problem.columns);
  });
}

}  // namespace

extern constinit const primitives::spmv_variant spmv_transposed{"cuda.transposed", backend_kind::cuda, plan_transposed,
                                                                run_transposed};

}  // namespace sheaf::cuda
