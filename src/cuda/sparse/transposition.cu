#include "cuda/sparse/transposition.hpp"

#include "cuda/sparse/entries.cuh"
#include "cuda/split/cost.hpp"

namespace sheaf::cuda {
namespace {

/// Where an entry comes from.
template <class Bits>
struct source_of {
  Bits row;
  Bits place;
};

template <class Bits>
void add_source_sort(const spmv_problem& p, const machine& machine, plan::planned& plan) {
  core::scratch_arrays place(nullptr);
  const entries_by_column<source_of<Bits>> entries(p, place);
  plan.scratch_bytes += place.bytes();
  plan.add("sort", pair_passes_cost(entries.passes, machine).seconds);
}

template <class Column, class Bits>
__global__ void __launch_bounds__(block_threads)
    list_sources(const __grid_constant__ csr_guard guard, const __grid_constant__ row_offsets rows,
                 const std::uint64_t* offsets, std::uint64_t first, const Column* columns, std::uint64_t limit,
                 std::uint64_t count, std::uint32_t no_column, std::uint32_t* keys, source_of<Bits>* sources) {
  for_each_entry(rows, offsets, first, count, [&](std::uint64_t i, std::uint64_t row, std::uint64_t place) {
    if (place == no_place) {
      keys[i] = no_column;
      sources[i] = {0, 0};
      return;
    }
    const Column column = __ldcs(columns + place);
    const bool has_column = column < limit;
    if (!has_column) report_column(guard, columns, limit, place, place + 1, row);
    keys[i] = has_column ? static_cast<std::uint32_t>(column) : no_column;
    sources[i] = {static_cast<Bits>(row), static_cast<Bits>(place)};
  });
}

/// Row c of the transposed matrix begins at the first key that is not below c.
__global__ void __launch_bounds__(block_threads)
    find_begins(const std::uint32_t* keys, std::uint64_t count, std::uint64_t columns, std::uint64_t* offsets) {
  const std::uint64_t c = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (c > columns) return;
  offsets[c] = partition_point(std::uint64_t{0}, count, [&](std::uint64_t i) { return keys[i] < c; });
}

template <class Value, class Bits>
__global__ void __launch_bounds__(block_threads) copy_entries(const source_of<Bits>* sources, std::uint64_t count,
                                                              const Value* values, Bits* rows_to, Value* values_to) {
  constexpr unsigned each = 4;
  const std::uint64_t first = std::uint64_t{blockIdx.x} * (each * block_threads) + threadIdx.x;
#pragma unroll
  for (unsigned k = 0; k < each; ++k) {
    const std::uint64_t i = first + k * block_threads;
    if (i >= count) continue;
    const source_of<Bits> from = sources[i];
    rows_to[i] = from.row;
    values_to[i] = __ldg(values + from.place);
  }
}

template <class Value, class Column, class Bits>
void transpose(const context& ctx, const spmv_problem& problem, const csr_view& a, const csr_guard& guard,
               const transposed_entries& to, std::byte* scratch, std::uint64_t first) {
  core::scratch_arrays place(scratch);
  const entries_by_column<source_of<Bits>> entries(problem, place);
  queue_entry_offsets(ctx, problem, a, guard, entries.numbers);
  if (problem.entries == 0) {
    return require(cudaMemsetAsync(to.offsets, 0, (problem.columns + 1) * sizeof *to.offsets, ctx.stream()), ctx);
  }
  const std::uint64_t limit = primitives::reachable_records(gather_of_columns(problem));
  launch(ctx, list_sources<Column, Bits>, ceil_div(problem.entries, entries_of_a_block), guard, offsets_of(problem, a),
         entries.numbers.offsets, first, static_cast<const Column*>(a.column_indices.data), limit, problem.entries,
         static_cast<std::uint32_t>(problem.columns), entries.columns, entries.written);
  const std::uint32_t* const sorted = entries.sort(ctx);
  launch(ctx, find_begins, ceil_div(problem.columns + 1, block_threads), sorted, problem.entries, problem.columns,
         to.offsets);
  launch(ctx, copy_entries<Value, Bits>, ceil_div(problem.entries, 4 * block_threads), entries.sorted, problem.entries,
         static_cast<const Value*>(a.values.data), static_cast<Bits*>(to.columns), static_cast<Value*>(to.values));
}

template <class Value, class Column>
void transpose_values(const context& ctx, const spmv_problem& problem, const csr_view& a, const csr_guard& guard,
                      const transposed_entries& to, std::byte* scratch, std::uint64_t first) {
  const auto transpose_as =
      has_narrow_sources(problem) ? transpose<Value, Column, std::uint32_t> : transpose<Value, Column, std::uint64_t>;
  transpose_as(ctx, problem, a, guard, to, scratch, first);
}

}  // namespace

const char* transposition_rejection(const spmv_problem& problem) noexcept {
  if (problem.has_row_ends) {
    return "sorts each entry once, but rows with ends of their own may share entries";
  }
  if (problem.columns >= ~std::uint32_t{0}) return "columns exceed 32 bits";
  return nullptr;
}

void add_transposition(const spmv_problem& problem, const machine& m, plan::planned& plan) {
  const bool is_narrow = has_narrow_sources(problem);
  if (is_narrow) {
    add_source_sort<std::uint32_t>(problem, m, plan);
  } else {
    add_source_sort<std::uint64_t>(problem, m, plan);
  }
  const std::uint64_t pair =
      sizeof(std::uint32_t) + (is_narrow ? sizeof(source_of<std::uint32_t>) : sizeof(source_of<std::uint64_t>));
  const std::uint64_t streamed = 2 * problem.matrix_bytes() + 24 * problem.rows + 2 * problem.entries * pair;
  plan.add("streamed", 6 * m.step_seconds + m.streamed(streamed, streamed));
  plan.add("random read",
           problem.entries == 0 ? 0 : m.random_reads(problem.entries, problem.value_bytes(), problem.matrix_bytes()));
}

void queue_transposition(const context& ctx, const spmv_problem& problem, const csr_view& a, const csr_guard& guard,
                         const transposed_entries& to, std::byte* scratch, std::uint64_t first) {
  // Values are moved as words of their width.
  with_column_type(problem, [&]<class Column>(Column) {
    switch (problem.value_bytes()) {
      case 2: return transpose_values<std::uint16_t, Column>(ctx, problem, a, guard, to, scratch, first);
      case 4: return transpose_values<std::uint32_t, Column>(ctx, problem, a, guard, to, scratch, first);
      default: return transpose_values<std::uint64_t, Column>(ctx, problem, a, guard, to, scratch, first);
    }
  });
}

std::uint64_t count_entries_of_rows(const context& ctx, const spmv_problem& problem, const csr_view& a,
                                    const csr_guard& guard, std::byte* scratch) {
  core::scratch_arrays place(scratch);
  const entry_offsets numbers(problem.rows, place);
  queue_entry_offsets(ctx, problem, a, guard, numbers);
  std::uint64_t count = 0;
  ctx.state().copy(&count, numbers.offsets + problem.rows, sizeof count);
  return count;
}

}  // namespace sheaf::cuda
