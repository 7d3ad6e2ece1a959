#include "jobs/checks/solution.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "reference/index_reader.hpp"

namespace sheaf::jobs {
namespace {

double number_of(const_values of, std::uint64_t i) {
  return of.type == value_type::f32 ? static_cast<double>(static_cast<const float*>(of.data)[i])
                                    : static_cast<const double*>(of.data)[i];
}

class rows_of {
 public:
  explicit rows_of(const csr_view& a) : a_(a), begins_(a.row_begins, 0), columns_(a.column_indices, a.columns) {}

  std::uint64_t begin(std::uint64_t row) const { return begins_.bits(row); }
  std::uint64_t end(std::uint64_t row) const { return begins_.bits(row + 1); }
  std::uint64_t column(std::uint64_t place) const { return columns_.bits(place); }
  double number(std::uint64_t place) const { return number_of(a_.values, place); }

  /// The value of an entry, 0 where there is none.
  double number_at(std::uint64_t row, std::uint64_t wanted) const {
    std::uint64_t low = begin(row);
    std::uint64_t high = end(row);
    while (low < high) {
      const std::uint64_t middle = low + (high - low) / 2;
      if (column(middle) < wanted) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low < end(row) && column(low) == wanted ? number(low) : 0;
  }

 private:
  const csr_view& a_;
  reference::index_reader begins_;
  reference::index_reader columns_;
};

}  // namespace

std::optional<std::string> solution_mistake(const csr_view& a, const_values b, const_values x, double residual) {
  const long double precision =
      a.values.type == value_type::f32 ? std::numeric_limits<float>::epsilon() : std::numeric_limits<double>::epsilon();
  const rows_of rows(a);
  long double squared = 0;
  long double bound_squared = 0;
  for (std::uint64_t row = 0; row < a.rows; ++row) {
    long double rest = number_of(b, row);
    long double size = std::abs(rest);
    for (std::uint64_t place = rows.begin(row); place < rows.end(row); ++place) {
      const long double term = static_cast<long double>(rows.number(place)) * number_of(x, rows.column(place));
      rest -= term;
      size += std::abs(term);
    }
    const long double bound = precision * size * static_cast<long double>(rows.end(row) - rows.begin(row) + 3);
    squared += rest * rest;
    bound_squared += bound * bound;
  }
  const long double exact = std::sqrt(squared);
  if (!std::isfinite(exact)) {
    if (!std::isfinite(residual)) return std::nullopt;
  } else {
    // The sum of squares is rounded, too.
    const long double bound = std::sqrt(bound_squared) + precision * exact * static_cast<long double>(a.rows + 3);
    if (std::abs(exact - static_cast<long double>(residual)) <= bound) return std::nullopt;
  }
  return fmt::format("|b - A x| is {}, and is said to be {}", static_cast<double>(exact), residual);
}

std::optional<std::string> asymmetry_of(const csr_view& a) {
  constexpr double precision = 1e-10;
  const rows_of rows(a);
  for (std::uint64_t row = 0; row < a.rows; ++row) {
    for (std::uint64_t place = rows.begin(row); place < rows.end(row); ++place) {
      const std::uint64_t column = rows.column(place);
      const double here = rows.number(place);
      const double there = rows.number_at(column, row);
      if (std::abs(here - there) <= precision * std::max(std::abs(here), std::abs(there))) continue;
      return fmt::format("row {}, column {} has {}, row {}, column {} has {}", row + 1, column + 1, here, column + 1,
                         row + 1, there);
    }
  }
  return std::nullopt;
}

}  // namespace sheaf::jobs
