#include <algorithm>
#include <memory>
#include <utility>

#include "core/cpu_state.hpp"
#include "cpu/sparse/multiply.hpp"
#include "cpu/sparse/row_cuts.hpp"
#include "cpu/sparse/row_reader.hpp"
#include "cpu/threads/core_speed.hpp"
#include "cpu/threads/parts.hpp"
#include "plan/choose.hpp"
#include "primitives/sparse/host_matrix.hpp"
#include "primitives/sparse/prepare_spmv.hpp"

namespace sheaf::cpu {
namespace {

using primitives::prepare_spmv_buffers;
using primitives::prepare_spmv_problem;
using primitives::spmv_buffers;
using primitives::spmv_problem;

struct transpose_parts {
  std::uint64_t chunks;  ///< of the rows, one for each thread, with counters of their own
};

/// The product by the transposed matrix, in rows of its own.
spmv_problem by_rows(const spmv_problem& p) noexcept {
  spmv_problem t = p;
  t.rows = p.columns;
  t.columns = p.rows;
  t.transposed = false;
  t.has_row_ends = false;
  t.offset = index_type::u64;
  t.column = p.rows >> 32 == 0 ? index_type::u32 : index_type::u64;
  return t;
}

/// A copy of the matrix, transposed, and products by its rows.
class transposed_matrix final : public primitives::prepared_product {
 public:
  transposed_matrix(const context& ctx, const spmv_problem& p, std::uint64_t entries) : problem_(by_rows(p)) {
    using primitives::prepared_memory;
    problem_.entries = entries;
    offsets_ = prepared_memory(ctx, "row offsets of the transposed matrix", (problem_.rows + 1) * 8);
    columns_ = prepared_memory(ctx, "columns of the transposed matrix", entries * bytes(problem_.column));
    values_ = prepared_memory(ctx, "values of the transposed matrix", entries * problem_.value_bytes());
  }

  std::uint64_t* offsets() const { return offsets_.as<std::uint64_t>(); }
  template <class Column>
  Column* columns() const {
    return columns_.as<Column>();
  }
  template <class Value>
  Value* values() const {
    return values_.as<Value>();
  }
  std::uint64_t entries() const { return problem_.entries; }
  bool has_wide_columns() const { return bytes(problem_.column) == 8; }

  void run(const context& ctx, const const_values x, sheaf::values y, double alpha, double beta) override {
    spmv_problem p = problem_;
    p.reads_y = beta != 0;
    const csr_view a(p.rows, p.columns, index_span{offsets(), p.rows + 1, p.offset},
                     index_span{columns_.data(), p.entries, p.column},
                     const_values{values_.data(), p.entries, p.value});
    const plan::planned plan = spmv_rows.plan(p, plan::scope_of(ctx));
    const core::scratch scratch =
        plan::take_scratch(ctx, primitives::prepared_spmv_call, "cpu.transposed", plan.scratch_bytes);
    spmv_rows.run(ctx, p, plan, {a, x.data, y.data, alpha, beta}, scratch.data());
  }
  std::uint64_t kept_bytes() const override { return offsets_.size() + columns_.size() + values_.size(); }

