#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sheaf/error.hpp>
#include <sheaf/scatter_reduce.hpp>

#include "lab/inputs/pattern_function.hpp"
#include "primitives/operators/with_value.hpp"
#include "support/cases/movement.hpp"
#include "support/placed.hpp"

namespace sheaf::tests {

constexpr value_type value_types[] = {value_type::i32, value_type::u32, value_type::i64,
                                      value_type::u64, value_type::f32, value_type::f64};
constexpr reduction reductions[] = {reduction::add, reduction::min, reduction::max, reduction::subtract};

inline const char* name(value_type type) {
  constexpr const char* names[] = {"i32", "u32", "i64", "u64", "f32", "f64"};
  return names[static_cast<int>(type)];
}
inline const char* name(reduction op) {
  constexpr const char* names[] = {"add", "min", "max", "subtract"};
  return names[static_cast<int>(op)];
}

struct reduce_case {
  std::string pattern = "uniform";  ///< a pattern of lab/inputs, or "sorted" for ascending indices with repeats
  std::uint64_t count = 0;
  std::uint64_t slots = 1;
  value_type type = value_type::f32;
  reduction op = reduction::add;
  index_type index = index_type::u32;
  bool shifted = false;  ///< values are aligned to their type and not to more

  std::string description() const {
    return fmt::format("{} {} {} through {} n={} slots={}{}", name(op), name(type), pattern, name(index), count, slots,
                       shifted ? " shifted" : "");
  }
  bool sums() const { return op == reduction::add || op == reduction::subtract; }
  bool rounds() const { return sums() && (type == value_type::f32 || type == value_type::f64); }
};

inline image reduce_index(const reduce_case& c) {
  image list =
      index_list(inputs::parse_pattern(c.pattern == "sorted" ? "uniform" : c.pattern), c.slots, c.count, c.index);
  if (c.pattern != "sorted") return list;
  std::vector<std::uint64_t> places(c.count, 0);
  for (std::uint64_t i = 0; i < c.count; ++i) std::memcpy(&places[i], list.record(i), list.record_bytes);
  std::sort(places.begin(), places.end());
  for (std::uint64_t i = 0; i < c.count; ++i) set_entry(list, i, places[i]);
  return list;
}

/// One of several NaN: quiet and signaling, of both signs, with and without other bits.
template <class T>
T not_a_number(std::uint64_t which) {
  using bits_type = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  constexpr bits_type quiet = std::bit_cast<bits_type>(std::numeric_limits<T>::quiet_NaN());
  constexpr bits_type signaling = std::bit_cast<bits_type>(std::numeric_limits<T>::infinity()) | 0x12345;
  constexpr bits_type sign = bits_type{1} << (8 * sizeof(T) - 1);
  constexpr bits_type kinds[] = {quiet, quiet | sign, quiet | 0x54321, signaling, signaling | sign};
  return std::bit_cast<T>(kinds[which % std::size(kinds)]);
}

/// A number for position i. Integers have random bits. Floats add and subtract without overflow; for minima and maxima,
/// some of them are special values.
template <class T>
T reduce_value(std::uint64_t i, reduction op) {
  const std::uint64_t bits = inputs::mix(i);
  if constexpr (std::is_floating_point_v<T>) {
    if (op == reduction::add || op == reduction::subtract)
      return static_cast<T>(std::ldexp(static_cast<double>(bits >> 11), -53) * 200 - 80);
    using limits = std::numeric_limits<T>;
    const T special[] = {T{0},
                         -T{0},
                         limits::infinity(),
                         -limits::infinity(),
                         limits::denorm_min(),
                         -limits::denorm_min(),
                         limits::denorm_min() * 3,
                         limits::max(),
                         limits::lowest(),
                         limits::min()};
    if (bits % 97 == 0) return not_a_number<T>(bits / 97);
    if (bits % 3 == 0) return special[bits / 8 % std::size(special)];
    return static_cast<T>(std::ldexp(static_cast<double>(bits >> 11), -53) - 0.5);
  } else {
    return static_cast<T>(bits);
  }
}

template <class T>
image reduce_values(std::uint64_t count, std::uint64_t first, const reduce_case& c) {
  image made = poisoned(count, sizeof(T), sizeof(T), c.shifted ? sizeof(T) : 0);
  for (std::uint64_t i = 0; i < count; ++i) {
    const T value = reduce_value<T>(first + i, c.op);
    std::memcpy(made.record(i), &value, sizeof value);
  }
  return made;
}

/// Compares floats in the order of the contract: -infinity, ..., -0, +0, ..., infinity. Neither is NaN.
template <class T>
auto rank(T value) {
  if constexpr (!std::is_floating_point_v<T>) {
    return value;
  } else {
    using bits_type = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    constexpr bits_type sign = bits_type{1} << (8 * sizeof(T) - 1);
    const auto bits = std::bit_cast<bits_type>(value);
    return (bits & sign) != 0 ? static_cast<bits_type>(~bits) : static_cast<bits_type>(bits | sign);
  }
}

/// The value of a slot after a reduction of `values`, the first of which is the slot's value before. A sum of floats is
/// rounded once; `slack` bounds how far any order of additions or subtractions can be from it.
template <class T>
T reduced_slot(const std::vector<T>& values, reduction op, double& slack) {
  slack = 0;
  const bool subtracts = op == reduction::subtract;
  if (op != reduction::add && !subtracts) {
    if constexpr (std::is_floating_point_v<T>) {
      using bits_type = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
      constexpr bits_type nan = sizeof(T) == 4 ? 0x7fc00000U : bits_type{0x7ff8} << (sizeof(T) == 4 ? 0 : 48);
      const bool any = std::any_of(values.begin(), values.end(), [](T v) { return std::isnan(v); });
      if (any && values.size() > 1) return std::bit_cast<T>(nan);
    }
    const auto below = [](T a, T b) { return rank(a) < rank(b); };
    return op == reduction::min ? *std::min_element(values.begin(), values.end(), below)
                                : *std::max_element(values.begin(), values.end(), below);
  }
  if constexpr (std::is_floating_point_v<T>) {
    long double sum = 0;
    long double sizes = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const T v = values[i];
      sum += subtracts && i > 0 ? -static_cast<long double>(v) : static_cast<long double>(v);
      sizes += std::fabs(static_cast<long double>(v));
    }
    slack = static_cast<double>(static_cast<long double>(values.size()) * std::numeric_limits<T>::epsilon() * sizes);
    return static_cast<T>(sum);
  } else {
    std::uint64_t sum = 0;
    for (const T v : values) sum += static_cast<std::uint64_t>(v);
    // The slot's own value counts as it is.
    if (subtracts) sum = 2 * static_cast<std::uint64_t>(values.front()) - sum;
    return static_cast<T>(sum);
  }
}

