#include "apps/sheaf/checks/spmv.hpp"

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "apps/sheaf/files/progress.hpp"
#include "core/parallel_tasks.hpp"
#include "primitives/index_reader.hpp"

namespace sheaf::jobs {
namespace {

double exact_number(const_values of, std::uint64_t i) {
  return of.type == value_type::f32 ? static_cast<double>(static_cast<const float*>(of.data)[i])
                                    : static_cast<const double*>(of.data)[i];
}

/// The terms of one value of y, added in the order in which they come.
template <class Value>
struct exact_sum {
  using limits = std::numeric_limits<Value>;

  long double sum = 0;
  long double magnitudes = 0;
  long double finite = 0;     ///< of them, those of finite terms
  long double underflow = 0;  ///< what is lost where numbers below the normal ones are taken for zero
  std::uint64_t terms = 0;
  bool is_judged = true;  ///< false where terms may overflow together

  void take(double left, double right) {
    constexpr long double least = limits::min();
    const long double term = static_cast<long double>(left) * right;
    sum += term;
    magnitudes += std::abs(term);
    ++terms;
    if (!std::isfinite(term)) return;
    // Beside an infinity too: with terms that overflow it may become NaN.
    finite += std::abs(term);
    if (finite > limits::max()) is_judged = false;
    underflow += 2 * least;
    if (std::abs(left) < least || std::abs(right) < least) underflow += std::abs(term);
  }
  /// Multiplies the sum so far.
  void scale(Value by) {
    const long double factor = std::abs(static_cast<long double>(by));
    // Nobody knows whether infinity times a sum that rounding leaves near 0 is infinity, minus infinity or NaN.
    if (std::isinf(factor) && sum != 0 && std::abs(sum) <= slack()) is_judged = false;
    sum *= by;
    magnitudes *= factor;
    underflow = std::isfinite(factor) ? factor * underflow + limits::min() : underflow;
    finite = std::isfinite(factor) ? factor * finite : 0;
    if (finite > limits::max()) is_judged = false;
  }
  long double slack() const {
    return static_cast<long double>(terms + 2) * limits::epsilon() * magnitudes + 2 * underflow;
  }
  bool explains(double found) const {
    if (!is_judged) return true;
    if (std::isnan(sum)) return std::isnan(found);
    if (std::isinf(sum)) return static_cast<long double>(found) == sum;
    return std::abs(static_cast<long double>(found) - sum) <= slack();
  }
};

/// The sums of [begin, end) of y: of rows, or of columns of a transposed product, for which all entries are looked at.
template <class Value>
std::optional<std::string> mistake_in(std::uint64_t begin, std::uint64_t end, const csr_view& a, const_values x,
                                      const_values y, const product_terms& terms) {
  const reference::index_reader begins(a.row_begins, 0);
  const reference::index_reader columns(a.column_indices, a.columns);
  std::vector<exact_sum<Value>> sums(end - begin);
  const auto alpha = static_cast<Value>(terms.alpha);
  const auto beta = static_cast<Value>(terms.beta);
  for (std::uint64_t row = terms.transposed ? 0 : begin; row < (terms.transposed ? a.rows : end); ++row) {
    for (std::uint64_t place = begins.bits(row); place < begins.bits(row + 1); ++place) {
      const std::uint64_t from = terms.transposed ? row : columns.bits(place);
      const std::uint64_t to = terms.transposed ? columns.bits(place) : row;
      if (to < begin || to >= end) continue;
      sums[to - begin].take(exact_number(a.values, place), exact_number(x, from));
    }
  }
  for (std::uint64_t i = begin; i < end; ++i) {
    exact_sum<Value>& sum = sums[i - begin];
    sum.scale(alpha);
    // A beta that its type rounds to 0 multiplies like any other.
    if (terms.beta != 0) sum.take(beta, terms.y_before[i]);
    if (sum.explains(exact_number(y, i))) continue;
    return fmt::format("y[{}] is {}, but the sum of its {} terms is {}", i, exact_number(y, i), sum.terms,
                       static_cast<double>(sum.sum));
  }
  return std::nullopt;
}

template <class Value>
std::optional<std::string> mistake_of(const csr_view& a, const_values x, const_values y, const product_terms& terms) {
  // Each range of columns reads all columns of the matrix again, so there are no more ranges than threads, unless their
  // sums would take much memory: 64 MB of a thread.
  constexpr std::uint64_t least_part_size = 1 << 16;
  constexpr std::uint64_t most_part_size = 1 << 20;
  const auto threads = static_cast<std::uint64_t>(terms.threads);
  const std::uint64_t part_size = terms.transposed
                                      ? std::clamp((y.count + threads - 1) / threads, least_part_size, most_part_size)
                                      : least_part_size;
  std::vector<std::optional<std::string>> mistakes((y.count + part_size - 1) / part_size);
  io::progress_step step("verifying sums", io::progress_unit::items, static_cast<double>(y.count));
  core::for_each_task(mistakes.size(), threads, [&](std::uint64_t part) {
    mistakes[part] = mistake_in<Value>(part * part_size, std::min(y.count, (part + 1) * part_size), a, x, y, terms);
    step.add(std::min(part_size, y.count - part * part_size));
  });
  for (std::optional<std::string>& mistake : mistakes) {
    if (mistake) return std::move(mistake);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> product_mistake(const csr_view& a, const_values x, const_values y,
                                           const product_terms& terms) {
  return y.type == value_type::f32 ? mistake_of<float>(a, x, y, terms) : mistake_of<double>(a, x, y, terms);
}

}  // namespace sheaf::jobs
