#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sheaf/error.hpp>
#include <sheaf/scatter_reduce.hpp>

#include "lab/inputs/pattern_function.hpp"
#include "primitives/enum_names.hpp"
#include "primitives/operators/row_value.hpp"
#include "support/cases/movement.hpp"
#include "support/placed.hpp"

// Reductions of rows, with what must come out: numbers in f64 or modulo 2^64, added by slot by another loop.
namespace sheaf::tests {

/// A number of any value type: as f64, and if it is an integer as its bits with the sign extended.
struct number {
  double real = 0;
  std::uint64_t whole = 0;
};

inline number number_at(value_type type, const std::byte* at) {
  number n;
  primitives::with_any_value(type, [&](auto value) {
    std::memcpy(&value, at, sizeof value);
    if constexpr (std::is_integral_v<decltype(value)>) {
      n.whole = static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
      n.real = static_cast<double>(value);
    } else {
      n.real = primitives::converted<double>(value);
    }
  });
  return n;
}

inline void put_number(value_type type, std::byte* at, const number& n) {
  primitives::with_any_value(type, [&](auto value) {
    using T = decltype(value);
    if constexpr (std::is_integral_v<T>)
      value = static_cast<T>(n.whole);
    else
      value = primitives::converted<T>(static_cast<double>(n.real));
    std::memcpy(at, &value, sizeof value);
  });
}

inline bool has_sign(value_type type) {
  return type == value_type::i8 || type == value_type::i16 || type == value_type::i32 || type == value_type::i64;
}

inline double epsilon_of(value_type type) {
  switch (type) {
    case value_type::f16: return 0x1p-10;
    case value_type::bf16: return 0x1p-7;
    case value_type::f32: return 0x1p-23;
    default: return 0x1p-52;
  }
}

/// A number for place i. Integers have random bits; floats are such that neither sums nor products overflow, and those
/// of minima and maxima have special values among them.
inline number row_number(value_type type, std::uint64_t i, reduction op) {
  const std::uint64_t bits = inputs::mix(i + 17);
  number n;
  n.whole = bits;
  if (!primitives::is_float(type)) return n;
  const double unit = std::ldexp(static_cast<double>(bits >> 11), -53);
  n.real = op == reduction::multiply ? 0.9 + 0.2 * unit : 4 * unit - 1.7;
  if (op != reduction::min && op != reduction::max) return n;
  const double special[] = {0.0, -0.0, std::numeric_limits<double>::infinity(),
                            -std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()};
  if (bits % 41 == 0) n.real = special[bits / 41 % 5];
  return n;
}

struct rows_case {
  std::string pattern = "uniform";
  std::uint64_t count = 0;
  std::uint64_t slots = 1;
  std::uint64_t width = 1;
  value_type in = value_type::f32;
  value_type out = value_type::f32;
  reduction op = reduction::add;
  reduction_start start = reduction_start::out;
  index_type index = index_type::u32;
  std::uint64_t gap = 0;  ///< values between rows
  bool has_counts = false;
  value_type counts = value_type::u32;

  std::string description() const {
    return fmt::format("{} {}>{} x{}+{} {} through {} n={} slots={} start={}{}", primitives::name(op),
                       primitives::name(in), primitives::name(out), width, gap, pattern, primitives::name(index), count,
                       slots, static_cast<int>(start), has_counts ? " counts" : "");
  }
  bool rounds() const { return primitives::order_matters(out, op); }
};

/// Every pair of types that are combined.
inline std::vector<std::pair<value_type, value_type>> combined_types() {
  std::vector<std::pair<value_type, value_type>> pairs;
  for (const auto& in : primitives::value_types) {
    for (const auto& out : primitives::value_types) {
      if (primitives::combines(in.value, out.value)) pairs.emplace_back(in.value, out.value);
    }
  }
  return pairs;
}

/// What numbers are combined to, in the order of a list.
struct expected_value {
  number sum;
  double sizes = 0;  ///< of all that was added
  std::uint64_t terms = 0;

  void take(value_type out, reduction op, const number& n, bool as_operand) {
    const bool negative = as_operand && op == reduction::subtract;
    ++terms;
    sizes += std::fabs(n.real);
    switch (op) {
      case reduction::multiply:
        sum.real *= n.real;
        sum.whole *= n.whole;
        break;
      case reduction::min:
      case reduction::max: take_extreme(out, op == reduction::min, n); break;
      case reduction::count: break;
      default: sum.real += negative ? -n.real : n.real; sum.whole += negative ? -n.whole : n.whole;
    }
  }