/// Memory of a case before and after the call. A sum of floats is known within its slack.
struct reduce_trial {
  reduce_case c;
  image in, index, before, after;
  std::vector<double> slack;

  explicit reduce_trial(const reduce_case& from_case,
                        const std::vector<std::pair<std::uint64_t, std::uint64_t>>& bad = {})
      : c(from_case), index(reduce_index(c)) {
    for (const auto& [position, value] : bad) set_entry(index, position, value);
    primitives::with_value(c.type, [&](auto value) { fill<decltype(value)>(); });
  }

  template <class T>
  void fill() {
    in = reduce_values<T>(c.count, 1000, c);
    before = after = reduce_values<T>(c.slots, 1U << 30, c);
    slack.assign(c.slots, 0);
    // For each slot its positions, ascending.
    std::vector<std::pair<std::uint64_t, std::uint64_t>> adds;
    for (std::uint64_t i = 0; i < c.count; ++i) {
      std::uint64_t slot = 0;
      std::memcpy(&slot, index.record(i), index.record_bytes);
      if (slot < c.slots) adds.emplace_back(slot, i);
    }
    std::sort(adds.begin(), adds.end());
    std::vector<T> values;
    for (auto add = adds.begin(); add != adds.end();) {
      const std::uint64_t slot = add->first;
      values.assign(1, at<T>(before, slot));
      for (; add != adds.end() && add->first == slot; ++add) values.push_back(at<T>(in, add->second));
      const T value = reduced_slot(values, c.op, slack[slot]);
      std::memcpy(after.record(slot), &value, sizeof value);
    }
  }

  template <class T>
  static T at(const image& list, std::uint64_t i) {
    T value;
    std::memcpy(&value, list.record(i), sizeof value);
    return value;
  }
};

/// Runs the variant; false if it refuses the problem. Bad indices stay with ctx, to be thrown by wait().
inline bool run_variant(const context& ctx, const reduce_trial& t, const scatter_reduce_options& options,
                        std::vector<std::byte>& got) {
  const placed in(ctx, t.in);
  const placed index(ctx, t.index);
  const placed out(ctx, t.before);
  try {
    scatter_reduce(ctx, const_values(in.view().data, t.c.count, t.c.type), index.index(t.c.index),
                   values(out.view().data, t.c.slots, t.c.type), t.c.op, options);
  } catch (const error& e) {
    if (e.code() != error_code::no_variant) throw;
    return false;
  }
  got = out.download();
  expect_bytes(in.download(), t.in, "in");
  expect_bytes(index.download(), t.index, "index");
  return true;
}

/// Expects every slot to be equal to the bit, sums of floats within their slack, and no byte beside the slots changed.
inline void expect_slots(const std::vector<std::byte>& got, const reduce_trial& t) {
  image expected = t.after;
  image found = expected;
  found.bytes = got;
  for (std::uint64_t s = 0; t.c.rounds() && s < t.c.slots && found.bytes.size() == expected.bytes.size(); ++s) {
    const bool narrow = t.c.type == value_type::f32;
    const long double is = narrow ? reduce_trial::at<float>(found, s) : reduce_trial::at<double>(found, s);
    const long double should = narrow ? reduce_trial::at<float>(expected, s) : reduce_trial::at<double>(expected, s);
    if (std::fabs(is - should) <= t.slack[s]) std::memcpy(expected.record(s), found.record(s), found.record_bytes);
  }
  expect_bytes(got, expected, "out");
}

}  // namespace sheaf::tests
