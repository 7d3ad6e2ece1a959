#include "apps/sheaf/checks/solution.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "apps/sheaf/files/progress.hpp"
#include "core/parallel_tasks.hpp"
#include "primitives/index_reader.hpp"

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

  std::optional<double> entry_at(std::uint64_t row, std::uint64_t wanted) const {
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
    if (low < end(row) && column(low) == wanted) return number(low);
    return std::nullopt;
  }

  /// The value of an entry, 0 where there is none.
  double number_at(std::uint64_t row, std::uint64_t wanted) const { return entry_at(row, wanted).value_or(0); }

 private:
  const csr_view& a_;
  reference::index_reader begins_;
  reference::index_reader columns_;
};

/// Whether the square of a norm overflows f64, or loses digits.
bool is_past_squares(long double norm) {
  // A factor for what rounding makes of sums of squares.
  const long double least = 2 * std::sqrt(static_cast<long double>(std::numeric_limits<double>::min()));
  const long double most = std::sqrt(static_cast<long double>(std::numeric_limits<double>::max())) / 2;
  return norm < least || norm > most;
}

/// Exact sums over rows: of |b - A x|^2, of the squares by which rounding may miss each row's term, and whether the
/// terms of a row may overflow.
struct residual_sums {
  long double squared = 0;
  long double bound_squared = 0;
  bool may_overflow = false;
};

template <class Value>
residual_sums sums_of_rows(const csr_view& a, const_values b, const_values x, std::uint64_t first, std::uint64_t last) {
  using limits = std::numeric_limits<Value>;
  const long double precision = limits::epsilon();
  const long double least = limits::denorm_min();
  const rows_of rows(a);
  residual_sums sums;
  for (std::uint64_t row = first; row < last; ++row) {
    long double rest = number_of(b, row);
    long double size = std::abs(rest);
    for (std::uint64_t place = rows.begin(row); place < rows.end(row); ++place) {
      const long double term = static_cast<long double>(rows.number(place)) * number_of(x, rows.column(place));
      rest -= term;
      size += std::abs(term);
    }
    // A term, or a sum, below the least normal number is off by as much as the least one that is not 0.
    const long double bound =
        (precision * size + least) * static_cast<long double>(rows.end(row) - rows.begin(row) + 3);
    sums.may_overflow = sums.may_overflow || size > static_cast<long double>(limits::max()) / 2;
    sums.squared += rest * rest;
    sums.bound_squared += bound * bound;
  }
  return sums;
}

/// Parts of the rows are added in order, so that the sums do not depend on the threads.
template <class Value>
residual_sums sums_of(const csr_view& a, const_values b, const_values x, int threads) {
  constexpr std::uint64_t rows_of_a_part = 1 << 14;
  std::vector<residual_sums> parts((a.rows + rows_of_a_part - 1) / rows_of_a_part);
  io::progress_step step("verifying rows", io::progress_unit::items, static_cast<double>(a.rows));
  core::for_each_task(parts.size(), static_cast<std::uint64_t>(threads), [&](std::uint64_t part) {
    const std::uint64_t end = std::min(a.rows, (part + 1) * rows_of_a_part);
    parts[part] = sums_of_rows<Value>(a, b, x, part * rows_of_a_part, end);
    step.add(end - part * rows_of_a_part);
  });
  residual_sums all;
  for (const residual_sums& part : parts) {
    all.squared += part.squared;
    all.bound_squared += part.bound_squared;
    all.may_overflow = all.may_overflow || part.may_overflow;
  }
  return all;
}

template <class Value>
std::optional<std::string> mistake_in(const csr_view& a, const_values b, const_values x, double residual, int threads) {
  const long double precision = std::numeric_limits<Value>::epsilon();
  const auto [squared, bound_squared, may_overflow] = sums_of<Value>(a, b, x, threads);
  const long double exact = std::sqrt(squared);
  if (std::isnan(residual) && is_past_squares(exact)) return std::nullopt;
  if (!std::isfinite(exact) || may_overflow) {
    if (!std::isfinite(residual)) return std::nullopt;
  }
  if (std::isfinite(exact)) {
    // The sum of squares is rounded, too, and squares that are not normal numbers are off by the least one.
    const auto terms = static_cast<long double>(a.rows + 3);
    const long double bound = std::sqrt(bound_squared) + precision * exact * terms +
                              std::sqrt(terms * static_cast<long double>(std::numeric_limits<double>::denorm_min()));
    if (std::abs(exact - static_cast<long double>(residual)) <= bound) return std::nullopt;
  }
  return fmt::format("|b - A x| is {}, but is reported as {}", static_cast<double>(exact), residual);
}

}  // namespace

std::optional<std::string> solution_mistake(const csr_view& a, const_values b, const_values x, double residual,
                                            int threads) {
  return a.values.type == value_type::f32 ? mistake_in<float>(a, b, x, residual, threads)
                                          : mistake_in<double>(a, b, x, residual, threads);
}

double residual_of(const csr_view& a, const_values b, const_values x, int threads) {
  return static_cast<double>(std::sqrt(sums_of<double>(a, b, x, threads).squared));
}

namespace {

// @param there  the number of the mirror image of an entry
template <class There>
std::optional<std::string> asymmetry_in(const csr_view& a, std::uint64_t first_row, There there_at) {
  constexpr double precision = 1e-10;
  const rows_of rows(a);
  io::progress_step step("comparing the matrix with its transpose: rows", io::progress_unit::items,
                         static_cast<double>(a.rows));
  for (std::uint64_t i = 0; i < a.rows; ++i, step.add(1)) {
    const std::uint64_t row = first_row + i;
    for (std::uint64_t place = rows.begin(i); place < rows.end(i); ++place) {
      const std::uint64_t column = rows.column(place);
      const double here = rows.number(place);
      if (std::isnan(here)) return fmt::format("row {}, column {} is nan", row + 1, column + 1);
      if (std::isinf(here)) return fmt::format("row {}, column {} is {}", row + 1, column + 1, here);
      const double there = there_at(i, column);
      if (std::abs(here - there) <= precision * std::max(std::abs(here), std::abs(there))) continue;
      return fmt::format("the matrix is not symmetric: row {}, column {} has {}, row {}, column {} has {}", row + 1,
                         column + 1, here, column + 1, row + 1, there);
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> asymmetry_of(const csr_view& a) {
  const rows_of rows(a);
  return asymmetry_in(a, 0, [&](std::uint64_t row, std::uint64_t column) { return rows.number_at(column, row); });
}

std::optional<std::string> asymmetry_of(const csr_view& a, const csr_view& transposed, std::uint64_t first_row) {
  const rows_of mirrored(transposed);
  return asymmetry_in(a, first_row,
                      [&](std::uint64_t row, std::uint64_t column) { return mirrored.number_at(row, column); });
}

std::optional<std::string> diagonal_mistake(const csr_view& a, std::uint64_t first_row) {
  const rows_of rows(a);
  for (std::uint64_t i = 0; i < a.rows; ++i) {
    const std::uint64_t row = first_row + i;
    const std::optional<double> value = rows.entry_at(i, row);
    if (!value) return fmt::format("row {} has no value on the diagonal", row + 1);
    if (!(*value > 0)) return fmt::format("row {} has {} on the diagonal", row + 1, *value);
  }
  return std::nullopt;
}

}  // namespace sheaf::jobs
