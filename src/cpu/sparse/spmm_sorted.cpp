#include <atomic>

#include "core/cpu_state.hpp"
#include "cpu/sparse/spmm.hpp"
#include "cpu/threads/core_speed.hpp"
#include "cpu/threads/parts.hpp"
#include "primitives/sparse/host_matrix.hpp"

namespace sheaf::cpu {

using namespace primitives;

namespace {

constexpr std::uint64_t least_wide = ~std::uint32_t{0};  ///< numbers up to it need 8 bytes, as ~0 is none of them

index_type number_type(std::uint64_t count) { return count < least_wide ? index_type::u32 : index_type::u64; }

movement columns_as_slots(const spmv_problem& p) {
  movement m = gather_of_columns(p);
  m.index = number_type(p.columns);
  m.sequential_stride_bytes = m.indexed_stride_bytes = m.record_bytes = 4;
  return m;
}

/// Calls body with a number of the type.
template <class Body>
void with_number(index_type type, Body body) {
  if (type == index_type::u32)
    body(std::uint32_t{});
  else
    body(std::uint64_t{});
}

// The column and the row of each entry that a row has. Returns whether a row, or a column, is bad.
template <class Column, class Row>
std::pair<bool, bool> name_entries(const spmv_problem& p, const csr_view& a, std::uint64_t parts, Column* columns,
                                   Row* row_of_entry) {
  std::atomic<bool> has_bad_rows = false;
  std::atomic<bool> has_bad_columns = false;
  for_each_range(p.entries, parts, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
    std::fill(columns + begin, columns + end, static_cast<Column>(~Column{0}));
  });
  const host_rows rows(p, a);
  for_each_range(p.rows, parts, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
    for (std::uint64_t row = begin; row < end; ++row) {
      if (!rows.is_row(row)) has_bad_rows.store(true, std::memory_order_relaxed);
    }
  });
  if (has_bad_rows.load()) return {true, false};
  with_entries(a.column_indices, [&](const auto* column_of) {
    for_each_range(p.rows, parts, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
      bool has_bad = false;
      for (std::uint64_t row = begin; row < end; ++row) {
        for (std::uint64_t place = rows.begin(row); place < rows.end(row); ++place) {
          const auto column = static_cast<std::uint64_t>(column_of[place]);  // extends the sign
          has_bad = has_bad || column >= p.columns;
          columns[place] = column < p.columns ? static_cast<Column>(column) : static_cast<Column>(~Column{0});
          row_of_entry[place] = static_cast<Row>(row);
        }
      }
      if (has_bad) has_bad_columns.store(true, std::memory_order_relaxed);
    });
  });
  return {false, has_bad_columns.load()};
}

// Rows and values in the order of the columns.
template <class Position, class Row>
void take_in_order(const spmv_problem& p, const csr_view& a, std::uint64_t parts, const transposed_arrays& to,
                   const transposing_arrays& from) {
  const auto* const positions = reinterpret_cast<const Position*>(from.order.positions);
  const auto* const row_of_entry = reinterpret_cast<const Row*>(from.row_of_entry);
  auto* const rows = reinterpret_cast<Row*>(to.rows);
  for_each_range(to.begins[p.columns], parts, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
    for (std::uint64_t i = begin; i < end; ++i) rows[i] = row_of_entry[positions[i]];
    with_any_value(p.value, [&](auto value) {
      using Value = decltype(value);
      const auto* const values = static_cast<const Value*>(a.values.data);
      for (std::uint64_t i = begin; i < end; ++i) reinterpret_cast<Value*>(to.values)[i] = values[positions[i]];
    });
  });
}

}  // namespace

transposed_arrays::transposed_arrays(const spmv_problem& p, core::scratch_arrays& arrays)
    : begins(arrays.take<std::uint64_t>(p.columns + 1)),
      rows(arrays.take<std::byte>(p.entries * bytes(number_type(p.rows)))),
      values(arrays.take<std::byte>(p.entries * p.value_bytes())),
      row_type(number_type(p.rows)) {}

transposing_arrays::transposing_arrays(const spmv_problem& p, const slot_order_decision& d,
                                       core::scratch_arrays& arrays)
    : columns(arrays.take<std::byte>(p.entries * bytes(number_type(p.columns)))),
      row_of_entry(arrays.take<std::byte>(p.entries * bytes(number_type(p.rows)))),
      order(columns_as_slots(p), d, arrays) {}

slot_order_decision decide_transposing(const spmv_problem& p, const machine& machine) {
  return decide_slot_order(columns_as_slots(p), machine);
}

