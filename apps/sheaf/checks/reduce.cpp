#include "apps/sheaf/checks/reduce.hpp"

#include <cmath>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "primitives/operators/row_value.hpp"

namespace sheaf::jobs {
namespace {

using namespace primitives;

std::uint64_t values_of(const_value_rows rows) { return rows.count * rows.values_per_row; }

/// As what the values of rows are combined.
enum class taken_as : std::uint8_t {
  numbers,
  sizes,
  at_least_one,  ///< sizes, or 1 where they are less
  at_most_one,   ///< sizes, or 1 where they are more, or 0
};

double taken(double number, taken_as how) {
  const double size = std::fabs(number);
  switch (how) {
    case taken_as::sizes: return size;
    case taken_as::at_least_one: return size < 1 ? 1 : size;
    case taken_as::at_most_one: return size > 1 || size == 0 ? 1 : size;
    default: return number;
  }
}

/// The values of rows that lie side by side, as f64.
std::vector<double> doubles_of(const_value_rows rows, const void* data, taken_as how) {
  std::vector<double> all(values_of(rows));
  if (data == nullptr) return all;
  with_any_value(rows.type, [&](auto value) {
    const auto* const from = static_cast<const decltype(value)*>(data);
    for (std::uint64_t i = 0; i < all.size(); ++i) all[i] = taken(converted<double>(from[i]), how);
  });
  return all;
}

struct float_limits {
  double epsilon;
  double largest;
  double least_normal;
  double least;
};

float_limits limits_of(value_type type) {
  switch (type) {
    case value_type::f16: return {0x1p-10, 65504, 0x1p-14, 0x1p-24};
    case value_type::bf16: return {0x1p-7, 0x1.fep127, 0x1p-126, 0x1p-133};
    case value_type::f32: return {0x1p-23, 0x1.fffffep127, 0x1p-126, 0x1p-149};
    default: return {0x1p-52, 0x1.fffffffffffffp1023, 0x1p-1022, 0x1p-1074};
  }
}

void reduce_serially(const_value_rows in, index_span index, value_rows out, reduction op, reduction_start start,
                     values counts) {
  scatter_reduce(context::cpu(1), in, index, out, op,
                 {.start = start, .counts = counts, .variant = "reference.serial"});
}

std::string place_text(const_value_rows out, std::uint64_t i) {
  return fmt::format("value {} of row {}", i % out.values_per_row, i / out.values_per_row);
}

std::optional<std::string> exact_mistake(const_value_rows in, index_span index, const_value_rows out,
                                         const std::byte* before, reduction op) {
  const std::uint64_t width = bytes(out.type);
  std::vector<std::uint64_t> memory((values_of(out) * width + 7) / 8);
  auto* const expected = reinterpret_cast<std::byte*>(memory.data());
  if (before != nullptr) std::memcpy(expected, before, values_of(out) * width);
  reduce_serially(in, index, {expected, out.count, out.values_per_row, out.type}, op,
                  before != nullptr ? reduction_start::out : reduction_start::identity, {});
  for (std::uint64_t i = 0; i < values_of(out); ++i) {
    if (std::memcmp(expected + i * width, static_cast<const std::byte*>(out.data) + i * width, width) != 0) {
      return fmt::format("{} is not that of the reference", place_text(out, i));
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> reduction_mistake(const_value_rows in, index_span index, const_value_rows out,
                                             const std::byte* before, reduction op) {
  if (!order_matters(out.type, op)) return exact_mistake(in, index, out, before, op);
  const auto start = before != nullptr ? reduction_start::out : reduction_start::identity;
  std::vector<std::uint64_t> came(out.count);
  const auto reduced = [&](taken_as how) {
    const std::vector<double> from = doubles_of(in, in.data, how);
    std::vector<double> to = doubles_of(out, before, how);
    reduce_serially({from.data(), in.count, in.values_per_row, value_type::f64}, index,
                    {to.data(), out.count, out.values_per_row, value_type::f64},
                    how != taken_as::numbers && op == reduction::subtract ? reduction::add : op, start, came);
    return to;
  };
  const bool is_product = op == reduction::multiply;
  const std::vector<double> expected = reduced(taken_as::numbers);
  // No part of a sum is larger than the sizes together. Those of a product lie between that of all factors below 1 and
  // that of all above.
  const std::vector<double> most = reduced(is_product ? taken_as::at_least_one : taken_as::sizes);
  const std::vector<double> fewest = is_product ? reduced(taken_as::at_most_one) : std::vector<double>();
  const std::vector<double> found = doubles_of(out, out.data, taken_as::numbers);
  const float_limits of_sums = limits_of(sum_type(out.type, op));
  const float_limits of_out = limits_of(out.type);
  for (std::uint64_t i = 0; i < found.size(); ++i) {
    const auto terms = static_cast<double>(came[i / out.values_per_row] + 3);
    if (!is_product && std::isnan(most[i]) && !std::isnan(found[i])) {
      return fmt::format("{} is {}, not NaN", place_text(out, i), found[i]);
    }
    const double size = is_product ? std::fabs(expected[i]) : most[i];
    // Numbers below the normal ones may count as zero.
    const double allowed = terms * (of_sums.epsilon * size + of_sums.least_normal) +
                           of_out.epsilon * std::fabs(expected[i]) + of_out.least;
    const double largest_part = op == reduction::mean ? terms * most[i] : most[i];
    const bool may_vanish = is_product && expected[i] != 0 && fewest[i] < 2 * of_sums.least_normal;
    const bool is_judged = std::isfinite(expected[i]) && largest_part < of_sums.largest / 2 && !may_vanish &&
                           std::fabs(expected[i]) + allowed < of_out.largest;
    if (is_judged && !(std::fabs(found[i] - expected[i]) <= allowed)) {
      return fmt::format("{} is {}, not {}", place_text(out, i), found[i], expected[i]);
    }
  }
  return std::nullopt;
}

std::uint64_t bytes_to_check_a_reduction(const_value_rows in, const_value_rows out, reduction op) {
  const std::uint64_t sum_bytes = order_matters(out.type, op) ? sizeof(double) : bytes(sum_type(out.type, op));
  // The reference has a sum for each value, and how many rows came to each row.
  const std::uint64_t reference_bytes = values_of(out) * sum_bytes + out.count * sizeof(std::uint64_t);
  if (!order_matters(out.type, op)) return reference_bytes + values_of(out) * bytes(out.type);
  const std::uint64_t results = op == reduction::multiply ? 4 : 3;
  return reference_bytes + (values_of(in) + results * values_of(out)) * sizeof(double) +
         out.count * sizeof(std::uint64_t);
}

}  // namespace sheaf::jobs
