#include "cuda/movement/memory_cost.hpp"
#include "cuda/sparse/prepared/bsr.hpp"
#include "cuda/sparse/prepared/inspected_product.cuh"
#include "cuda/sparse/prepared/segmented.hpp"

// The preparation cuda.compressed: columns of 16 bits, counted from the lowest of 128 rows, where those rows span no
// more columns than that. A run is cuda.rows and streams 2 bytes an entry less, or 6. For banded matrices and grids;
// where all entries lie in dense blocks, it copies these as cuda.bsr does; where rows are of very uneven length, or
// span more columns, it cuts the matrix as cuda.segmented does. Of a part of a matrix, whose sums have the order of
// cuda.rows, it makes neither, and leaves rows as they are where their columns are not compressed.
namespace sheaf::cuda {
namespace {

constexpr const char* compressed_name = "cuda.compressed";
constexpr unsigned long long most_columns = 1 << 16;  ///< that 128 rows may span

/// Columns of a matrix, compressed. Values and row offsets stay the caller's.
class compressed_matrix final : public inspected_matrix {
 public:
  compressed_matrix(const context& ctx, const spmv_problem& p, const csr_view& a, std::uint64_t longest_row)
      : inspected_matrix(compressed_name, p, a),
        longest_row_(longest_row),
        columns_(prepared_memory(ctx, "compressed columns", p.entries * sizeof(std::uint16_t))),
        bases_(prepared_memory(ctx, "bases of columns", ceil_div(p.rows, base_rows) * sizeof(std::uint32_t))) {}

  std::uint64_t kept_bytes() const override { return columns_.size() + bases_.size(); }

  std::uint16_t* columns() const { return columns_.as<std::uint16_t>(); }
  std::uint32_t* bases() const { return bases_.as<std::uint32_t>(); }

 private:
  void multiply(const context& ctx, const spmv_problem& p, const spmv_buffers& b) const override {
    run_by_rows(ctx, p, b, longest_row_, {.compressed = columns(), .compressed_bases = bases()});
  }

  std::uint64_t longest_row_;
  buffer columns_;
  buffer bases_;
};

struct compressing_scratch {
  segmenting_scratch segments;
  block_finding blocks;

