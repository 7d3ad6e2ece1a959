#include <algorithm>
#include <memory>

#include <sheaf/memory.hpp>

#include "cuda/sparse/by_rows.hpp"
#include "cuda/sparse/entries.cuh"
#include "cuda/split/cost.hpp"
#include "cuda/split/passes.hpp"
#include "plan/choose.hpp"
#include "primitives/sparse/prepare_spmv.hpp"

// The preparation cuda.transposed: a copy of the matrix, transposed by a stable sort of its entries by column, so that
// each row of the transposed matrix has its entries in the order of the rows that they come from; runs are cuda.rows.
namespace sheaf::cuda {
namespace {

using primitives::prepare_spmv_buffers;
using primitives::prepare_spmv_problem;
using primitives::prepared_memory;
using primitives::spmv_problem;

/// Whether rows and places fit 32 bits.
bool has_narrow_sources(const spmv_problem& p) noexcept { return p.rows >> 32 == 0 && p.entries >> 32 == 0; }

/// The product by the transposed matrix, in rows of its own.
spmv_problem by_rows(const spmv_problem& p) noexcept {
  spmv_problem t = p;
  t.rows = p.columns;
  t.columns = p.rows;
  t.transposed = false;
  t.offset = index_type::u64;
  t.column = has_narrow_sources(p) ? index_type::u32 : index_type::u64;
  t.pattern = access_pattern::unknown();
  return t;
}

/// A copy of the matrix, transposed. Its arrays have as many places as the matrix's; those of entries that belong to no
/// row lie behind the last row.
class transposed_matrix final : public primitives::prepared_product {
 public:
  transposed_matrix(const context& ctx, const spmv_problem& p)
      : problem_(by_rows(p)),
        offsets_(prepared_memory(ctx, "row offsets of the transposed matrix", (problem_.rows + 1) * 8)),
        columns_(prepared_memory(ctx, "columns of the transposed matrix", p.entries * bytes(problem_.column))),
        values_(prepared_memory(ctx, "values of the transposed matrix", p.entries * p.value_bytes())) {}

  void run(const context& ctx, const const_values x, sheaf::values y, double alpha, double beta) override {
    const run_scope scope(ctx, "cuda.transposed");
    const csr_view a(problem_.rows, problem_.columns, index_span{offsets_.data(), problem_.rows + 1, problem_.offset},
                     index_span{columns_.data(), problem_.entries, problem_.column},
                     const_values{values_.data(), problem_.entries, problem_.value});
    run_by_rows(ctx, problem_, {a, x.data, y.data, alpha, beta}, unknown_length);
  }
  std::uint64_t kept_bytes() const override { return offsets_.size() + columns_.size() + values_.size(); }

  std::uint64_t* offsets() const { return offsets_.as<std::uint64_t>(); }
  void* columns() const { return columns_.data(); }
  void* values() const { return values_.data(); }

