#include <algorithm>
#include <memory>
#include <utility>

#include <sheaf/memory.hpp>

#include "cuda/movement/memory_cost.hpp"
#include "cuda/sparse/by_rows.hpp"
#include "cuda/sparse/segmented.hpp"
#include "cuda/sparse/sums/row_facts.cuh"
#include "cuda/sparse/sums/sum_rows.hpp"
#include "primitives/sparse/prepare_spmv.hpp"

// The preparation cuda.compressed: columns of 16 bits, counted from the lowest of 128 rows, where those rows span no
// more columns than that. A run is cuda.rows and streams 2 bytes an entry less, or 6. For banded matrices and grids;
// where rows are of very uneven length, or span more columns, it cuts the matrix as cuda.segmented does.
namespace sheaf::cuda {
namespace {

using primitives::prepare_spmv_buffers;
using primitives::prepare_spmv_problem;
using primitives::prepared_memory;
using primitives::spmv_problem;

constexpr const char* compressed_name = "cuda.compressed";
constexpr unsigned long long most_columns = 1 << 16;  ///< that 128 rows may span

/// Columns of a matrix, compressed. Values and row offsets stay the caller's.
class compressed_matrix final : public primitives::prepared_product {
 public:
  compressed_matrix(const context& ctx, const spmv_problem& p, const csr_view& a, std::uint64_t longest_row)
      : problem_(p),
        a_(a),
        longest_row_(longest_row),
        columns_(prepared_memory(ctx, "compressed columns", p.entries * sizeof(std::uint16_t))),
        bases_(prepared_memory(ctx, "bases of columns", ceil_div(p.rows, base_rows) * sizeof(std::uint32_t))) {}

  void run(const context& ctx, const const_values x, values y, double alpha, double beta) override {
    const run_scope scope(ctx, compressed_name);
    run_by_rows(ctx, problem_, {a_, x.data, y.data, alpha, beta}, longest_row_,
                {.compressed = columns(), .compressed_bases = bases()});
  }
  std::uint64_t kept_bytes() const override { return columns_.size() + bases_.size(); }

  std::uint16_t* columns() const { return columns_.as<std::uint16_t>(); }
  std::uint32_t* bases() const { return bases_.as<std::uint32_t>(); }