 private:
  void take_extreme(value_type out, bool least, const number& n) {
    if (!primitives::is_float(out)) {
      const bool below = has_sign(out) ? static_cast<std::int64_t>(n.whole) < static_cast<std::int64_t>(sum.whole)
                                       : n.whole < sum.whole;
      if (terms == 1 || (least ? below : !below)) sum.whole = n.whole;
      return;
    }
    if (terms > 1 && std::isnan(sum.real)) return;
    const bool below = n.real < sum.real || (n.real == sum.real && std::signbit(n.real) && !std::signbit(sum.real));
    if (terms == 1 || std::isnan(n.real) ||
        (least ? below : n.real > sum.real || (n.real == sum.real && !below && !std::signbit(n.real)))) {
      sum.real = std::isnan(n.real) ? std::numeric_limits<double>::quiet_NaN() : n.real;
    }
  }
};

/// Turns what a value of out held before a call into what it holds behind it, after these numbers came. Returns how far
/// another order of them may be from that.
inline double end_of_value(value_type out, reduction op, reduction_start start, std::byte* place,
                           const std::vector<number>& numbers) {
  const bool from_out = start == reduction_start::out;
  if (numbers.empty() && from_out) return 0;
  expected_value e;
  if (from_out) {
    const number held = number_at(out, place);
    if (op == reduction::multiply) e.sum = {1, 1};
    e.take(out, op == reduction::subtract ? reduction::add : op, held, false);
    if (op == reduction::count) e.sum = held;
  } else {
    primitives::with_any_value(out, [&](auto value) {
      value = primitives::identity_of<decltype(value)>(op);
      std::memcpy(place, &value, sizeof value);
    });
    e.sum = number_at(out, place);
    if (numbers.empty()) return 0;
  }
  for (const number& n : numbers) {
    if (op != reduction::count) e.take(out, op, n, true);
  }
  if (op == reduction::count) {
    e.sum.real += static_cast<double>(numbers.size());
    e.sum.whole += numbers.size();
  }
  if (op == reduction::mean) {
    const auto terms = static_cast<double>(e.terms);
    e.sum.real /= terms;
    e.sizes /= terms;
    e.sum.whole =
        has_sign(out)
            ? static_cast<std::uint64_t>(static_cast<std::int64_t>(e.sum.whole) / static_cast<std::int64_t>(e.terms))
            : e.sum.whole / e.terms;
  }
  put_number(out, place, e.sum);
  if (!primitives::order_matters(out, op)) return 0;
  const double size = op == reduction::multiply ? std::fabs(e.sum.real) : e.sizes;
  return static_cast<double>(e.terms + 2) * epsilon_of(primitives::sum_type(out, op)) * size +
         epsilon_of(out) * (std::fabs(e.sum.real) + 1e-7);
}

/// Memory of a case before and after the call. Numbers that are rounded are known within their slack.
struct rows_trial {
  rows_case c;
  image in, index, before, after;
  std::vector<double> slack;
  std::vector<std::uint64_t> came;  ///< to each slot

  explicit rows_trial(const rows_case& from, const std::vector<std::pair<std::uint64_t, std::uint64_t>>& bad = {})
      : c(from), index(index_list(inputs::parse_pattern(c.pattern), c.slots, c.count, c.index)) {
    for (const auto& [position, value] : bad) set_entry(index, position, value);
    in = rows_of(c.count, c.in, 1000);
    before = after = rows_of(c.slots, c.out, 1U << 30);
    std::vector<std::vector<std::uint64_t>> rows(c.slots);
    for (std::uint64_t i = 0; i < c.count; ++i) {
      std::uint64_t slot = 0;
      std::memcpy(&slot, index.record(i), index.record_bytes);
      if (slot < c.slots) rows[slot].push_back(i);
    }
    slack.assign(c.slots * c.width, 0);
    for (std::uint64_t s = 0; s < c.slots; ++s) {
      came.push_back(rows[s].size());
      for (std::uint64_t k = 0; k < c.width; ++k) end_value(s, k, rows[s]);
    }
  }

