#include "cpu/sparse/grouping.hpp"
#include "cpu/sparse/multiply.hpp"
#include "cpu/sparse/row_cuts.hpp"
#include "cpu/threads/parts.hpp"

namespace sheaf::cpu {

using namespace primitives;

namespace {

struct transpose_parts {
  std::uint64_t chunks;  ///< of the rows, one for each thread, with counters of their own
};

/// The product by the transposed matrix, in rows of its own.
spmv_problem by_rows(const spmv_problem& problem) noexcept {
  spmv_problem product = problem;
  product.rows = problem.columns;
  product.columns = problem.rows;
  product.transposed = false;
  product.has_row_ends = false;
  product.offset = index_type::u64;
  product.column = problem.rows >> 32 == 0 ? index_type::u32 : index_type::u64;
  return product;
}

/// A copy of the matrix, transposed, and products by its rows.
class transposed_matrix final : public prepared_product {
 public:
  buffer offsets;
  buffer columns;
  buffer values;

  transposed_matrix(const context& ctx, const spmv_problem& p, std::uint64_t entries) : problem_(by_rows(p)) {
    problem_.entries = entries;
    offsets = prepared_memory(ctx, "row offsets of the transposed matrix", (problem_.rows + 1) * 8);
    columns = prepared_memory(ctx, "columns of the transposed matrix", entries * bytes(problem_.column));
    values = prepared_memory(ctx, "values of the transposed matrix", entries * problem_.value_bytes());
  }

  std::uint64_t entries() const { return problem_.entries; }
  index_type column_type() const { return problem_.column; }

  void run(const context& ctx, const const_values x, sheaf::values y, double alpha, double beta) override {
    const spmv_problem& p = problem_;
    const csr_view a(p.rows, p.columns, index_span{offsets.as<std::uint64_t>(), p.rows + 1, p.offset},
                     index_span{columns.data(), p.entries, p.column}, const_values{values.data(), p.entries, p.value});
    run_rows(ctx, p, "cpu.transposed", {a, x.data, y.data, alpha, beta});
  }
  std::uint64_t kept_bytes() const override { return offsets.size() + columns.size() + values.size(); }

 private:
  spmv_problem problem_;
};

// A counting sort of the entries by column, stable, so that the rows of the transposed matrix have the entries in the
// order of the rows that they come from. It writes each entry at a random place once; every run then reads what is in
// order, and adds to one sum at a time.
plan::planned plan_transposed(const prepare_spmv_problem& problem, const plan::scope& scope) {
  if (!problem.product.transposed) return plan::rejected("only transposed products gain from a transposed matrix");
  const machine& machine = scope.machine;
  const spmv_problem product = by_rows(problem.product);
  const std::uint64_t chunks = parts_worth(problem.product.matrix_bytes(), machine.parallelism);
  constexpr std::uint64_t most_counters = std::uint64_t{1} << 56;  // whose bytes are far from 2^64
  if (problem.product.columns > most_counters / chunks) {
    return plan::rejected("a counter for each column and thread is more than memory can hold");
  }
  const double run_seconds = spmv_rows.plan(product, scope).seconds;
  const std::uint64_t counters = chunks * problem.product.columns * 8;
  plan::planned plan;
  plan.scratch_bytes = core::scratch_aligned(counters);
  plan.inner_calls = std::make_shared<const transpose_parts>(transpose_parts{chunks});
  plan.decided.set(prepare_spmv_decision{run_seconds, spmv_rows.name});
  plan.add("latency", machine.launch_seconds + 3 * machine.step_seconds);
  plan.add("counts", machine.streamed(problem.product.matrix_bytes() + 4 * counters, problem.product.matrix_bytes()));
  plan.add("random write", machine.random_writes(problem.product.entries, product.value_bytes() + bytes(product.column),
                                                 product.matrix_bytes()));
  plan.add("runs", static_cast<double>(problem.expected_runs) * run_seconds);
  return plan;
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
  Row* const row_to = to.columns.as<Row>();
  Value* const value_to = to.values.as<Value>();
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
std::shared_ptr<transposed_matrix> transpose(const context& ctx, const spmv_problem& problem, const csr_view& a,
                                             std::uint64_t chunks, std::uint64_t* counts, row_faults& faults) {
  const row_reader rows(a, problem.entries);
  const row_cuts cuts(problem, rows, chunks);
  shared_faults found;
  for_each_part(chunks, [&](std::uint64_t chunk) {
    found.add(count_entries<Column>(problem, a, rows, cuts.begin(chunk), cuts.begin(chunk + 1),
                                    counts + chunk * problem.columns, problem.columns,
                                    [](Column column) { return column; }));
  });
  faults = found.all();
  if (faults.found()) return nullptr;
  auto made = std::make_shared<transposed_matrix>(ctx, problem, scan(counts, chunks, problem.columns));
  // The first chunk's places are where columns begin.
  std::copy_n(counts, problem.columns, made->offsets.as<std::uint64_t>());
  made->offsets.as<std::uint64_t>()[problem.columns] = made->entries();
  for_each_part(chunks, [&](std::uint64_t chunk) {
    with_index_width(made->column_type(), [&](auto row) {
      place_entries<Value, Column, decltype(row)>(a, rows, cuts.begin(chunk), cuts.begin(chunk + 1),
                                                  counts + chunk * problem.columns, *made);
    });
  });
  return made;
}

void run_transposed(const context& ctx, const prepare_spmv_problem& problem, const plan::planned& plan,
                    const prepare_spmv_buffers& b, std::byte* scratch) {
  const std::uint64_t chunks = plan.inner<transpose_parts>().chunks;
  prepare_grouped(ctx, problem.product, b, [&](auto value, auto column, row_faults& faults) {
    return transpose<decltype(value), decltype(column)>(ctx, problem.product, b.a, chunks,
                                                        reinterpret_cast<std::uint64_t*>(scratch), faults);
  });
}

}  // namespace

extern constinit const prepare_spmv_variant prepare_spmv_transposed{"cpu.transposed", backend_kind::cpu,
                                                                    plan_transposed, run_transposed};

}  // namespace sheaf::cpu
