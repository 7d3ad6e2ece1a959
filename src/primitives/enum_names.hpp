#pragma once

#include <charconv>

#include <sheaf/edge_sum.hpp>
#include <sheaf/scatter.hpp>
#include <sheaf/sort.hpp>

#include "core/printable.hpp"
#include "primitives/views.hpp"

// The names by which problems, options and reports call the values of enumerations.
namespace sheaf::primitives {

template <class Value>
struct enum_name {
  std::string_view text;
  Value value;
};

/// The text of a value; empty for a value that has no name.
template <class Value, std::size_t Count>
constexpr std::string_view text_of(Value value, const enum_name<Value> (&names)[Count]) noexcept {
  for (const enum_name<Value>& n : names) {
    if (n.value == value) return n.text;
  }
  return {};
}

/// "u32, u64, i32, i64"
template <class Value, std::size_t Count>
std::string list_of(const enum_name<Value> (&names)[Count]) {
  std::string all;
  for (const enum_name<Value>& n : names) all += fmt::format("{}{}", all.empty() ? "" : ", ", n.text);
  return all;
}

/// The value of a text. @throws error(bad_argument): 'f32' is not an index type: u32, u64, i32, i64
template <class Value, std::size_t Count>
Value value_of(std::string_view text, const enum_name<Value> (&names)[Count], std::string_view what) {
  for (const enum_name<Value>& n : names) {
    if (n.text == text) return n.value;
  }
  refuse("'{}' is not {}: {}", core::printable(text), what, list_of(names));
}

/// A whole number in decimal notation, and nothing else.
template <class Number = std::uint64_t>
std::optional<Number> parse_number(std::string_view text) {
  Number number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

inline constexpr enum_name<index_type> index_types[] = {
    {"u32", index_type::u32}, {"u64", index_type::u64}, {"i32", index_type::i32}, {"i64", index_type::i64}};
/// Those that all calls with numbers take, and all.
inline constexpr enum_name<value_type> number_types[] = {{"i32", value_type::i32}, {"u32", value_type::u32},
                                                         {"i64", value_type::i64}, {"u64", value_type::u64},
                                                         {"f32", value_type::f32}, {"f64", value_type::f64}};
inline constexpr enum_name<value_type> value_types[] = {
    {"i32", value_type::i32}, {"u32", value_type::u32}, {"i64", value_type::i64}, {"u64", value_type::u64},
    {"f32", value_type::f32}, {"f64", value_type::f64}, {"i8", value_type::i8},   {"u8", value_type::u8},
    {"i16", value_type::i16}, {"u16", value_type::u16}, {"f16", value_type::f16}, {"bf16", value_type::bf16}};
inline constexpr enum_name<value_type> float_types[] = {{"f32", value_type::f32}, {"f64", value_type::f64}};
inline constexpr enum_name<reduction> reductions[] = {
    {"add", reduction::add},           {"min", reduction::min},           {"max", reduction::max},
    {"subtract", reduction::subtract}, {"multiply", reduction::multiply}, {"mean", reduction::mean},
    {"count", reduction::count}};
inline constexpr enum_name<reduction_start> reduction_starts[] = {{"out", reduction_start::out},
                                                                  {"identity", reduction_start::identity}};
inline constexpr enum_name<reduction_order> reduction_orders[] = {{"deterministic", reduction_order::deterministic},
                                                                  {"unordered", reduction_order::unordered}};
inline constexpr enum_name<scan_operator> scan_operators[] = {
    {"add", scan_operator::add},    {"min", scan_operator::min},     {"max", scan_operator::max},
    {"mul", scan_operator::mul},    {"and", scan_operator::bit_and}, {"or", scan_operator::bit_or},
    {"xor", scan_operator::bit_xor}};
inline constexpr enum_name<edge_function> edge_functions[] = {
    {"weighted_difference", edge_function::weighted_difference}, {"inverse_square", edge_function::inverse_square}};
inline constexpr enum_name<list_count> list_counts[] = {{"one", list_count::one}, {"many", list_count::many}};
inline constexpr enum_name<duplicates> duplicates_names[] = {{"any", duplicates::any}, {"last", duplicates::last}};
inline constexpr enum_name<bounds> bounds_names[] = {{"check", bounds::check}, {"trust", bounds::trust}};

std::string_view name(index_type type) noexcept;
std::string_view name(value_type type) noexcept;
std::string_view name(reduction op) noexcept;
/// "unknown", "clustered:4096"
std::string name(const access_pattern& pattern);
/// "64 GiB"
std::string bytes_text(std::uint64_t bytes);
/// "u32", "i64", "f32", "bytes10"
std::string key_name(key_type type, std::uint64_t key_bytes);

/// These read what name() and key_name() write. @throws error(bad_argument)
index_type parse_index_type(std::string_view text);
value_type parse_value_type(std::string_view text);  ///< one of number_types
value_type parse_row_type(std::string_view text);    ///< any
reduction_order parse_reduction_order(std::string_view text);
access_pattern parse_access_pattern(std::string_view text);

struct key_kind {
  key_type type = key_type::unsigned_integer;
  std::uint64_t bytes = 0;
};
/// Reads "u32", "i64", "f32", "bytes10"; numbers have a whole number of bytes. Nothing for other texts.
std::optional<key_kind> parse_key_name(std::string_view text);

}  // namespace sheaf::primitives