  std::byte* value(image& of, value_type type, std::uint64_t row, std::uint64_t k) const {
    return of.record(row) + k * bytes(type);
  }

 private:
  image rows_of(std::uint64_t count, value_type type, std::uint64_t seed) const {
    image made = poisoned(count, c.width * bytes(type), (c.width + c.gap) * bytes(type), c.gap > 0 ? bytes(type) : 0);
    for (std::uint64_t i = 0; i < count; ++i) {
      for (std::uint64_t k = 0; k < c.width; ++k) {
        put_number(type, value(made, type, i, k), row_number(type, (seed + i) * 70001 + k, c.op));
      }
    }
    return made;
  }

  void end_value(std::uint64_t s, std::uint64_t k, const std::vector<std::uint64_t>& rows) {
    std::vector<number> numbers;
    numbers.reserve(rows.size());
    for (const std::uint64_t row : rows) numbers.push_back(number_at(c.in, value(in, c.in, row, k)));
    slack[s * c.width + k] = end_of_value(c.out, c.op, c.start, value(after, c.out, s, k), numbers);
  }
};

/// What a call left behind.
struct rows_result {
  std::vector<std::byte> out;
  std::vector<std::uint64_t> counts;
};

/// Makes a call with the views of a trial in the memory of ctx: call(in, index, out, counts). False if it refuses the
/// problem. Expects that inputs are as they were. Counts that are not wanted are no values of memory that has to stay
/// as it is.
template <class Call>
bool with_rows(const context& ctx, const rows_trial& t, rows_result& got, const Call& call) {
  const placed in(ctx, t.in);
  const placed index(ctx, t.index);
  const placed out(ctx, t.before);
  constexpr std::byte unwritten{0xee};
  const std::uint64_t count_bytes = bytes(t.c.counts);
  const buffer counts(ctx, std::max<std::uint64_t>(1, t.c.slots * count_bytes));
  ctx.state().fill(counts.data(), std::to_integer<std::uint8_t>(unwritten), counts.size());
  try {
    call(const_value_rows(in.view().data, t.c.count, t.c.width, t.c.in, t.in.stride_bytes), index.index(t.c.index),
         value_rows(out.view().data, t.c.slots, t.c.width, t.c.out, t.before.stride_bytes),
         values(counts.data(), t.c.has_counts ? t.c.slots : 0, t.c.counts));
  } catch (const error& e) {
    if (e.code() != error_code::no_variant) throw;
    return false;
  }
  got.out = out.download();
  got.counts.assign(t.c.has_counts ? t.c.slots : 0, 0);
  std::vector<std::byte> raw(t.c.slots * count_bytes);
  if (!raw.empty()) copy_bytes(ctx, raw.data(), counts.data(), raw.size());
  for (std::uint64_t s = 0; s < got.counts.size(); ++s) std::memcpy(&got.counts[s], &raw[s * count_bytes], count_bytes);
  EXPECT_TRUE(t.c.has_counts || std::ranges::count(raw, unwritten) == std::ssize(raw)) << "counts that nobody wants";
  expect_bytes(in.download(), t.in, "in");
  expect_bytes(index.download(), t.index, "index");
  return true;
}

/// Expects every value of out to be equal to the bit, or within its slack if it is rounded, and no other byte changed.
inline void expect_rows(const rows_result& got, const rows_trial& t) {
  image expected = t.after;
  image found = expected;
  found.bytes = got.out;
  for (std::uint64_t s = 0; t.c.rounds() && s < t.c.slots && got.out.size() == expected.bytes.size(); ++s) {
    for (std::uint64_t k = 0; k < t.c.width; ++k) {
      const double is = number_at(t.c.out, t.value(found, t.c.out, s, k)).real;
      const double should = number_at(t.c.out, t.value(expected, t.c.out, s, k)).real;
      if (std::fabs(is - should) <= t.slack[s * t.c.width + k]) {
        std::memcpy(t.value(expected, t.c.out, s, k), t.value(found, t.c.out, s, k), bytes(t.c.out));
      }
    }
  }
  expect_bytes(got.out, expected, "out");
  if (t.c.has_counts) {
    EXPECT_EQ(got.counts, t.came) << "counts";
  }
}

}  // namespace sheaf::tests