 private:
  spmv_problem problem_;
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

struct transpose_layout {
  std::uint64_t offsets, sums_of_tiles;
  std::uint64_t columns, sources, sorted, passes;
};

pair_passes passes_of(const spmv_problem& p) {
  pair_passes passes;
  passes.key_bits = std::max(1U, primitives::category_bits(p.columns + 1));
  passes.value_bytes = has_narrow_sources(p) ? sizeof(source_of<std::uint32_t>) : sizeof(source_of<std::uint64_t>);
  passes.count = p.entries;
  passes.writes_keys = true;
  passes.keys.stride = passes.keys.word_bytes = sizeof(std::uint32_t);
  passes.keys.bits = {0, passes.key_bits};
  passes.keys.categories = p.columns;
  return passes;
}

plan::planned plan_transposed(const prepare_spmv_problem& problem, const plan::scope& scope) {
  const spmv_problem& p = problem.product;
  if (!p.transposed) return plan::rejected("only transposed products gain by a transposed matrix");
  if (p.has_row_ends) return plan::rejected("sorts each entry once, and rows with ends of their own may share entries");
  if (p.columns >= ~std::uint32_t{0}) return plan::rejected("columns pass 32 bits");
  const machine& m = scope.machine;
  const pair_passes passes = passes_of(p);
  core::scratch_offsets place;
  const entry_offsets_layout offsets(p.rows, place);
  transpose_layout layout;
  layout.offsets = offsets.offsets;
  layout.sums_of_tiles = offsets.sums;
  layout.columns = place.take(p.entries * sizeof(std::uint32_t));
  layout.sources = place.take(p.entries * passes.value_bytes);
  layout.sorted = place.take(p.entries * passes.value_bytes);
  layout.passes = place.take(p.entries == 0 ? 0 : pair_scratch_bytes(passes));
  primitives::split_problem split;
  split.backend = p.backend;
  split.count = p.entries;
  split.record_bytes = split.in_stride_bytes = split.out_stride_bytes = passes.value_bytes;
  split.word_bytes = passes.value_bytes;
  split.key_from = split_key::kind::category;
  split.key_stride_bytes = sizeof(std::uint32_t);
  const double sort_seconds = pair_passes_cost(split, m, passes.key_bits, pass_count(passes), true).seconds;
  const double run_seconds = spmv_rows.plan(by_rows(p), scope).seconds;
  const std::uint64_t pair = sizeof(std::uint32_t) + passes.value_bytes;
  const std::uint64_t streamed = 2 * p.matrix_bytes() + 24 * p.rows + 2 * p.entries * pair;
  plan::planned plan;
  plan.scratch_bytes = place.bytes();
  plan.inner_calls = std::make_shared<const transpose_layout>(layout);
  plan.decided.set(primitives::prepare_spmv_decision{run_seconds, spmv_rows.name});
  plan.add("sort", sort_seconds);
  plan.add("streamed", 6 * m.step_seconds + m.streamed(streamed, streamed));
  plan.add("random read", p.entries == 0 ? 0 : m.random_reads(p.entries, p.value_bytes(), p.matrix_bytes()));
  plan.add("runs", static_cast<double>(problem.expected_runs) * run_seconds);
  return plan;
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
static __global__ void __launch_bounds__(block_threads)
    find_begins(const std::uint32_t* keys, std::uint64_t count, std::uint64_t columns, std::uint64_t* offsets) {
  const std::uint64_t c = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (c > columns) return;
  std::uint64_t low = 0;
  for (std::uint64_t high = count; low < high;) {
    const std::uint64_t middle = (low + high) / 2;
    if (keys[middle] < c) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  offsets[c] = low;
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
void transpose(const context& ctx, const spmv_problem& p, const csr_view& a, const transpose_layout& layout,
               const csr_guard& guard, const std::uint64_t* offsets, const transposed_matrix& to, std::byte* scratch) {
  using source = source_of<Bits>;
  auto* const keys = reinterpret_cast<std::uint32_t*>(scratch + layout.columns);
  const auto no_column = static_cast<std::uint32_t>(p.columns);
  const std::uint64_t limit = primitives::reachable_records(gather_of_columns(p));
  launch(ctx, list_sources<Column, Bits>, ceil_div(p.entries, entries_of_a_block), guard, offsets_of(p, a), offsets,
         static_cast<const Column*>(a.column_indices.data), limit, p.entries, no_column, keys,
         reinterpret_cast<source*>(scratch + layout.sources));
  pair_passes passes = passes_of(p);
  passes.keys.data = reinterpret_cast<const std::byte*>(keys);
  passes.values = scratch + layout.sources;
  passes.out = scratch + layout.sorted;
  const std::uint32_t* const sorted = run_pair_passes(ctx, passes, scratch + layout.passes);
  launch(ctx, find_begins, ceil_div(p.columns + 1, block_threads), sorted, p.entries, p.columns, to.offsets());
  launch(ctx, copy_entries<Value, Bits>, ceil_div(p.entries, 4 * block_threads),
         reinterpret_cast<const source*>(scratch + layout.sorted), p.entries, static_cast<const Value*>(a.values.data),
         static_cast<Bits*>(to.columns()), static_cast<Value*>(to.values()));
}

void run_transposed(const context& ctx, const prepare_spmv_problem& problem, const plan::planned& plan,
                    const prepare_spmv_buffers& b, std::byte* scratch) {
  const device_scope scope(ctx.device());
  const spmv_problem& p = problem.product;
  const auto& layout = plan.inner<transpose_layout>();
  auto made = std::make_shared<transposed_matrix>(ctx, p);
  const csr_guard guard = guard_of(ctx, p, primitives::csr_call::prepare_spmv);
  core::scratch_offsets place;
  const entry_offsets_layout offsets_layout(p.rows, place);
  const std::uint64_t* const offsets = queue_entry_offsets(ctx, p, b.a, guard, offsets_layout, scratch);
  if (p.entries == 0) {
    require(cudaMemsetAsync(made->offsets(), 0, (p.columns + 1) * 8, ctx.stream()), ctx);
  } else {
    const auto with_value = [&]<class Value>(Value) {
      const auto with_column = [&]<class Column>(Column) {
        if (has_narrow_sources(p)) {
          return transpose<Value, Column, std::uint32_t>(ctx, p, b.a, layout, guard, offsets, *made, scratch);
        }
        return transpose<Value, Column, std::uint64_t>(ctx, p, b.a, layout, guard, offsets, *made, scratch);
      };
      if (bytes(p.column) == 8) return with_column(0ULL);
      return with_column(0U);
    };
    if (p.value == value_type::f64) {
      with_value(0.0);
    } else {
      with_value(0.0F);
    }
  }
  *b.made = std::move(made);
}

}  // namespace

extern constinit const primitives::prepare_spmv_variant prepare_spmv_transposed{"cuda.transposed", backend_kind::cuda,
                                                                                plan_transposed, run_transposed};

}  // namespace sheaf::cuda