 private:
  spmv_problem problem_;
  buffer offsets_;
  buffer columns_;
  buffer values_;
};

// A counting sort of the entries by column, stable, so that the rows of the transposed matrix have the entries in the
// order of the rows that they come from. It writes each entry at a random place once; every run then reads what is in
// order, and adds to one sum at a time.
plan::planned plan_transposed(const prepare_spmv_problem& p, const plan::scope& scope) {
  if (!p.product.transposed) return plan::rejected("only transposed products gain by a transposed matrix");
  const machine& m = scope.machine;
  const spmv_problem t = by_rows(p.product);
  const std::uint64_t chunks = parts_worth(p.product.matrix_bytes(), m.parallelism);
  constexpr std::uint64_t most_counters = std::uint64_t{1} << 56;  // whose bytes are far from 2^64
  if (p.product.columns > most_counters / chunks) {
    return plan::rejected("no memory holds a counter for each column and thread");
  }
  const double run_seconds = spmv_rows.plan(t, scope).seconds;
  const std::uint64_t counters = chunks * p.product.columns * 8;
  plan::planned plan;
  plan.scratch_bytes = core::scratch_aligned(counters);
  plan.inner_calls = std::make_shared<const transpose_parts>(transpose_parts{chunks});
  plan.decided.set(primitives::prepare_spmv_decision{run_seconds, spmv_rows.name});
  plan.add("latency", m.launch_seconds + 3 * m.step_seconds);
  plan.add("counts", m.streamed(p.product.matrix_bytes() + 4 * counters, p.product.matrix_bytes()));
  plan.add("random write", m.random_writes(p.product.entries, t.value_bytes() + bytes(t.column), t.matrix_bytes()));
  plan.add("runs", static_cast<double>(p.expected_runs) * run_seconds);
  return plan;
}

/// Counts the entries of each column in the rows [first, last), and says what is wrong with them.
template <class Column>
row_faults count_columns(const spmv_problem& p, const csr_view& a, const row_reader& rows, std::uint64_t first,
                         std::uint64_t last, std::uint64_t* counts) {
  const auto* const column = static_cast<const Column*>(a.column_indices.data);
  const std::uint64_t limit = column_limit_of(p);
  row_faults faults;
  std::fill_n(counts, p.columns, std::uint64_t{0});
  for (std::uint64_t row = first; row < last; ++row) {
    const std::uint64_t end = rows.end(row);
    if (!rows.is_row(row)) {
      faults.in_rows = true;
      return faults;
    }
    for (std::uint64_t place = rows.begin(row); place < end; ++place) {
      if (column[place] >= limit) {
        faults.in_columns = true;
        return faults;
      }
      ++counts[column[place]];
    }
  }
  return faults;
}

/// Replaces counts by the places where each chunk's entries of each column go, and returns the number of entries.
std::uint64_t scan(std::uint64_t* counts, std::uint64_t chunks, std::uint64_t columns) {
  std::uint64_t sum = 0;
  for (std::uint64_t c = 0; c < columns; ++c) {
    for (std::uint64_t chunk = 0; chunk < chunks; ++chunk) {
      sum += std::exchange(counts[chunk * columns + c], sum);
    }
  }
  return sum;
}

template <class Value, class Column, class Row>
void place_entries(const csr_view& a, const row_reader& rows, std::uint64_t first, std::uint64_t last,
                   std::uint64_t* next, const transposed_matrix& to) {
  const auto* const column = static_cast<const Column*>(a.column_indices.data);
  const auto* const value = static_cast<const Value*>(a.values.data);
  Row* const row_to = to.columns<Row>();
  Value* const value_to = to.values<Value>();
  for (std::uint64_t row = first; row < last; ++row) {
    const std::uint64_t end = rows.end(row);
    for (std::uint64_t place = rows.begin(row); place < end; ++place) {
      const std::uint64_t at = next[column[place]]++;
      row_to[at] = static_cast<Row>(row);
      value_to[at] = value[place];
    }
  }
}

template <class Value, class Column>
std::shared_ptr<transposed_matrix> transpose(const context& ctx, const spmv_problem& p, const csr_view& a,
                                             std::uint64_t chunks, std::uint64_t* counts, row_faults& faults) {
  const row_reader rows(a, p.entries);
  const row_cuts cuts(p, rows, chunks);
  bool is_bad = false;
  for_each_part(chunks, [&](std::uint64_t chunk) {
    const row_faults found =
        count_columns<Column>(p, a, rows, cuts.begin(chunk), cuts.begin(chunk + 1), counts + chunk * p.columns);
    if (!found.found()) return;
#pragma omp atomic write
    is_bad = true;
  });
  faults.in_columns = is_bad;
  if (is_bad) return nullptr;
  auto made = std::make_shared<transposed_matrix>(ctx, p, scan(counts, chunks, p.columns));
  // The first chunk's places are where columns begin.
  std::copy_n(counts, p.columns, made->offsets());
  made->offsets()[p.columns] = made->entries();
  for_each_part(chunks, [&](std::uint64_t chunk) {
    std::uint64_t* const next = counts + chunk * p.columns;
    if (made->has_wide_columns()) {
      place_entries<Value, Column, std::uint64_t>(a, rows, cuts.begin(chunk), cuts.begin(chunk + 1), next, *made);
    } else {
      place_entries<Value, Column, std::uint32_t>(a, rows, cuts.begin(chunk), cuts.begin(chunk + 1), next, *made);
    }
  });
  return made;
}

template <class Value>
std::shared_ptr<transposed_matrix> transpose_values(const context& ctx, const spmv_problem& p, const csr_view& a,
                                                    std::uint64_t chunks, std::uint64_t* counts, row_faults& faults) {
  return bytes(p.column) == 8 ? transpose<Value, std::uint64_t>(ctx, p, a, chunks, counts, faults)
                              : transpose<Value, std::uint32_t>(ctx, p, a, chunks, counts, faults);
}

void run_transposed(const context& ctx, const prepare_spmv_problem& problem, const plan::planned& plan,
                    const prepare_spmv_buffers& b, std::byte* scratch) {
  core::cpu_state& state = core::cpu(ctx);
  const spmv_problem& p = problem.product;
  const std::uint64_t chunks = plan.inner<transpose_parts>().chunks;
  const std::uint64_t call = state.begin_call();
  auto* const counts = reinterpret_cast<std::uint64_t*>(scratch);
  row_faults faults;
  *b.made = p.value == value_type::f64 ? transpose_values<double>(ctx, p, b.a, chunks, counts, faults)
                                       : transpose_values<float>(ctx, p, b.a, chunks, counts, faults);
  if (faults.found()) state.keep_first(primitives::find_fault(p, b.a, primitives::csr_call::prepare_spmv, call));
}

}  // namespace

extern constinit const primitives::prepare_spmv_variant prepare_spmv_transposed{"cpu.transposed", backend_kind::cpu,
                                                                                plan_transposed, run_transposed};

}  // namespace sheaf::cpu
