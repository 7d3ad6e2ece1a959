#include "cuda/sparse/entries.cuh"
#include "cuda/sparse/prepared.cuh"
#include "cuda/split/cost.hpp"

// The preparation cuda.transposed: a copy of the matrix, transposed by a stable sort of its entries by column, so that
// each row of the transposed matrix has its entries in the order of the rows that they come from; runs are cuda.rows.
namespace sheaf::cuda {
namespace {

/// Whether rows and places fit 32 bits.
bool has_narrow_sources(const spmv_problem& p) noexcept { return p.rows >> 32 == 0 && p.entries >> 32 == 0; }

/// The product by the transposed matrix, in rows of its own.
spmv_problem by_rows(const spmv_problem& problem) noexcept {
  spmv_problem product = problem;
  product.rows = problem.columns;
  product.columns = problem.rows;
  product.transposed = false;
  product.offset = index_type::u64;
  product.column = has_narrow_sources(problem) ? index_type::u32 : index_type::u64;
  product.pattern = access_pattern::unknown();
  return product;
}

/// A copy of the matrix, transposed. Its arrays have as many places as the matrix's; those of entries that belong to no
/// row lie behind the last row.
class transposed_matrix final : public inspected_matrix {
 public:
  transposed_matrix(const context& ctx, const spmv_problem& p)
      : inspected_matrix("cuda.transposed", by_rows(p), {}),
        offsets_(prepared_memory(ctx, "row offsets of the transposed matrix", (problem_.rows + 1) * 8)),
        columns_(prepared_memory(ctx, "columns of the transposed matrix", p.entries * bytes(problem_.column))),
        values_(prepared_memory(ctx, "values of the transposed matrix", p.entries * p.value_bytes())) {
    a_ = csr_view(problem_.rows, problem_.columns, index_span{offsets_.data(), problem_.rows + 1, problem_.offset},
                  index_span{columns_.data(), problem_.entries, problem_.column},
                  const_values{values_.data(), problem_.entries, problem_.value});
  }

  std::uint64_t kept_bytes() const override { return offsets_.size() + columns_.size() + values_.size(); }
  std::string_view product() const override { return spmv_rows.name; }

  std::uint64_t* offsets() const { return offsets_.as<std::uint64_t>(); }
  void* columns() const { return columns_.data(); }
  void* values() const { return values_.data(); }

 private:
  void multiply(const context& ctx, const spmv_problem& p, const spmv_buffers& b) const override {
    run_by_rows(ctx, p, b, unknown_length);
  }

  buffer offsets_;
  buffer columns_;
  buffer values_;
};

/// Where an entry comes from.
template <class Bits>
struct source_of {
  Bits row;
  Bits place;
};

template <class Bits>
plan::planned plan_source_sort(const spmv_problem& p, const machine& machine) {
  core::scratch_arrays place(nullptr);
  const entries_by_column<source_of<Bits>> entries(p, place);
  plan::planned plan;
  plan.scratch_bytes = place.bytes();
  return plan.add("sort", pair_passes_cost(entries.passes, machine).seconds);
}

plan::planned plan_transposed(const prepare_spmv_problem& problem, const plan::scope& scope) {
  const spmv_problem& product = problem.product;
  if (!product.transposed) return plan::rejected("only transposed products gain from a transposed matrix");
  if (product.has_row_ends)
    return plan::rejected("sorts each entry once, but rows with ends of their own may share entries");
  if (product.columns >= ~std::uint32_t{0}) return plan::rejected("columns exceed 32 bits");
  const machine& machine = scope.machine;
  const bool is_narrow = has_narrow_sources(product);
  plan::planned plan =
      is_narrow ? plan_source_sort<std::uint32_t>(product, machine) : plan_source_sort<std::uint64_t>(product, machine);
  const double run_seconds = spmv_rows.plan(by_rows(product), scope).seconds;
  const std::uint64_t pair =
      sizeof(std::uint32_t) + (is_narrow ? sizeof(source_of<std::uint32_t>) : sizeof(source_of<std::uint64_t>));
  const std::uint64_t streamed = 2 * product.matrix_bytes() + 24 * product.rows + 2 * product.entries * pair;
  plan.add("streamed", 6 * machine.step_seconds + machine.streamed(streamed, streamed));
  plan.add("random read", product.entries == 0
                              ? 0
                              : machine.random_reads(product.entries, product.value_bytes(), product.matrix_bytes()));
  return add_runs(plan, problem, {run_seconds, spmv_rows.name});
}

template <class Column, class Bits>
__global__ void __launch_bounds__(block_threads)
    list_sources(const __grid_constant__ csr_guard guard, const __grid_constant__ row_offsets rows,
                 const std::uint64_t* offsets, const Column* columns, std::uint64_t limit, std::uint64_t count,
                 std::uint32_t no_column, std::uint32_t* keys, source_of<Bits>* sources) {
  for_each_entry(rows, offsets, 0, count, [&](std::uint64_t i, std::uint64_t row, std::uint64_t place) {
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
void transpose(const context& ctx, const spmv_problem& problem, const csr_view& a, const transposed_matrix& to,
               std::byte* scratch) {
  core::scratch_arrays place(scratch);
  const entries_by_column<source_of<Bits>> entries(problem, place);
  const csr_guard guard = guard_of(ctx, problem, primitives::csr_call::prepare_spmv);
  queue_entry_offsets(ctx, problem, a, guard, entries.numbers);
  if (problem.entries == 0)
    return require(cudaMemsetAsync(to.offsets(), 0, (problem.columns + 1) * 8, ctx.stream()), ctx);
  const std::uint64_t limit = primitives::reachable_records(gather_of_columns(problem));
  launch(ctx, list_sources<Column, Bits>, ceil_div(problem.entries, entries_of_a_block), guard, offsets_of(problem, a),
         entries.numbers.offsets, static_cast<const Column*>(a.column_indices.data), limit, problem.entries,
         static_cast<std::uint32_t>(problem.columns), entries.columns, entries.written);
  const std::uint32_t* const sorted = entries.sort(ctx);
  launch(ctx, find_begins, ceil_div(problem.columns + 1, block_threads), sorted, problem.entries, problem.columns,
         to.offsets());
  launch(ctx, copy_entries<Value, Bits>, ceil_div(problem.entries, 4 * block_threads), entries.sorted, problem.entries,
         static_cast<const Value*>(a.values.data), static_cast<Bits*>(to.columns()), static_cast<Value*>(to.values()));
}

void run_transposed(const context& ctx, const prepare_spmv_problem& problem, const plan::planned&,
                    const prepare_spmv_buffers& buffers, std::byte* scratch) {
  const device_scope scope(ctx.device());
  const spmv_problem& product = problem.product;
  auto made = std::make_shared<transposed_matrix>(ctx, product);
  with_product_types(product, [&]<class Types>(Types) {
    using value = typename Types::value;
    using column = typename Types::column;
    const auto transpose_as =
        has_narrow_sources(product) ? transpose<value, column, std::uint32_t> : transpose<value, column, std::uint64_t>;
    transpose_as(ctx, product, buffers.a, *made, scratch);
  });
  *buffers.made = std::move(made);
}

}  // namespace

extern constinit const primitives::prepare_spmv_variant prepare_spmv_transposed{"cuda.transposed", backend_kind::cuda,
                                                                                plan_transposed, run_transposed};

}  // namespace sheaf::cuda