double transposing_seconds(const spmv_problem& p, const machine& m) {
  const std::uint64_t named = p.matrix_bytes() + p.entries * 16;
  return slot_order_seconds(columns_as_slots(p), m) + m.streamed(named, named) +
         2 * m.random_reads(p.entries, p.value_bytes(), p.entries * p.value_bytes());
}

transposing_result transpose(const context& ctx, const spmv_problem& p, const csr_view& a,
                             const slot_order_decision& decided, const transposed_arrays& to,
                             const transposing_arrays& from, std::byte* scratch) {
  const std::uint64_t parts = parts_worth(p.matrix_bytes(), static_cast<std::uint64_t>(core::cpu(ctx).threads));
  const movement slots = columns_as_slots(p);
  std::pair<bool, bool> bad;
  with_number(slots.index, [&](auto column) {
    with_number(to.row_type, [&](auto row) {
      bad = name_entries(p, a, parts, reinterpret_cast<std::remove_cvref_t<decltype(column)>*>(from.columns),
                         reinterpret_cast<std::remove_cvref_t<decltype(row)>*>(from.row_of_entry));
    });
  });
  if (bad.first) return transposing_result::found_bad_rows;
  const slot_order_arrays order = from.order;
  order_by_slot(slots, decided, {from.columns, p.entries, slots.index}, order, scratch);
  std::copy_n(order.begins, p.columns + 1, to.begins);
  with_number(to.row_type, [&](auto row) {
    using Row = std::remove_cvref_t<decltype(row)>;
    if (decided.wide)
      take_in_order<std::uint64_t, Row>(p, a, parts, to, from);
    else
      take_in_order<std::uint32_t, Row>(p, a, parts, to, from);
  });
  return bad.second ? transposing_result::left_bad_columns_out : transposing_result::done;
}

namespace {

struct spmm_sorted_decision {
  slot_order_decision order;
  segment_decision segments;
};

struct spmm_sorted_arrays {
  spmm_sorted_arrays(const spmm_problem& p, const slot_order_decision& d, core::scratch_arrays& arrays)
      : transposed(p.matrix, arrays), transposing(p.matrix, d, arrays) {}

  transposed_arrays transposed;
  transposing_arrays transposing;
};

// A counting sort of the entries by column, then the product by rows of the transposed matrix.
plan::planned plan_spmm_sorted(const spmm_problem& p, const plan::scope& scope) {
  if (!p.matrix.transposed) return plan::rejected("multiplies by columns, but the product is not transposed");
  if (p.matrix.has_row_ends) return plan::rejected("rows with ends of their own may share entries");
  const machine& m = scope.machine;
  const spmm_sorted_decision decided{decide_transposing(p.matrix, m), decide_segments(shape_of_product(p), m)};
  plan::planned plan;
  plan.scratch_bytes =
      core::bytes_of<spmm_sorted_arrays>(p, decided.order) +
      std::max({decided.order.buckets.layout.bytes, segment_scratch_bytes(shape_of_product(p), decided.segments),
                by_value_scratch_bytes(p)});
  if (plan.scratch_bytes > m.memory_bytes / 4) return plan::rejected("its scratch would take a quarter of memory");
  plan.inner_calls = std::make_shared<spmm_sorted_decision>(decided);
  plan.decided.set(decided.segments);
  plan.add("transposition", transposing_seconds(p.matrix, m));
  price_segments(p, m, plan);
  return plan;
}

void run_spmm_sorted(const context& ctx, const spmm_problem& p, const plan::planned& plan, const spmm_buffers& b,
                     std::byte* scratch) {
  core::cpu_state& state = core::cpu(ctx);
  const std::uint64_t call = state.begin_call();
  const auto& decided = plan.inner<spmm_sorted_decision>();
  core::scratch_arrays arrays(scratch);
  const spmm_sorted_arrays of(p, decided.order, arrays);
  const auto result = transpose(ctx, p.matrix, b.a, decided.order, of.transposed, of.transposing, arrays.rest());
  if (result == transposing_result::found_bad_rows) {
    multiply_by_value(ctx, p, b, arrays.rest());
  } else {
    const std::uint64_t entries = of.transposed.begins[p.matrix.columns];
    const segment_bounds bounds{
        {of.transposed.begins, p.matrix.columns + 1, index_type::u64}, {}, p.matrix.columns, entries};
    multiply_segments(p, b, bounds, {of.transposed.rows, entries, of.transposed.row_type},
                      {of.transposed.values, entries, p.matrix.value}, true, decided.segments, arrays.rest());
  }
  if (result != transposing_result::done) state.keep_first(find_fault(p.matrix, b.a, csr_call::spmm, call));
}

}  // namespace

extern constinit const spmm_variant spmm_sorted{"cpu.sorted", backend_kind::cpu, plan_spmm_sorted, run_spmm_sorted};

}  // namespace sheaf::cpu
