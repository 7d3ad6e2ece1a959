#pragma once

#include <limits>

#include "cuda/device/launch.cuh"
#include "cuda/sparse/sums/sum_rows.hpp"
#include "primitives/movement/multipass.hpp"

// A matrix in compressed rows as kernels see it, searches in what ascends, and reports of what is wrong.
namespace sheaf::cuda {

constexpr unsigned warps_of_a_block = block_threads / 32;

/// The first of [low, high) that does not come before what is looked for, or `high`. Which halves are taken follows
/// from is_before alone, so that results ascend with what is looked for even where the numbers that are read do not.
template <class Index, class IsBefore>
__device__ __forceinline__ Index partition_point(Index low, Index high, IsBefore is_before) {
  while (low < high) {
    const Index middle = (low + high) / 2;
    if (is_before(middle)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/// The last of [low, high) that has begun; `low` has.
template <class Index, class HasBegun>
__device__ __forceinline__ Index last_begun(Index low, Index high, HasBegun has_begun) {
  while (high - low > 1) {
    const Index middle = (low + high) / 2;
    (has_begun(middle) ? low : high) = middle;
  }
  return low;
}

struct row_range {
  std::uint64_t begin;
  std::uint64_t end;
  __device__ std::uint64_t length() const { return end - begin; }
};

/// Where the rows of a matrix lie.
struct row_offsets {
  const void* begins = nullptr;
  const void* ends = nullptr;
  std::uint64_t rows = 0;
  std::uint64_t limit = 0;    ///< the largest offset that is right, as bits of offsets without their sign
  bool is_wide = false;       ///< 8 bytes
  bool lie_anywhere = false;  ///< a row need not begin where the one before it ends

  __device__ __forceinline__ std::uint64_t at(const void* offsets, std::uint64_t i) const {
    return is_wide ? __ldg(static_cast<const unsigned long long*>(offsets) + i)
                   : __ldg(static_cast<const unsigned*>(offsets) + i);
  }
  __device__ __forceinline__ std::uint64_t begin(std::uint64_t row) const { return at(begins, row); }
  __device__ __forceinline__ std::uint64_t end(std::uint64_t row) const { return at(ends, row); }
  __device__ __forceinline__ bool is_row(row_range r) const { return r.begin <= r.end && r.end <= limit; }
};

/// The last row that begins at a place or before it. As last_begun finds it, rows ascend with places, whatever the
/// offsets are.
__device__ __forceinline__ std::uint64_t row_of_place(const row_offsets& rows, std::uint64_t place) {
  return last_begun(std::uint64_t{0}, rows.rows, [&](std::uint64_t row) { return rows.begin(row) <= place; });
}

/// Keeps a fault in the slot if it is the first: that of the earliest call, of its rows before its columns, and of
/// these the one at the lowest position, then of the lowest row. Of one call, the words in the slot change from a
/// column's to a row's and never back, and the position is written before them; so whoever reads the words first and
/// the position then, without the lock, leaves only where its fault cannot be the first.
static __device__ __noinline__ void keep_fault(const csr_guard& guard, const core::index_report& fault) {
  if (guard.is_faulty != nullptr) *guard.is_faulty = 1;
  if (guard.columns.slot == nullptr) return;
  volatile core::index_report& first = guard.columns.slot->first;
  const core::index_wording* const of_columns = guard.columns.wording;
  const bool is_row = fault.wording != of_columns;
  const std::uint64_t call = first.call;
  __threadfence();
  if (call < fault.call) return;
  if (call == fault.call) {
    const bool first_is_row = first.wording != of_columns;
    __threadfence();
    if (first_is_row && (!is_row || first.position <= fault.position)) return;
    if (!first_is_row && !is_row && first.position < fault.position) return;
  }
  while (atomicCAS(&guard.columns.slot->lock, 0U, 1U) != 0U) __nanosleep(200);
  __threadfence();
  bool is_first = fault.call < first.call;
  if (fault.call == first.call) {
    const bool first_is_row = first.wording != of_columns;
    is_first = is_row != first_is_row
                   ? is_row
                   : fault.position < first.position || (fault.position == first.position && fault.row < first.row);
  }
  if (is_first) {
    first.value = fault.value;
    first.limit = fault.limit;
    first.is_signed = fault.is_signed;
    first.row = fault.row;
    first.position = fault.position;
    __threadfence();
    first.wording = fault.wording;
    __threadfence();
    first.call = fault.call;
    *static_cast<volatile std::uint32_t*>(guard.columns.flag) = 1;
    __threadfence_system();
  }
  __threadfence();
  atomicExch(&guard.columns.slot->lock, 0U);
}

/// The bits of a number of the caller's, sign-extended where its type is signed.
template <class Bits>
__device__ __forceinline__ std::uint64_t extended(Bits bits, std::uint32_t is_signed) {
  return is_signed == 0 || sizeof(Bits) == 8
             ? static_cast<std::uint64_t>(bits)
             : static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(bits)));
}

static __device__ __noinline__ void report_row(const csr_guard& guard, const row_offsets& rows, std::uint64_t row) {
  const auto shown = [&](std::uint64_t bits) {
    return rows.is_wide ? bits : extended(static_cast<std::uint32_t>(bits), guard.has_signed_offsets);
  };
  const row_range range{rows.begin(row), rows.end(row)};
  core::index_report fault;
  fault.call = guard.columns.call;
  fault.position = row;
  fault.value = shown(range.begin);
  fault.limit = guard.entries;
  fault.is_signed = guard.has_signed_offsets;
  fault.row = row;
  if (range.begin > rows.limit) {
    fault.wording = guard.row_begin;
  } else if (range.end > rows.limit) {
    fault.wording = guard.row_end;
    fault.value = shown(range.end);
  } else {
    fault.wording = guard.backwards;
    fault.limit = shown(range.end);
  }
  keep_fault(guard, fault);
}

/// The places of a row; none, after a report, if it is wrong.
__device__ __forceinline__ row_range checked_row(const csr_guard& guard, const row_offsets& rows, std::uint64_t row) {
  const row_range r{rows.begin(row), rows.end(row)};
  if (rows.is_row(r)) return r;
  report_row(guard, rows, row);
  return {0, 0};
}

/// Reports the first bad column of the places [begin, end), which belong to `row`.
template <class Column>
__device__ __noinline__ void report_column(const csr_guard& guard, const Column* columns, std::uint64_t limit,
                                           std::uint64_t begin, std::uint64_t end, std::uint64_t row) {
  for (std::uint64_t place = begin; place < end; ++place) {
    if (columns[place] < limit) continue;
    core::index_report fault;
    fault.call = guard.columns.call;
    fault.position = place;
    fault.value = extended(columns[place], guard.columns.is_signed);
    fault.limit = guard.columns.records;
    fault.wording = guard.columns.wording;
    fault.is_signed = guard.columns.is_signed;
    fault.row = row;
    return keep_fault(guard, fault);
  }
}

/// What the kernels of a product read and write.
template <class Value, class Column>
struct product_arguments {
  csr_guard guard;
  row_offsets rows;
  const Column* columns;
  const Value* values;
  const Value* x;  ///< kernels read x[0] for entries whose column is bad; where there are no columns, it is values[0]
  const std::uint32_t* bases;  ///< of the columns of so many rows, where these are compressed
  Value* y;
  std::uint64_t entries;       ///< places of the arrays
  std::uint64_t column_limit;  ///< the least number that is not a column
  Column last_column;          ///< the largest that is one; 0 if there are none
  double alpha;
  double beta;
  bool reads_y;
  const std::uint32_t* skips;  ///< in device memory: not 0 if nothing is to be done; null: there is something to do
};

inline row_offsets offsets_of(const spmv_problem& problem, const csr_view& a) {
  constexpr std::uint64_t most_signed = 0x7fffffff;
  row_offsets rows;
  rows.begins = a.row_begins.data;
  rows.ends =
      a.has_row_ends ? a.row_ends.data : static_cast<const std::byte*>(a.row_begins.data) + bytes(a.row_begins.type);
  rows.rows = problem.rows;
  rows.limit = problem.offset == index_type::i32 ? std::min(problem.entries, most_signed) : problem.entries;
  rows.is_wide = bytes(problem.offset) == 8;
  rows.lie_anywhere = a.has_row_ends;
  return rows;
}

template <class Value, class Column>
product_arguments<Value, Column> arguments_of(const spmv_problem& problem, const spmv_buffers& buffers,
                                              const csr_guard& guard) {
  const std::uint64_t column_limit = primitives::reachable_records(gather_of_columns(problem));
  const auto* const values = static_cast<const Value*>(buffers.a.values.data);
  return {.guard = guard,
          .rows = offsets_of(problem, buffers.a),
          .columns = static_cast<const Column*>(buffers.a.column_indices.data),
          .values = values,
          .x = column_limit == 0 ? values : static_cast<const Value*>(buffers.x),
          .bases = nullptr,
          .y = static_cast<Value*>(buffers.y),
          .entries = problem.entries,
          .column_limit = column_limit,
          .last_column = static_cast<Column>(std::min<std::uint64_t>(std::max<std::uint64_t>(column_limit, 1) - 1,
                                                                     std::numeric_limits<Column>::max())),
          .alpha = buffers.alpha,
          .beta = buffers.beta,
          .reads_y = problem.reads_y,
          .skips = nullptr};
}

/// Writes y[i], which nobody else writes, of the sum of its products.
template <class Sum, class Value, class Column>
__device__ __forceinline__ void write_result(const product_arguments<Value, Column>& a, std::uint64_t i, Sum sum) {
  Sum result = static_cast<Sum>(a.alpha) * sum;
  if (a.reads_y) result += static_cast<Sum>(a.beta) * static_cast<Sum>(a.y[i]);
  a.y[i] = static_cast<Value>(result);
}

/// Types of a value, of sums, and of the bits of a column.
template <class V, class S, class C>
struct product_types {
  using value = V;
  using sum = S;
  using column = C;
};

/// Calls body with a number of the type that has the bits of a column.
template <class Body>
void with_column_type(const spmv_problem& p, Body body) {
  if (bytes(p.column) == 8) return body(0ULL);
  body(0U);
}

template <class Body>
void with_product_types(const spmv_problem& p, Body body) {
  with_column_type(p, [&]<class C>(C) {
    if (p.value == value_type::f64) return body(product_types<double, double, C>{});
    if (p.sums == spmv_sums::f64) return body(product_types<float, double, C>{});
    body(product_types<float, float, C>{});
  });
}

}  // namespace sheaf::cuda
