#include "cuda/movement/memory_cost.hpp"
#include "cuda/reduce/rows/cost.hpp"
#include "cuda/sparse/spmm.hpp"
#include "cuda/sparse/sums/matrix.cuh"

// The variant cuda.rows of products with dense matrices: a group of lanes sums a row of the matrix, each lane some
// values of the rows of X that the row's entries name; blocks sum long rows in pieces.
namespace sheaf::cuda {

summed_rows rows_of(const spmm_problem& p, const csr_view& a) noexcept {
  const row_offsets offsets = offsets_of(p.matrix, a);
  summed_rows rows;
  rows.begins = offsets.begins;
  rows.ends = offsets.ends;
  rows.has_wide_offsets = offsets.is_wide;
  rows.limit = offsets.limit;
  rows.columns = a.column_indices.data;
  rows.has_wide_columns = bytes(a.column_indices.type) == 8;
  rows.column_limit = primitives::reachable_records(gather_of_columns(p.matrix));
  rows.values = a.values.data;
  rows.value = a.values.type;
  return rows;
}

listed_rows rows_of_x(const summed_rows& a, const const_value_rows& x) noexcept {
  listed_rows rows = rows_to_read(x);
  rows.limit = a.column_limit;
  rows.index = a.columns;
  rows.has_wide_index = a.has_wide_columns;
  rows.weights = a.values;
  rows.weight = a.value;
  return rows;
}

listed_segments segments_of(const summed_rows& a, std::uint32_t* faults) noexcept {
  listed_segments segments;
  segments.begins = a.begins;
  segments.ends = a.ends;
  segments.are_wide = a.has_wide_offsets;
  segments.limit = a.limit;
  segments.faults = faults;
  return segments;
}

namespace {

/// How the columns of a product name rows of X.
primitives::movement reads_of_x(const spmm_problem& p) {
  primitives::movement reads = gather_of_columns(p.matrix);
  reads.record_bytes = p.x_row_bytes();
  reads.indexed_stride_bytes = p.x_stride_bytes;
  reads.sequential_stride_bytes = 0;
  reads.word_bytes = p.x_word_bytes;
  return reads;
}

/// Whether rows may be made slice by slice: X does not fit into the cache, but a slice of it has a chance to, and
/// slices are whole lines of the cache.
bool may_slice(const context& ctx, const spmm_problem& p, const summed_rows& a, const spmm_buffers& b,
               const row_types& types) {
  constexpr std::uint64_t line = 128;
  constexpr std::uint64_t least_entries = 1 << 15;
  constexpr std::uint64_t most_caches = 4;  // of 60 MB: X of 256 MB was 2 % slower in slices, of 128 MB 3 to 6 % faster
  const std::uint64_t cache = ctx.profile().cache_bytes;
  const std::uint64_t x_bytes = b.x.count * p.x_row_bytes();
  const bool has_slices = types.values_of_lane * bytes(p.x) * slice_lanes == line && p.x_row_bytes() % line == 0 &&
                          p.x_row_bytes() > line && p.x_stride_bytes % line == 0 &&
                          reinterpret_cast<std::uintptr_t>(b.x.data) % line == 0;
  return has_slices && !a.has_wide_columns && p.matrix.entries >= least_entries && x_bytes > cache / 2 &&
         x_bytes <= most_caches * cache;
}

/// Whether columns are scattered, so that slices pay: neighbouring rows of a band or of a grid share rows of X, and
/// slices would only read the matrix once more. Each warp looks at 32 of 512 entries side by side, twice; they are
/// scattered unless half of them name columns close to that in the middle. One block.
__global__ void __launch_bounds__(block_threads)
    judge_columns(const std::uint32_t* columns, std::uint64_t entries, std::uint64_t close, std::uint32_t* in_turn) {
  constexpr int rounds = 2;
  constexpr std::uint64_t window = 512;
  constexpr std::uint64_t windows = rounds * block_threads / 32;
  int near = 0;
  for (int round = 0; round < rounds; ++round) {
    const std::uint64_t at = (entries - window) / windows * (round * block_threads / 32 + threadIdx.x / 32);
    const std::uint64_t value = columns[at + threadIdx.x % 32 * (window / 32)];
    const std::uint64_t middle = columns[at + window / 2 + 1];
    near += __syncthreads_count((value > middle ? value - middle : middle - value) < close);
  }
  if (threadIdx.x == 0) *in_turn = near < rounds * static_cast<int>(block_threads) / 2 ? 1 : 0;
}

}  // namespace

void multiply_by_rows(const context& ctx, const spmm_problem& p, const summed_rows& a, const spmm_buffers& b,
                      const product_rows_scratch& scratch) {
  const row_types types = types_of_product(p);
  reduced_rows out = rows_to_write(b.y, types, reduction::add, b.beta != 0);
  out.is_product = true;
  out.alpha = b.alpha;
  out.beta = b.beta;
  if (may_slice(ctx, p, a, b, types)) {
    constexpr std::uint64_t close_parts = 32;  // columns closer than this part of the cache share it
    const std::uint64_t close = ctx.profile().cache_bytes / close_parts / p.x_stride_bytes;
    launch_blocks(ctx, judge_columns, 1, block_threads, static_cast<const std::uint32_t*>(a.columns), p.matrix.entries,
                  close, scratch.in_turn);
    out.in_turn = scratch.in_turn;
  }
  const listed_segments segments = segments_of(a, a.may_be_wrong ? scratch.longs.faults() : nullptr);
  combine_listed_segments(ctx, types, rows_of_x(a, b.x), segments, out, scratch.longs.lists, true);
}

void price_product_rows(const spmm_problem& p, const machine& m, plan::planned& plan) {
  const primitives::movement reads = reads_of_x(p);
  plan.add("latency", m.launch_seconds + 9 * m.step_seconds);
  plan.add("matrix", m.streamed(p.matrix.matrix_bytes(), p.matrix.matrix_bytes()));
  if (p.matrix.entries > 0) {
    const memory_cost cost = gather_cost(reads, m);
    plan.add("x", std::max(cost.indexed_bus, cost.access));
  }
  plan.add("y", rows_written_seconds(p.matrix.y_count(), p.y_row_bytes(), p.matrix.reads_y, m));
}

namespace {

plan::planned plan_product_by_rows(const spmm_problem& p, const plan::scope& scope) {
  if (p.matrix.transposed) return plan::rejected("multiplies by rows, but the product is transposed");
  plan::planned plan;
  price_product_rows(p, scope.machine, plan);
  plan.scratch_bytes = core::bytes_of<product_rows_scratch>(p, p.matrix.rows);
  return plan;
}

/// Reports rows and columns that are wrong. A thread takes a row.
template <class Column>
__global__ void __launch_bounds__(block_threads)
    report_faults_of_rows(const __grid_constant__ csr_guard guard, const __grid_constant__ row_offsets rows,
                          const Column* columns, std::uint64_t limit, const std::uint32_t* faults) {
  if (*faults == 0) return;
  const std::uint64_t step = std::uint64_t{gridDim.x} * block_threads;
  for (std::uint64_t row = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x; row < rows.rows; row += step) {
    const row_range r = checked_row(guard, rows, row);
    report_column(guard, columns, limit, r.begin, r.end, row);
  }
}

void run_product_by_rows(const context& ctx, const spmm_problem& p, const plan::planned&, const spmm_buffers& b,
                         std::byte* scratch) {
  const device_scope current_device(ctx.device());
  const csr_guard guard = guard_of(ctx, p.matrix, primitives::csr_call::spmm);
  const auto at = core::arrays_in<product_rows_scratch>(scratch, p, p.matrix.rows);
  multiply_by_rows(ctx, p, rows_of(p, b.a), b, at);
  report_matrix_faults(ctx, p, b.a, guard, at.longs.faults());
}

}  // namespace

void report_matrix_faults(const context& ctx, const spmm_problem& p, const csr_view& a, const csr_guard& guard,
                          const std::uint32_t* faults) {
  if (p.matrix.rows == 0) return;
  constexpr std::uint64_t blocks_each = 4;
  const std::uint64_t most_blocks = blocks_each * static_cast<std::uint64_t>(state_of(ctx).multiprocessors());
  const std::uint64_t limit = primitives::reachable_records(gather_of_columns(p.matrix));
  with_column_type(p.matrix, [&]<class Column>(Column) {
    launch(ctx, report_faults_of_rows<Column>, std::min(ceil_div(p.matrix.rows, block_threads), most_blocks), guard,
           offsets_of(p.matrix, a), static_cast<const Column*>(a.column_indices.data), limit, faults);
  });
}

extern constinit const primitives::spmm_variant spmm_rows{"cuda.rows", backend_kind::cuda, plan_product_by_rows,
                                                          run_product_by_rows};

}  // namespace sheaf::cuda
