#include "core/cpu_state.hpp"
#include "core/scratch_offsets.hpp"
#include "primitives/index_reader.hpp"
#include "primitives/reduce/rows.hpp"

namespace sheaf::reference {

using namespace primitives;

namespace {

/// What has come to each row of out so far, in the type in which rows are combined.
template <class Sum>
struct slots {
  slots(const scatter_reduce_rows_problem& p, core::scratch_arrays& arrays)
      : sums(arrays.take<Sum>(p.indexed_count * p.values_per_row)), rows(arrays.take<std::uint64_t>(p.indexed_count)) {}

  Sum* sums;
  std::uint64_t* rows;
};

// One row after another, in index order, into sums of all rows of out.
plan::planned plan_rows_serial(const scatter_reduce_rows_problem& p, const plan::scope& scope) {
  const double values = static_cast<double>(p.count + p.indexed_count) * static_cast<double>(p.values_per_row);
  plan::planned plan = plan::serial(values, scope);
  with_any_value(p.sum(), [&](auto sum) { plan.scratch_bytes = core::bytes_of<slots<decltype(sum)>>(p); });
  return plan;
}

template <class T>
T* row_of(value_rows rows, std::uint64_t row) {
  return reinterpret_cast<T*>(static_cast<std::byte*>(rows.data) + row * rows.stride_bytes);
}
template <class T>
const T* row_of(const_value_rows rows, std::uint64_t row) {
  return reinterpret_cast<const T*>(static_cast<const std::byte*>(rows.data) + row * rows.stride_bytes);
}

template <class Out, class Sum>
void begin_slots(const scatter_reduce_rows_problem& p, value_rows out, const slots<Sum>& all) {
  for (std::uint64_t slot = 0; slot < p.indexed_count; ++slot) {
    all.rows[slot] = 0;
    for (std::uint64_t k = 0; k < p.values_per_row; ++k) {
      all.sums[slot * p.values_per_row + k] =
          p.reads_out() ? converted<Sum>(row_of<Out>(out, slot)[k]) : identity_of<Sum>(p.op);
    }
  }
}

template <reduction Op, class In, class Sum>
void take_row(const scatter_reduce_rows_problem& p, const In* row, Sum* sums) {
  for (std::uint64_t k = 0; k < p.values_per_row; ++k) {
    sums[k] = combined<Op>(sums[k], operand<Op>(converted<Sum>(row[k])));
  }
}

template <reduction Op, class Out, class Sum>
void end_slots(const scatter_reduce_rows_problem& p, value_rows out, const slots<Sum>& all) {
  for (std::uint64_t slot = 0; slot < p.indexed_count; ++slot) {
    const std::uint64_t rows = all.rows[slot];
    if (rows == 0 && p.reads_out()) continue;
    for (std::uint64_t k = 0; k < p.values_per_row; ++k) {
      Sum sum = all.sums[slot * p.values_per_row + k];
      if constexpr (Op == reduction::mean) sum = mean_of<Sum>(sum, std::max<std::uint64_t>(1, rows + p.reads_out()));
      if constexpr (Op == reduction::count) sum = combined<reduction::add>(sum, converted<Sum>(rows));
      row_of<Out>(out, slot)[k] = rows == 0 ? identity_of<Out>(Op) : converted<Out>(sum);
    }
  }
}

template <reduction Op, class In, class Out, class Sum>
void reduce(const context& ctx, const scatter_reduce_rows_problem& p, const scatter_reduce_rows_buffers& b,
            const slots<Sum>& all) {
  core::cpu_state& state = core::cpu(ctx);
  const std::uint64_t call = state.begin_call();
  const index_reader index(b.index, p.indexed_count);
  begin_slots<Out>(p, b.out, all);
  for (std::uint64_t i = 0; i < p.count; ++i) {
    if (!index.in_range(i)) {
      state.keep_first(index.report(call, i, scatter_reduce_rows_wording));
      continue;
    }
    const std::uint64_t slot = index.bits(i);
    if constexpr (Op != reduction::count) take_row<Op>(p, row_of<In>(b.in, i), all.sums + slot * p.values_per_row);
    ++all.rows[slot];
  }
  end_slots<Op, Out>(p, b.out, all);
  if (!p.has_counts) return;
  with_value(p.counts, [&](auto count) {
    using Count = decltype(count);
    for (std::uint64_t slot = 0; slot < p.indexed_count; ++slot) {
      static_cast<Count*>(b.counts.data)[slot] = static_cast<Count>(all.rows[slot]);
    }
  });
}

void run_rows_serial(const context& ctx, const scatter_reduce_rows_problem& p, const plan::planned&,
                     const scatter_reduce_rows_buffers& b, std::byte* scratch) {
  // A count looks at no value of in.
  const value_type in = p.reads_in() ? p.in : p.out;
  with_combined_types(in, p.out, [&](auto from, auto to) {
    with_reduction(p.op, [&](auto op) {
      with_any_value(p.sum(), [&](auto sum) {
        using In = std::remove_cvref_t<decltype(from)>;
        using Out = std::remove_cvref_t<decltype(to)>;
        using Sum = std::remove_cvref_t<decltype(sum)>;
        constexpr reduction operation = std::remove_cvref_t<decltype(op)>::value;
        if constexpr (sum_type(value_type_of<Out>(), operation) == value_type_of<Sum>()) {
          reduce<operation, In, Out>(ctx, p, b, core::arrays_in<slots<Sum>>(scratch, p));
        }
      });
    });
  });
}

}  // namespace

extern constinit const scatter_reduce_rows_variant scatter_reduce_rows_serial{"reference.serial", backend_kind::cpu,
                                                                              plan_rows_serial, run_rows_serial};

}  // namespace sheaf::reference