 private:
  spmv_problem problem_;
  csr_view a_;
  std::uint64_t longest_row_;
  buffer columns_;
  buffer bases_;
};

// Nothing says before the columns are read whether they can be compressed; one pass over them finds out.
plan::planned plan_compressed(const prepare_spmv_problem& problem, const plan::scope& scope) {
  const spmv_problem& p = problem.product;
  if (p.transposed) return plan::rejected("compresses columns by rows, and the product is transposed");
  if (p.has_row_ends) return plan::rejected("rows may share entries, and an entry has one column");
  if (p.entries == 0 || p.columns == 0 || p.rows == 0) return plan::rejected("the matrix has no entries");
  if (p.columns >> 32 != 0) return plan::rejected("columns pass 32 bits");
  const machine& m = scope.machine;
  // As cuda.rows for a matrix of as many entries, but for what is streamed.
  const double all_seconds = plan::corrected_plan(spmv_rows, p, scope).seconds;
  const auto matrix_bytes = static_cast<double>(p.matrix_bytes() + p.y_bytes());
  const auto saved = static_cast<double>(p.entries * (bytes(p.column) - sizeof(std::uint16_t)));
  const double run_seconds = all_seconds * (1 - saved / matrix_bytes);
  const std::uint64_t streamed = p.matrix_bytes() + p.entries * (bytes(p.column) + sizeof(std::uint16_t));
  plan::planned plan;
  plan.by_name_only =
      p.columns > most_columns && is_scattered(p.pattern) && p.columns * p.value_bytes() > m.cache_bytes;
  core::scratch_offsets place;
  const segmented_layout layout(p, place);
  plan.scratch_bytes = place.bytes();
  plan.decided.set(primitives::prepare_spmv_decision{run_seconds, compressed_name});
  plan.add("latency", 3 * m.launch_seconds);
  plan.add("streamed", m.streamed(streamed, streamed));
  plan.add("runs", static_cast<double>(problem.expected_runs) * run_seconds);
  return plan;
}

/// Compresses the columns of 128 rows, a row for each warp at a time.
template <class Column>
__global__ void __launch_bounds__(block_threads)
    compress_columns(const __grid_constant__ csr_guard guard, const __grid_constant__ row_offsets rows,
                     const Column* columns, std::uint64_t limit, std::uint16_t* columns_to, std::uint32_t* bases,
                     unsigned* is_unfit) {
  constexpr unsigned warps = block_threads / 32;
  __shared__ unsigned long long lowest;
  __shared__ unsigned long long highest;
  if (threadIdx.x == 0) {
    lowest = ~0ULL;
    highest = 0;
  }
  __syncthreads();
  const std::uint64_t first_row = std::uint64_t{blockIdx.x} * base_rows;
  const std::uint64_t last_row = min(first_row + base_rows, rows.rows);
  unsigned long long low = ~0ULL;
  unsigned long long high = 0;
  for (std::uint64_t row = first_row + threadIdx.x / 32; row < last_row; row += warps) {
    const row_range r{rows.begin(row), rows.end(row)};
    if (!rows.is_row(r)) {
      report_row(guard, rows, row);
      *is_unfit = 1;
      continue;
    }
    for (std::uint64_t place = r.begin + threadIdx.x % 32; place < r.end; place += 32) {
      const unsigned long long column = columns[place];
      if (column >= limit) {
        report_column(guard, columns, limit, place, place + 1, row);
        *is_unfit = 1;
        continue;
      }
      low = min(low, column);
      high = max(high, column);
    }
  }
  if (low <= high) {
    atomicMin(&lowest, low);
    atomicMax(&highest, high);
  }
  __syncthreads();
  const unsigned long long base = lowest <= highest ? lowest : 0;
  const bool fits = highest - base < most_columns;
  if (threadIdx.x == 0) {
    bases[blockIdx.x] = static_cast<std::uint32_t>(base);
    if (!fits) *is_unfit = 1;
  }
  if (!fits) return;
  for (std::uint64_t row = first_row + threadIdx.x / 32; row < last_row; row += warps) {
    const row_range r{rows.begin(row), rows.end(row)};
    if (!rows.is_row(r)) continue;
    for (std::uint64_t place = r.begin + threadIdx.x % 32; place < r.end; place += 32) {
      columns_to[place] = static_cast<std::uint16_t>(columns[place] - base);
    }
  }
}

void run_compressed(const context& ctx, const prepare_spmv_problem& problem, const plan::planned&,
                    const prepare_spmv_buffers& b, std::byte* scratch) {
  const device_scope scope(ctx.device());
  const spmv_problem& p = problem.product;
  const csr_guard guard = guard_of(ctx, p, primitives::csr_call::prepare_spmv);
  core::scratch_offsets place;
  const segmented_layout layout(p, place);
  const row_facts facts = inspect_rows(ctx, p, b.a, guard, reinterpret_cast<row_facts*>(scratch + layout.facts));
  const std::uint64_t longest_row = facts.has_faults != 0 ? unknown_length : facts.longest;
  const auto make_other = [&] {
    if (facts.has_faults == 0 && is_segmented(p, facts.entries)) {
      *b.made = make_segmented(ctx, p, b.a, guard, facts, layout, scratch);
    }
    if (*b.made == nullptr) *b.made = std::make_shared<product_by_rows>(p, b.a, longest_row);
  };
  constexpr std::uint64_t most_in_long = 8;  // of all entries a share of one in so many
  // A row of more entries than columns may span hardly ever fits, and one warp would walk it to find that out.
  if (facts.has_faults == 0 && facts.longest > most_columns) return make_other();
  if (is_segmented(p, facts.entries) && facts.in_long > facts.entries / most_in_long) return make_other();
  auto made = std::make_shared<compressed_matrix>(ctx, p, b.a, longest_row);
  const std::uint64_t limit = primitives::reachable_records(gather_of_columns(p));
  if (facts.has_faults == 0) clear_places_of_no_row(ctx, made->columns(), facts, p.entries);
  auto* const is_unfit = reinterpret_cast<unsigned*>(scratch + layout.faults);
  require(cudaMemsetAsync(is_unfit, 0, sizeof *is_unfit, ctx.stream()), ctx);
  const auto compress = [&]<class Column>(Column) {
    launch(ctx, compress_columns<Column>, ceil_div(p.rows, base_rows), guard, offsets_of(p, b.a),
           static_cast<const Column*>(b.a.column_indices.data), limit, made->columns(), made->bases(), is_unfit);
  };
  if (bytes(p.column) == 8) {
    compress(0ULL);
  } else {
    compress(0U);
  }
  unsigned is_kept_as_it_is = 0;
  ctx.state().copy(&is_kept_as_it_is, is_unfit, sizeof is_kept_as_it_is);  // waits
  if (is_kept_as_it_is != 0) {
    made.reset();
    return make_other();
  }
  *b.made = std::move(made);
}

}  // namespace

extern constinit const primitives::prepare_spmv_variant prepare_spmv_compressed{"cuda.compressed", backend_kind::cuda,
                                                                                plan_compressed, run_compressed};

}  // namespace sheaf::cuda
