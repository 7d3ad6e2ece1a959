#include <algorithm>

#include "core/startable.hpp"
#include "lab/description/plain_loops.hpp"
#include "lab/description/sparse/views.hpp"

namespace sheaf::jobs {
namespace {

template <class Value, class Sum, class Column, class Offset>
struct product_loop {
  product_views views;
  int threads;
  bool is_transposed;

  void operator()() const {
    const auto* const begins = static_cast<const Offset*>(views.a.row_begins.data);
    const auto* const ends = views.a.has_row_ends ? static_cast<const Offset*>(views.a.row_ends.data) : begins + 1;
    const auto* const columns = static_cast<const Column*>(views.a.column_indices.data);
    const auto* const entries = static_cast<const Value*>(views.a.values.data);
    const auto* const x = static_cast<const Value*>(views.x.data);
    auto* const y = static_cast<Value*>(views.y.data);
    const std::uint64_t rows = views.a.rows;
    if (is_transposed) {
      add_rows(begins, ends, columns, entries, x, y);
      return;
    }
#pragma omp parallel for num_threads(core::startable(threads)) schedule(static)
    for (std::uint64_t row = 0; row < rows; ++row) {
      Sum sum = 0;
      for (std::uint64_t i = begins[row]; i < ends[row]; ++i) sum += static_cast<Sum>(entries[i]) * x[columns[i]];
      y[row] = static_cast<Value>(sum);
    }
  }

 private:
  void add_rows(const Offset* begins, const Offset* ends, const Column* columns, const Value* entries, const Value* x,
                Value* y) const {
    std::fill_n(y, views.y.count, Value{0});
    for (std::uint64_t row = 0; row < views.a.rows; ++row) {
      for (std::uint64_t i = begins[row]; i < ends[row]; ++i) y[columns[i]] += entries[i] * x[row];
    }
  }
};

template <class Value, class Sum>
plain_call loop_of(const context& ctx, const problem_spec& p, const array_set& arrays) {
  return with_index_type(p.index, [&]<class Column>(std::type_identity<Column>) {
    return with_index_type(p.offset, [&]<class Offset>(std::type_identity<Offset>) -> plain_call {
      return product_loop<Value, Sum, Column, Offset>{views_of_product(p, arrays), ctx.threads(), p.is_transposed};
    });
  });
}

}  // namespace

// One that adds f32 by columns in f64 takes an array of sums, which nobody writes.
plain_call plain_spmv(const context& ctx, const problem_spec& p, const array_set& arrays) {
  if (p.value == value_type::f64) return loop_of<double, double>(ctx, p, arrays);
  if (p.sums != spmv_sums::f64) return loop_of<float, float>(ctx, p, arrays);
  return p.is_transposed ? plain_call{} : loop_of<float, double>(ctx, p, arrays);
}

}  // namespace sheaf::jobs
