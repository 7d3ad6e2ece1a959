#pragma once

#include <charconv>

#include <sheaf/edge_sum.hpp>
#include <sheaf/list_scan.hpp>
#include <sheaf/scatter.hpp>
#include <sheaf/scatter_reduce.hpp>
#include <sheaf/sort.hpp>

#include "core/printable.hpp"
#include "primitives/views.hpp"

// The words by which names of problems, options and reports call the values of enumerations.
namespace sheaf::primitives {

template <class Value>
struct word {
  std::string_view text;
  Value value;
};

/// The text of a value; empty for a value that no word has.
template <class Value, std::size_t Count>
constexpr std::string_view text_of(Value value, const word<Value> (&words)[Count]) noexcept {
  for (const word<Value>& w : words) {
    if (w.value == value) return w.text;
  }
  return {};
}

/// "u32, u64, i32, i64"
template <class Value, std::size_t Count>
std::string list_of(const word<Value> (&words)[Count]) {
  std::string all;
  for (const word<Value>& w : words) all += fmt::format("{}{}", all.empty() ? "" : ", ", w.text);
  return all;
}

/// The value of a text. @throws error(bad_argument): 'f32' is not an index type: u32, u64, i32, i64
template <class Value, std::size_t Count>
Value value_of(std::string_view text, const word<Value> (&words)[Count], std::string_view what) {
  for (const word<Value>& w : words) {
    if (w.text == text) return w.value;
  }
  refuse("'{}' is not {}: {}", core::printable(text), what, list_of(words));
}

/// A whole number in decimal notation, and nothing else.
template <class Number = std::uint64_t>
std::optional<Number> parse_number(std::string_view text) {
  Number number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

inline constexpr word<index_type> index_types[] = {
    {"u32", index_type::u32}, {"u64", index_type::u64}, {"i32", index_type::i32}, {"i64", index_type::i64}};
inline constexpr word<value_type> value_types[] = {{"i32", value_type::i32}, {"u32", value_type::u32},
                                                   {"i64", value_type::i64}, {"u64", value_type::u64},
                                                   {"f32", value_type::f32}, {"f64", value_type::f64}};
inline constexpr word<value_type> float_types[] = {{"f32", value_type::f32}, {"f64", value_type::f64}};
inline constexpr word<reduction> reductions[] = {
    {"add", reduction::add}, {"min", reduction::min}, {"max", reduction::max}, {"subtract", reduction::subtract}};
inline constexpr word<reduction_order> reduction_orders[] = {{"deterministic", reduction_order::deterministic},
                                                             {"unordered", reduction_order::unordered}};
inline constexpr word<scan_operator> scan_operators[] = {{"add", scan_operator::add},     {"min", scan_operator::min},
                                                         {"max", scan_operator::max},     {"mul", scan_operator::mul},
                                                         {"and", scan_operator::bit_and}, {"or", scan_operator::bit_or},
                                                         {"xor", scan_operator::bit_xor}};
inline constexpr word<edge_function> edge_functions[] = {{"weighted_difference", edge_function::weighted_difference},
                                                         {"inverse_square", edge_function::inverse_square}};
inline constexpr word<list_count> list_counts[] = {{"one", list_count::one}, {"many", list_count::many}};
inline constexpr word<duplicates> duplicates_words[] = {{"any", duplicates::any}, {"last", duplicates::last}};
inline constexpr word<bounds> bounds_words[] = {{"check", bounds::check}, {"trust", bounds::trust}};

std::string_view name(index_type type) noexcept;
std::string_view name(value_type type) noexcept;
/// "unknown", "clustered:4096"
std::string name(const access_pattern& pattern);
/// "64 GiB"
std::string bytes_text(std::uint64_t bytes);
/// "u32", "i64", "f32", "bytes10"
std::string key_name(key_type type, std::uint64_t key_bytes);

/// These read what name() and key_name() write. @throws error(bad_argument)
index_type parse_index_type(std::string_view text);
value_type parse_value_type(std::string_view text);
reduction_order parse_reduction_order(std::string_view text);
access_pattern parse_access_pattern(std::string_view text);

struct key_kind {
  key_type type = key_type::unsigned_integer;
  std::uint64_t bytes = 0;
};
/// Reads "u32", "i64", "f32", "bytes10"; numbers have a whole number of bytes. Nothing for other texts.
std::optional<key_kind> parse_key_name(std::string_view text);

}  // namespace sheaf::primitives
