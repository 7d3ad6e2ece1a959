#pragma once

#include <algorithm>
#include <limits>

#include "cuda/device/launch.cuh"
#include "cuda/sparse/sums/faults.cuh"
#include "primitives/movement/multipass.hpp"

// A matrix in compressed rows as kernels see it.
namespace sheaf::cuda {

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

static __device__ __noinline__ void report_row(const csr_guard& guard, const row_offsets& rows, std::uint64_t row) {
  const auto shown = [&](std::uint64_t bits) {
    return rows.is_wide ? bits : extended(static_cast<std::uint32_t>(bits), guard.has_signed_offsets);
  };
  const row_range r{rows.begin(row), rows.end(row)};
  core::index_report fault;
  fault.call = guard.columns.call;
  fault.position = row;
  fault.value = shown(r.begin);
  fault.limit = guard.entries;
  fault.is_signed = guard.has_signed_offsets;
  fault.row = row;
  if (r.begin > rows.limit) {
    fault.words = guard.row_begin;
  } else if (r.end > rows.limit) {
    fault.words = guard.row_end;
    fault.value = shown(r.end);
  } else {
    fault.words = guard.backwards;
    fault.limit = shown(r.end);
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
  for (std::uint64_t p = begin; p < end; ++p) {
    if (columns[p] < limit) continue;
    core::index_report fault;
    fault.call = guard.columns.call;
    fault.position = p;
    fault.value = extended(columns[p], guard.columns.is_signed);
    fault.limit = guard.columns.records;
    fault.words = guard.columns.words;
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
  std::uint64_t column_limit;  ///< the least number that is no column
  Column last_column;          ///< the largest that is one; 0 if there are none
  double alpha;
  double beta;
  bool reads_y;
  const std::uint32_t* skips;  ///< in device memory: not 0 if nothing is to be done; null: there is something to do
};

inline row_offsets offsets_of(const primitives::spmv_problem& p, const csr_view& a) {
  constexpr std::uint64_t most_signed = 0x7fffffff;
  row_offsets rows;
  rows.begins = a.row_begins.data;
  rows.ends =
      a.has_row_ends ? a.row_ends.data : static_cast<const std::byte*>(a.row_begins.data) + bytes(a.row_begins.type);
  rows.rows = p.rows;
  rows.limit = p.offset == index_type::i32 ? std::min(p.entries, most_signed) : p.entries;
  rows.is_wide = bytes(p.offset) == 8;
  rows.lie_anywhere = a.has_row_ends;
  return rows;
}

template <class Value, class Column>
product_arguments<Value, Column> arguments_of(const primitives::spmv_problem& p, const primitives::spmv_buffers& b,
                                              const csr_guard& guard) {
  const std::uint64_t column_limit = primitives::reachable_records(gather_of_columns(p));
  const auto* const values = static_cast<const Value*>(b.a.values.data);
  return {.guard = guard,
          .rows = offsets_of(p, b.a),
          .columns = static_cast<const Column*>(b.a.column_indices.data),
          .values = values,
          .x = column_limit == 0 ? values : static_cast<const Value*>(b.x),
          .bases = nullptr,
          .y = static_cast<Value*>(b.y),
          .entries = p.entries,
          .column_limit = column_limit,
          .last_column = static_cast<Column>(std::min<std::uint64_t>(std::max<std::uint64_t>(column_limit, 1) - 1,
                                                                     std::numeric_limits<Column>::max())),
          .alpha = b.alpha,
          .beta = b.beta,
          .reads_y = p.reads_y,
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

template <class Body>
void with_product_types(const primitives::spmv_problem& p, Body body) {
  const auto with_column = [&]<class V, class S>(V, S) {
    if (bytes(p.column) == 8) return body(product_types<V, S, unsigned long long>{});
    return body(product_types<V, S, unsigned>{});
  };
  if (p.value == value_type::f64) return with_column(double{}, double{});
  if (p.sums == spmv_sums::f64) return with_column(float{}, double{});
  return with_column(float{}, float{});
}

}  // namespace sheaf::cuda
