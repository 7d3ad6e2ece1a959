#pragma once

#include "cuda/sparse/solvers/system.cuh"
#include "cuda/sparse/sums/row_products.cuh"

// The rows of a system's matrix as a block sums them, what it keeps in its shared memory, and products by them as parts
// of kernels. A row belongs to a group of lanes as in cuda.rows; a long one is its block's.
namespace sheaf::cuda {

/// Arrays in the dynamic shared memory of a block, one behind the other.
class shared_space {
 public:
  __device__ shared_space(unsigned char* begin, std::uint64_t bytes) : at_(begin), left_(bytes) {}

  /// Null, and nothing taken, if there is no space for so many.
  template <class T>
  __device__ T* take(std::uint64_t count) {
    constexpr std::uint64_t alignment = 16;
    if (count > left_) return nullptr;
    const std::uint64_t bytes = (count * sizeof(T) + alignment - 1) / alignment * alignment;
    if (bytes > left_) return nullptr;
    T* const array = reinterpret_cast<T*>(at_);
    at_ += bytes;
    left_ -= bytes;
    return array;
  }

 private:
  unsigned char* at_;
  std::uint64_t left_;
};

/// The rows of a matrix: where the caller has them, or copied to shared memory, of those that are one block's. A lane
/// takes every so manieth place, wherever they lie, so that sums have the same bits.
template <class Value, class Column>
class matrix_rows {
 public:
  __device__ explicit matrix_rows(const product_arguments<Value, Column>& a)
      : rows_(a.rows), columns_(a.columns), values_(a.values), limit_(a.column_limit) {}

  /// Copies the rows [first, last), or their offsets alone, if they are right and fit; rows with ends of their own stay
  /// where they are. All threads of the block call this.
  template <unsigned Threads>
  __device__ void copy(std::uint64_t first, std::uint64_t last, bool has_row_ends, shared_space& space) {
    if (has_row_ends || first >= last) return;
    const row_range all{rows_.begin(first), rows_.end(last - 1)};
    constexpr std::uint64_t most_places = ~0U;
    if (!rows_.is_row(all) || all.length() > most_places) return;
    auto* const offsets = space.take<unsigned>(last - first + 1);
    if (offsets == nullptr) return;
    bool is_wrong = false;
    for (std::uint64_t row = first + threadIdx.x; row < last; row += Threads) {
      const row_range r{rows_.begin(row), rows_.end(row)};
      is_wrong |= r.begin < all.begin || r.end > all.end || !rows_.is_row(r);
      offsets[row - first] = static_cast<unsigned>(r.begin - all.begin);
    }
    if (threadIdx.x == 0) offsets[last - first] = static_cast<unsigned>(all.length());
    if (__syncthreads_or(is_wrong ? 1 : 0) != 0) return;
    offsets_ = offsets;
    first_row_ = first;
    first_place_ = all.begin;
    columns_ += all.begin;
    values_ += all.begin;
    shared_space rest = space;
    auto* const values = rest.take<Value>(all.length());
    auto* const columns = rest.take<Column>(all.length());
    if (values == nullptr || columns == nullptr) return;
    for (std::uint64_t i = threadIdx.x; i < all.length(); i += Threads) {
      values[i] = values_[i];
      columns[i] = columns_[i];
    }
    __syncthreads();
    values_ = values;
    columns_ = columns;
    space = rest;
  }

  __device__ __forceinline__ row_range range(std::uint64_t row) const {
    if (offsets_ == nullptr) return {rows_.begin(row), rows_.end(row)};
    const unsigned* const at = offsets_ + (row - first_row_);
    return {first_place_ + at[0], first_place_ + at[1]};
  }

  /// Adds of_entry(column, value) of a lane's places, beginning at place `lane` of every `lanes`.
  template <class Sum, class OfEntry>
  __device__ __forceinline__ Sum sum(row_range range, unsigned lane, unsigned lanes, OfEntry of_entry,
                                     bool& is_bad) const {
    constexpr unsigned places = 8;
    Sum sum = 0;
    for (std::uint64_t at = range.begin + lane; at < range.end; at += std::uint64_t{places} * lanes) {
      Column column[places];
      Value value[places];
#pragma unroll
      for (unsigned k = 0; k < places; ++k) {
        const std::uint64_t i = at + std::uint64_t{k} * lanes;
        column[k] = i < range.end ? columns_[i - first_place_] : Column{0};
        value[k] = i < range.end ? values_[i - first_place_] : Value{0};
      }
#pragma unroll
      for (unsigned k = 0; k < places; ++k) {
        const bool is_in = at + std::uint64_t{k} * lanes < range.end;
        const bool has_column = column[k] < limit_;
        is_bad |= is_in && !has_column;
        if (is_in && has_column) sum += of_entry(column[k], static_cast<Sum>(value[k]));
      }
    }
    return sum;
  }