  compressing_scratch(const spmv_problem& product, core::scratch_arrays& place)
      : segments(product, place), blocks{place.take<unsigned>(1), place.take<unsigned>(1)} {}
};

// Nothing says before the columns are read whether they can be compressed; one pass over them finds out.
plan::planned plan_compressed(const prepare_spmv_problem& problem, const plan::scope& scope) {
  const spmv_problem& product = problem.product;
  if (product.transposed) return plan::rejected("compresses columns by rows, but the product is transposed");
  if (product.has_row_ends) return plan::rejected("rows may share entries, but an entry has one column");
  if (product.entries == 0 || product.columns == 0 || product.rows == 0)
    return plan::rejected("the matrix has no entries");
  if (product.columns >> 32 != 0) return plan::rejected("columns exceed 32 bits");
  const machine& machine = scope.machine;
  // As cuda.rows for a matrix of as many entries, but for what is streamed.
  const double all_seconds = plan::corrected_plan(spmv_rows, product, scope).seconds;
  const auto matrix_bytes = static_cast<double>(product.matrix_bytes() + product.y_bytes());
  const auto saved = static_cast<double>(product.entries * (bytes(product.column) - sizeof(std::uint16_t)));
  const double run_seconds = all_seconds * (1 - saved / matrix_bytes);
  const std::uint64_t streamed =
      product.matrix_bytes() + product.entries * (bytes(product.column) + sizeof(std::uint16_t));
  plan::planned plan;
  plan.by_name_only = product.columns > most_columns && is_scattered(product.pattern) &&
                      product.columns * product.value_bytes() > machine.cache_bytes;
  core::scratch_arrays place(nullptr);
  const compressing_scratch at(product, place);
  plan.scratch_bytes = place.bytes();
  plan.add("latency", 3 * machine.launch_seconds);
  plan.add("streamed", machine.streamed(streamed, streamed));
  return add_runs(plan, problem, {run_seconds, compressed_name});
}

/// The lowest and the highest column that a thread found; none if the lowest is above.
struct column_span {
  unsigned long long low;
  unsigned long long high;
};

/// Calls body(place, row) for the places of the rows [first_row, last_row), a row for each warp at a time.
template <class Body>
__device__ __forceinline__ void for_places(const row_offsets& rows, std::uint64_t first_row, std::uint64_t last_row,
                                           Body body) {
  for (std::uint64_t row = first_row + threadIdx.x / 32; row < last_row; row += warps_of_a_block) {
    const row_range r{rows.begin(row), rows.end(row)};
    for (std::uint64_t place = r.begin + threadIdx.x % 32; place < r.end; place += 32) body(place, row);
  }
}

/// Compresses the columns of 128 rows, which are right.
template <class Column>
__global__ void __launch_bounds__(block_threads)
    compress_columns(const __grid_constant__ csr_guard guard, const __grid_constant__ row_offsets rows,
                     const Column* columns, std::uint64_t limit, std::uint16_t* columns_to, std::uint32_t* bases,
                     unsigned* is_unfit) {
  __shared__ column_span all;
  if (threadIdx.x == 0) all = {~0ULL, 0};
  __syncthreads();
  const std::uint64_t first_row = std::uint64_t{blockIdx.x} * base_rows;
  const std::uint64_t last_row = min(first_row + base_rows, rows.rows);
  column_span own{~0ULL, 0};
  for_places(rows, first_row, last_row, [&](std::uint64_t place, std::uint64_t row) {
    const unsigned long long column = columns[place];
    if (column >= limit) {
      report_column(guard, columns, limit, place, place + 1, row);
      *is_unfit = 1;
      return;
    }
    own.low = min(own.low, column);
    own.high = max(own.high, column);
  });
  if (own.low <= own.high) {
    atomicMin(&all.low, own.low);
    atomicMax(&all.high, own.high);
  }
  __syncthreads();
  const unsigned long long base = all.low <= all.high ? all.low : 0;
  const bool fits = all.high - base < most_columns;
  if (threadIdx.x == 0) {
    bases[blockIdx.x] = static_cast<std::uint32_t>(base);
    if (!fits) *is_unfit = 1;
  }
  if (!fits) return;
  for_places(rows, first_row, last_row, [&](std::uint64_t place, std::uint64_t) {
    columns_to[place] = static_cast<std::uint16_t>(columns[place] - base);
  });
}

/// Null if columns are bad, which were reported, or span too many.
std::shared_ptr<primitives::prepared_product> make_compressed(const context& ctx, const spmv_problem& problem,
                                                              const csr_view& a, const csr_guard& guard,
                                                              const row_facts& facts, unsigned* is_unfit) {
  // A row of more entries than columns may span hardly ever fits, and one warp would walk it to find that out.
  if (facts.longest > most_columns) return nullptr;
  constexpr std::uint64_t most_in_long = 8;  // of all entries a share of one in so many
  if (is_segmented(problem, facts.entries) && facts.in_long > facts.entries / most_in_long) return nullptr;
  auto made = std::make_shared<compressed_matrix>(ctx, problem, a, facts.longest);
  const std::uint64_t limit = primitives::reachable_records(gather_of_columns(problem));
  clear_places_of_no_row(ctx, made->columns(), facts, problem.entries);
  require(cudaMemsetAsync(is_unfit, 0, sizeof *is_unfit, ctx.stream()), ctx);
  with_column_type(problem, [&]<class Column>(Column) {
    launch(ctx, compress_columns<Column>, ceil_div(problem.rows, base_rows), guard, offsets_of(problem, a),
           static_cast<const Column*>(a.column_indices.data), limit, made->columns(), made->bases(), is_unfit);
  });
  unsigned is_kept_as_it_is = 0;
  ctx.state().copy(&is_kept_as_it_is, is_unfit, sizeof is_kept_as_it_is);  // waits
  if (is_kept_as_it_is != 0) return nullptr;
  return made;
}

void run_compressed(const context& ctx, const prepare_spmv_problem& problem, const plan::planned&,
                    const prepare_spmv_buffers& buffers, std::byte* scratch) {
  const spmv_problem& product = problem.product;
  core::scratch_arrays place(scratch);
  const compressing_scratch at(product, place);
  make_or_keep_rows(ctx, problem, buffers, at.segments.facts, [&](const csr_guard& guard, const row_facts& facts) {
    auto made = make_bsr(ctx, product, buffers.a, guard, facts, at.blocks);
    if (made == nullptr) made = make_compressed(ctx, product, buffers.a, guard, facts, at.segments.faults);
    if (made != nullptr || product.is_part() || !is_segmented(product, facts.entries)) return made;
    return make_segmented(ctx, product, buffers.a, guard, facts, at.segments);
  });
}

}  // namespace

extern constinit const primitives::prepare_spmv_variant prepare_spmv_compressed{"cuda.compressed", backend_kind::cuda,
                                                                                plan_compressed, run_compressed};

}  // namespace sheaf::cuda
