#include "jobs/checks/spmv.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "reference/index_reader.hpp"

namespace sheaf::jobs {
namespace {

double number_of(const_values of, std::uint64_t i) {
  return of.type == value_type::f32 ? static_cast<double>(static_cast<const float*>(of.data)[i])
                                    : static_cast<const double*>(of.data)[i];
}

/// The terms of one value of y, added in the order in which they come.
struct exact_sum {
  long double sum = 0;
  long double magnitudes = 0;
  std::uint64_t terms = 0;

  void take(long double term) {
    sum += term;
    magnitudes += std::abs(term);
    ++terms;
  }
  bool explains(double found, long double precision, long double most, long double least) const {
    if (std::isnan(sum)) return std::isnan(found);
    if (std::isfinite(magnitudes) && magnitudes > most) return true;
    if (std::isinf(sum)) return static_cast<long double>(found) == sum;
    const auto steps = static_cast<long double>(terms + 2);
    return std::abs(static_cast<long double>(found) - sum) <= steps * (precision * magnitudes + least);
  }
};

template <class Value>
std::optional<std::string> mistake_of(const csr_view& a, const_values x, const_values y, const product_terms& terms) {
  using limits = std::numeric_limits<Value>;
  const reference::index_reader begins(a.row_begins, 0);
  const reference::index_reader columns(a.column_indices, a.columns);
  std::vector<exact_sum> sums(y.count);
  const auto alpha = static_cast<Value>(terms.alpha);
  const auto beta = static_cast<Value>(terms.beta);
  for (std::uint64_t row = 0; row < a.rows; ++row) {
    for (std::uint64_t place = begins.bits(row); place < begins.bits(row + 1); ++place) {
      const std::uint64_t from = terms.transposed ? row : columns.bits(place);
      const std::uint64_t to = terms.transposed ? columns.bits(place) : row;
      sums[to].take(static_cast<long double>(alpha) * number_of(a.values, place) * number_of(x, from));
    }
  }
  for (std::uint64_t i = 0; i < y.count; ++i) {
    if (beta != 0) sums[i].take(static_cast<long double>(beta) * terms.y_before[i]);
    if (sums[i].explains(number_of(y, i), limits::epsilon(), limits::max(), limits::denorm_min())) continue;
    return fmt::format("y[{}] is {}, the sum of its {} terms is {}", i, number_of(y, i), sums[i].terms,
                       static_cast<double>(sums[i].sum));
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> product_mistake(const csr_view& a, const_values x, const_values y,
                                           const product_terms& terms) {
  return y.type == value_type::f32 ? mistake_of<float>(a, x, y, terms) : mistake_of<double>(a, x, y, terms);
}

}  // namespace sheaf::jobs
