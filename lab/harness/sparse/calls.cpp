#include "lab/harness/sparse/calls.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <utility>

#include <sheaf/error.hpp>
#include <sheaf/spmv.hpp>

#include "apps/sheaf/checks/spmv.hpp"
#include "lab/harness/now.hpp"
#include "lab/harness/sparse/placed_matrix.hpp"
#include "primitives/sparse/prepare_spmv.hpp"

namespace sheaf::bench {
namespace {

template <class Value>
csr_view view_of(const io::csr_matrix<Value>& m) {
  return {m.rows, m.columns, m.row_offsets, m.columns_of_entries(), m.values};
}

/// The largest difference from long sums, over the largest of these.
template <class Value>
double error_of(const io::csr_matrix<Value>& m, const std::vector<Value>& x, const std::vector<Value>& y) {
  long double largest = 0;
  long double largest_error = 0;
  std::visit(
      [&](const auto& columns) {
        for (std::uint64_t row = 0; row < m.rows; ++row) {
          long double sum = 0;
          for (std::uint64_t p = m.row_offsets[row]; p < m.row_offsets[row + 1]; ++p) {
            sum += static_cast<long double>(m.values[p]) * x[columns[p]];
          }
          largest = std::max(largest, std::abs(sum));
          largest_error = std::max(largest_error, std::abs(sum - y[row]));
        }
      },
      m.column_indices);
  return largest > 0 ? static_cast<double>(largest_error / largest) : 0;
}

/// A matrix and its vectors in the memory of a context.
template <class Value>
struct placed_product {
  placed_product(const context& c, std::shared_ptr<const io::csr_matrix<Value>> m)
      : ctx(c),
        matrix(std::move(m)),
        x(vector_for<Value>(matrix->columns)),
        y(matrix->rows),
        placed(ctx, *matrix),
        placed_x(ctx, x.data(), x.size()),
        placed_y(ctx, y.data(), y.size()) {}
  placed_product(const placed_product&) = delete;
  placed_product& operator=(const placed_product&) = delete;

  const_values from() const { return {placed_x.data(), x.size(), value_type_of<Value>()}; }
  values to() const { return {const_cast<Value*>(placed_y.data()), y.size(), value_type_of<Value>()}; }
  const csr_view& a() const { return placed.view; }

  std::optional<std::string> mistake(const std::function<void()>& run) {
    std::fill(y.begin(), y.end(), std::numeric_limits<Value>::quiet_NaN());
    const bool is_copied = placed_y.data() != y.data();
    if (is_copied) copy_bytes(ctx, to().data, y.data(), y.size() * sizeof(Value));
    run();
    ctx.wait();
    if (is_copied) copy_bytes(ctx, y.data(), to().data, y.size() * sizeof(Value));
    return jobs::product_mistake(view_of(*matrix), const_values(x), const_values(y), {});
  }

  context ctx;
  std::shared_ptr<const io::csr_matrix<Value>> matrix;
  std::vector<Value> x;
  std::vector<Value> y;
  placed_matrix<Value> placed;
  placed_array<Value> placed_x;
  placed_array<Value> placed_y;
};

template <class Value>
timed_call call_of(const call_place& place, const std::string& who, std::shared_ptr<placed_product<Value>> of,
                   std::function<void()> run) {
  return {.where = place.name,
          .who = who,
          .backend = place.ctx.backend(),
          .run = run,
          .wait = [ctx = place.ctx] { ctx.wait(); },
          .mistake = [of, run] { return of->mistake(run); },
          .largest_error = [of] { return error_of(*of->matrix, of->x, of->y); }};
}

/// The preparation by a variant, and the least time that it took; none where the variant cannot run.
std::optional<std::pair<prepared_spmv, double>> loaded(const call_place& place, const csr_view& a,
                                                       std::string_view variant) {
  try {
    std::optional<prepared_spmv> made;
    double seconds = std::numeric_limits<double>::infinity();
    // The first one warms up: it compiles shaders, and touches memory first.
    for (int i = 0; i <= place.loadings; ++i) {
      made.reset();
      made.emplace(prepare_spmv(place.ctx, a, expected_runs, {.variant = variant}));
      seconds = std::min(seconds, made->report().preparation_seconds);
    }
    return std::pair{std::move(*made), seconds};
  } catch (const error& e) {
    if (e.code() != error_code::no_variant && e.code() != error_code::out_of_memory) throw;
  }
  return std::nullopt;
}

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
  auto of = std::make_shared<placed_product<Value>>(ctx, matrix);
  double copying = 0;
  if (!core::backend_of(ctx.backend()).uses_host_memory) {
    const double begin = now();
    of = std::make_shared<placed_product<Value>>(ctx, matrix);
    copying = now() - begin;
  }
  for (const variant_estimate& v : explain_spmv(ctx, of->a(), of->from(), of->to()).variants) {
    if (!v.applicable || v.variant.starts_with("reference.")) continue;
    const auto run = [ctx, of, name = v.variant] { spmv(ctx, of->a(), of->from(), of->to(), {.variant = name}); };
    all.push_back(call_of<Value>(place, v.variant, of, run));
    all.back().loading_seconds = copying;
  }
  for (const primitives::prepare_spmv_variant& v : primitives::prepare_spmv_variants()) {
    if (!v.works_on(ctx.backend()) || v.name == "kept") continue;  // runs of "kept" are the calls above
    auto made = loaded(place, of->a(), v.name);
    if (!made) continue;
    const auto prepared = std::make_shared<prepared_spmv>(std::move(made->first));
    const auto run = [of, prepared] { prepared->run(of->from(), of->to()); };
    all.push_back(call_of<Value>(place, std::string(v.name), of, run));
    all.back().is_prepared = true;
    all.back().loading_seconds = copying + made->second;
    all.back().kept_bytes = prepared->report().kept_bytes;
  }
}

template <class Value>
void add_plain_product(const std::string& where, std::shared_ptr<const io::csr_matrix<Value>> matrix,
                       std::vector<timed_call>& all) {
  const call_place place{where, context::cpu(1)};
  const auto of = std::make_shared<placed_product<Value>>(place.ctx, matrix);
  const auto run = [of] {
    const io::csr_matrix<Value>& m = *of->matrix;
    const Value* const x = of->x.data();
    const Value* const numbers = m.values.data();
    std::visit(
        [&](const auto& list) {
          const auto* const columns = list.data();
          for (std::uint64_t row = 0; row < m.rows; ++row) {
            Value sum = 0;
            for (std::uint64_t p = m.row_offsets[row]; p < m.row_offsets[row + 1]; ++p) {
              sum += numbers[p] * x[columns[p]];
            }
            of->y[row] = sum;
          }
        },
        m.column_indices);
  };
  all.push_back(call_of<Value>(place, "plain loop", of, run));
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