 private:
  const row_offsets& rows_;
  const Column* columns_;  ///< of place first_place_; in shared or global memory, as the values
  const Value* values_;
  const unsigned* offsets_ = nullptr;  ///< from first_place_, of rows from first_row_ on; null: in global memory
  std::uint64_t first_row_ = 0;
  std::uint64_t first_place_ = 0;
  std::uint64_t limit_;
};

template <class Value, class Column>
struct system_matrix {
  product_arguments<Value, Column> a;  ///< without x and y
  std::uint32_t lanes;                 ///< threads of a row

  /// Rows from these entries on are summed by a block.
  __device__ std::uint64_t long_entries() const { return std::uint64_t{128} * lanes; }
};

/// Reports the first bad column of a row, which its lanes found.
template <class Value, class Column>
__device__ __forceinline__ void note_bad_row(const product_arguments<Value, Column>& a, row_range r, std::uint64_t row,
                                             std::uint32_t& is_faulty) {
  report_column(a.guard, a.columns, a.column_limit, r.begin, r.end, row);
  is_faulty = 1;
}

/// The sum of a long row by all threads of a block; thread 0 has it. of_entry has the column and the value.
template <unsigned Threads, class Sum, class Value, class Column, class OfEntry>
__device__ __forceinline__ Sum sum_by_block(const matrix_rows<Value, Column>& rows,
                                            const product_arguments<Value, Column>& args, std::uint32_t& is_faulty,
                                            std::uint64_t row, OfEntry of_entry) {
  const row_range places = rows.range(row);
  bool is_bad = false;
  const Sum part = rows.template sum<Sum>(places, threadIdx.x, Threads, of_entry, is_bad);
  if (is_bad) note_bad_row(args, places, row, is_faulty);
  __syncwarp();
  return sum_of_warps<Threads>(sum_of_lanes<32>(part));
}

/// Sums the rows [first, last), at most as a block's, and gives each sum to take(row, sum) in one thread. of_entry has
/// the row, the column and the value. All threads of a block call this. Sets is_faulty where something is wrong with
/// the matrix, after a report.
template <unsigned Threads, class Sum, class Value, class Column, class OfEntry, class Take>
__device__ __forceinline__ void for_row_sums(const matrix_rows<Value, Column>& rows,
                                             const system_matrix<Value, Column>& matrix, std::uint32_t& is_faulty,
                                             std::uint64_t first, std::uint64_t last, OfEntry of_entry, Take take) {
  __shared__ unsigned long_rows[Threads];
  __shared__ unsigned long_count;
  const product_arguments<Value, Column>& args = matrix.a;
  const unsigned lanes = matrix.lanes;
  const unsigned groups = Threads / lanes;
  const unsigned lane = threadIdx.x % lanes;
  for (std::uint64_t base = first; base < last; base += groups) {
    const std::uint64_t row = base + threadIdx.x / lanes;
    const bool is_row = row < last;
    row_range range = is_row ? rows.range(row) : row_range{0, 0};
    if (!args.rows.is_row(range)) {
      if (lane == 0) {
        report_row(args.guard, args.rows, row);
        is_faulty = 1;
      }
      range = {0, 0};
    }
    const bool is_long = range.length() >= matrix.long_entries();
    bool is_bad = false;
    Sum sum = 0;
    if (!is_long) {
      sum = rows.template sum<Sum>(
          range, lane, lanes, [&](Column c, Sum value) { return of_entry(row, c, value); }, is_bad);
    }
    if (is_bad) note_bad_row(args, range, row, is_faulty);
    __syncwarp();
    for (unsigned d = lanes / 2; d > 0; d /= 2) sum += __shfl_down_sync(~0U, sum, d, lanes);
    if (is_row && lane == 0 && !is_long) take(row, sum);
    if (__syncthreads_or(is_long ? 1 : 0) == 0) continue;
    if (threadIdx.x == 0) long_count = 0;
    __syncthreads();
    if (is_long && lane == 0) long_rows[atomicAdd(&long_count, 1U)] = static_cast<unsigned>(row - base);
    __syncthreads();
    for (unsigned i = 0; i < long_count; ++i) {
      const std::uint64_t of = base + long_rows[i];
      const Sum all = sum_by_block<Threads, Sum>(rows, args, is_faulty, of,
                                                 [&](Column c, Sum value) { return of_entry(of, c, value); });
      if (threadIdx.x == 0) take(of, all);
      __syncthreads();
    }
  }
}

/// Reads the inverse of the diagonal of the rows [first, last); entries of a place that occur several times are added.
/// Checks all of the rows.
template <unsigned Threads, class Sum, class Value, class Column>
__device__ __forceinline__ void read_inverse(const matrix_rows<Value, Column>& rows,
                                             const system_matrix<Value, Column>& m,
                                             const system_vectors<Value>& vectors, std::uint32_t& is_faulty,
                                             std::uint64_t first, std::uint64_t last) {
  for_row_sums<Threads, Sum>(
      rows, m, is_faulty, first, last,
      [](std::uint64_t row, Column column, Sum value) { return column == row ? value : Sum{0}; },
      [&](std::uint64_t row, Sum sum) {
        const auto diagonal = static_cast<Value>(sum);
        vectors.inverse[row] = Value{1} / diagonal;
        if (!(diagonal > 0)) vectors.state().has_bad_diagonal = 1;
      });
}

/// to = b - A x of the rows [first, last).
template <unsigned Threads, class Sum, class Value, class Column>
__device__ __forceinline__ void make_residual(const matrix_rows<Value, Column>& rows,
                                              const system_matrix<Value, Column>& m,
                                              const system_vectors<Value>& vectors, std::uint32_t& is_faulty,
                                              const Value* x, Value* to, std::uint64_t first, std::uint64_t last) {
  for_row_sums<Threads, Sum>(
      rows, m, is_faulty, first, last,
      [&](std::uint64_t, Column column, Sum value) { return value * static_cast<Sum>(x[column]); },
      [&](std::uint64_t row, Sum sum) { to[row] = static_cast<Value>(static_cast<Sum>(vectors.b[row]) - sum); });
}

/// Calls body(tile, its first row, the one behind its last) for the tiles of a block, one for each in turn.
template <class Value, class Body>
__device__ __forceinline__ void for_tiles(const system_vectors<Value>& v, Body body) {
  for (std::uint64_t tile = blockIdx.x; tile < v.tiles; tile += gridDim.x) {
    const std::uint64_t first = tile * v.tile_rows;
    body(tile, first, min(v.rows, first + v.tile_rows));
  }
}

/// The inverse of the diagonal, by tiles.
template <class Value, class Column>
__global__ void __launch_bounds__(block_threads)
    check_diagonal(const __grid_constant__ system_vectors<Value> v,
                   const __grid_constant__ system_matrix<Value, Column> m) {
  const matrix_rows<Value, Column> rows(m.a);
  for_tiles(v, [&](std::uint64_t, std::uint64_t first, std::uint64_t last) {
    read_inverse<block_threads, Value>(rows, m, v, v.state().is_faulty[solver_state::diagonal], first, last);
  });
}

template <class Value, class Column>
system_matrix<Value, Column> matrix_of(const conjugate_gradient_problem& p, const conjugate_gradient_buffers& b,
                                       const csr_guard& guard) {
  return {arguments_of<Value, Column>(p.product, {b.a}, guard), lanes_of_row(p.product)};
}

/// Runs a solver of the system's types, or captures it.
template <template <class, class, class> class Solver>
void run_solver(const context& ctx, const conjugate_gradient_problem& problem, const plan::planned& plan,
                const conjugate_gradient_buffers& b, std::byte* scratch) {
  const device_scope scope(ctx.device());
  with_product_types(problem.product, [&]<class Types>(Types) {
    Solver<typename Types::sum, typename Types::value, typename Types::column> solver(ctx, problem, plan, b, scratch);
    if (!problem.is_captured) return solver.run();
    const graph_memory_scope memory(ctx, scratch, plan.scratch_bytes);
    solver.capture();
  });
}

}  // namespace sheaf::cuda
