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

/// The values of rows that lie side by side, or their sizes, as f64.
std::vector<double> doubles_of(const_value_rows rows, const void* data, bool are_sizes) {
  std::vector<double> all(values_of(rows));
  if (data == nullptr) return all;
  with_any_value(rows.type, [&](auto value) {
    const auto* const from = static_cast<const decltype(value)*>(data);
    for (std::uint64_t i = 0; i < all.size(); ++i) {
      const double number = converted<double>(from[i]);
      all[i] = are_sizes ? std::fabs(number) : number;
    }
  });
  return all;
}

double epsilon_of(value_type type) {
  switch (type) {
    case value_type::f16: return 0x1p-10;
    case value_type::bf16: return 0x1p-7;
    case value_type::f32: return 0x1p-23;
    default: return 0x1p-52;
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
  const auto reduced = [&](bool of_sizes) {
    const std::vector<double> from = doubles_of(in, in.data, of_sizes);
    std::vector<double> to = doubles_of(out, before, of_sizes);
    reduce_serially({from.data(), in.count, in.values_per_row, value_type::f64}, index,
                    {to.data(), out.count, out.values_per_row, value_type::f64},
                    of_sizes && op == reduction::subtract ? reduction::add : op, start, came);
    return to;
  };
  const std::vector<double> expected = reduced(false);
  const std::vector<double> sizes = reduced(true);
  const std::vector<double> found = doubles_of(out, out.data, false);
  const double rounding = epsilon_of(sum_type(out.type, op));
  for (std::uint64_t i = 0; i < found.size(); ++i) {
    const auto terms = static_cast<double>(came[i / out.values_per_row] + 3);
    const double allowed =
        terms * rounding * sizes[i] + epsilon_of(out.type) * std::fabs(expected[i]) + 1e-7 * epsilon_of(out.type);
    const bool is_judged = std::isfinite(expected[i]) && sizes[i] < 3e38 && (bytes(out.type) > 2 || sizes[i] < 65504);
    if (is_judged && !(std::fabs(found[i] - expected[i]) <= allowed)) {
      return fmt::format("{} is {}, not {}", place_text(out, i), found[i], expected[i]);
    }
  }
  return std::nullopt;
}

}  // namespace sheaf::jobs
