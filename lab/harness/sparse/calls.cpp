#include "lab/harness/sparse/calls.hpp"

#include "apps/sheaf/checks/spmv.hpp"
#include "lab/harness/placed.hpp"
#include "primitives/sparse/prepare_spmv.hpp"

namespace sheaf::bench {
namespace {

template <class Value>
csr_view view_of(const io::csr_matrix<Value>& m) {
  return {m.rows, m.columns, m.row_offsets, m.columns_of_entries(), m.values};
}

/// The largest difference from long sums, over the largest of these.
template <class Value>
double error_of(const io::csr_matrix<Value>& matrix, const std::vector<Value>& x, const std::vector<Value>& y) {
  long double largest = 0;
  long double largest_error = 0;
  std::visit(
      [&](const auto& columns) {
        for (std::uint64_t row = 0; row < matrix.rows; ++row) {
          long double sum = 0;
          for (std::uint64_t p = matrix.row_offsets[row]; p < matrix.row_offsets[row + 1]; ++p) {
            sum += static_cast<long double>(matrix.values[p]) * x[columns[p]];
          }
          largest = std::max(largest, std::abs(sum));
          largest_error = std::max(largest_error, std::abs(sum - y[row]));
        }
      },
      matrix.column_indices);
  return largest > 0 ? static_cast<double>(largest_error / largest) : 0;
}

/// A matrix and its vectors in the memory of a context.
template <class Value>
struct placed_product {
  placed_product(const context& ctx, std::shared_ptr<const io::csr_matrix<Value>> m)
      : matrix(std::move(m)),
        x(vector_for<Value>(matrix->columns)),
        placed(ctx, *matrix),
        placed_x(ctx, x.data(), x.size()),
        y(ctx, matrix->rows) {}

  const_values from() const { return {placed_x.data(), x.size(), value_type_of<Value>()}; }
  values to() const { return y.view(); }
  const csr_view& a() const { return placed.view; }

  std::optional<std::string> mistake(const std::function<void()>& run) {
    y.wipe();
    run();
    return jobs::product_mistake(view_of(*matrix), const_values(x), const_values(y.read()), {});
  }
  double largest_error() { return error_of(*matrix, x, y.on_host()); }

  std::shared_ptr<const io::csr_matrix<Value>> matrix;
  std::vector<Value> x;
  placed_matrix<Value> placed;
  placed_array<Value> placed_x;
  placed_result<Value> y;
};

}  // namespace

template <class Value>
std::vector<Value> vector_for(std::uint64_t count) {
  std::vector<Value> x(count);
  for (std::uint64_t i = 0; i < count; ++i) x[i] = static_cast<Value>(static_cast<double>(i % 1001) / 1001 - 0.5);
  return x;
}

template <class Value>
void add_product_calls(const call_place& place, std::shared_ptr<const io::csr_matrix<Value>> matrix,
                       std::vector<timed_call>& all) {
  const context& ctx = place.ctx;
  const auto [of, copying] = placed_in_time<placed_product<Value>>(ctx, matrix);
  const auto call = [ctx, of = of](const std::string& variant) {
    spmv(ctx, of->a(), of->from(), of->to(), {.variant = variant});
  };
  add_unprepared<placed_product<Value>>(place, of, copying, explain_spmv(ctx, of->a(), of->from(), of->to()).variants,
                                        call, all);
  const auto prepare = [&, of = of](std::string_view variant) {
    return prepare_spmv(ctx, of->a(), expected_runs, {.variant = variant});
  };
  const auto run = [of = of](const prepared_spmv& prepared) { prepared.run(of->from(), of->to()); };
  const auto name_of = [](const prepared_spmv&, std::string_view variant) { return std::string(variant); };
  add_prepared(place, of, copying, primitives::prepare_spmv_variants(), prepare, name_of, run, all);
}

template <class Value>
void add_plain_product(const std::string& where, std::shared_ptr<const io::csr_matrix<Value>> in_host,
                       std::vector<timed_call>& all) {
  const call_place place{where, context::cpu(1)};
  const auto of = std::make_shared<placed_product<Value>>(place.ctx, in_host);
  const auto run = [of] {
    const io::csr_matrix<Value>& matrix = *of->matrix;
    const Value* const x = of->x.data();
    const Value* const numbers = matrix.values.data();
    std::visit(
        [&](const auto& list) {
          const auto* const columns = list.data();
          for (std::uint64_t row = 0; row < matrix.rows; ++row) {
            Value sum = 0;
            for (std::uint64_t p = matrix.row_offsets[row]; p < matrix.row_offsets[row + 1]; ++p) {
              sum += numbers[p] * x[columns[p]];
            }
            of->y.on_host()[row] = sum;
          }
        },
        matrix.column_indices);
  };
  all.push_back(call_on(place, "plain loop", of, run));
  all.back().is_ours = false;
}

template std::vector<float> vector_for<float>(std::uint64_t);
template std::vector<double> vector_for<double>(std::uint64_t);
template void add_product_calls<float>(const call_place&, std::shared_ptr<const io::csr_matrix<float>>,
                                       std::vector<timed_call>&);
template void add_product_calls<double>(const call_place&, std::shared_ptr<const io::csr_matrix<double>>,
                                        std::vector<timed_call>&);
template void add_plain_product<float>(const std::string&, std::shared_ptr<const io::csr_matrix<float>>,
                                       std::vector<timed_call>&);
template void add_plain_product<double>(const std::string&, std::shared_ptr<const io::csr_matrix<double>>,
                                        std::vector<timed_call>&);

}  // namespace sheaf::bench
