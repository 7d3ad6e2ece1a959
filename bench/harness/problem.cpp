#include "bench/harness/problem.hpp"

#include <array>

#include <fmt/format.h>
#include <sheaf/error.hpp>

namespace sheaf::bench {
namespace {

constexpr std::array<std::string_view, 11> primitive_names{
    "gather",         "scatter",   "split",      "split_unstable", "split_gather_index", "split_scatter_index",
    "scatter_reduce", "sort_keys", "sort_pairs", "sort_records",   "sort_gather_index",
};

constexpr std::array<value_type, 6> value_types{value_type::i32, value_type::u32, value_type::i64,
                                                value_type::u64, value_type::f32, value_type::f64};

[[noreturn]] void refuse(std::string_view text, std::string_view what, std::string_view known) {
  throw error(error_code::bad_argument, fmt::format("'{}' is not {}; there are {}", text, what, known));
}

}  // namespace

std::vector<primitive> all_primitives() {
  std::vector<primitive> all;
  for (std::size_t i = 0; i < primitive_names.size(); ++i) all.push_back(static_cast<primitive>(i));
  return all;
}

std::string_view name(primitive p) noexcept { return primitive_names[static_cast<std::size_t>(p)]; }

std::string_view name(index_type type) noexcept {
  switch (type) {
    case index_type::u32: return "u32";
    case index_type::u64: return "u64";
    case index_type::i32: return "i32";
    case index_type::i64: return "i64";
  }
  return "";
}

std::string_view name(value_type type) noexcept {
  constexpr std::array<std::string_view, 6> names{"i32", "u32", "i64", "u64", "f32", "f64"};
  return names[static_cast<std::size_t>(type)];
}

std::uint64_t problem::bytes() const noexcept {
  if (moves_by_index(primitive)) return count * (2 * record_bytes + sheaf::bytes(index));
  if (primitive == primitive::scatter_reduce)
    return count * (record_bytes + sheaf::bytes(index)) + slots * record_bytes;
  return moved_bytes();
}

std::uint64_t problem::moved_bytes() const noexcept {
  const std::uint64_t of_records = (writes_index(primitive) ? 1 : 2) * record_bytes;
  if (primitive == primitive::sort_pairs) return count * (of_records + 2 * key_bytes);
  const bool reads_keys = splits(primitive) || primitive == primitive::sort_gather_index;
  return count * (of_records + (reads_keys ? key_bytes : 0));
}

std::string pattern_name(const problem& p) {
  if (splits(p.primitive)) return fmt::format("{}:b{}", name(p.keys), p.bits);
  if (sorts(p.primitive)) {
    if (p.bits == 8 * p.key_bytes) return std::string(name(p.keys));
    return fmt::format("{}:b{}-{}", name(p.keys), p.first_bit, p.first_bit + p.bits - 1);
  }
  if (p.primitive == primitive::scatter_reduce) return fmt::format("{}:s{}", inputs::name(p.pattern), p.slots);
  return inputs::name(p.pattern);
}

std::string type_name(const problem& p) {
  if (splits(p.primitive)) return p.key_bytes == 0 ? "own" : fmt::format("k{}", 8 * p.key_bytes);
  if (sorts(p.primitive)) return key_name(p.number, p.key_bytes);
  if (p.primitive != primitive::scatter_reduce) return std::string(name(p.index));
  return fmt::format("{}+{}{}", name(p.index), name(p.value),
                     p.order == reduction_order::unordered ? "+unordered" : "");
}

std::string key_name(key_type type, std::uint64_t key_bytes) {
  switch (type) {
    case key_type::unsigned_integer: return fmt::format("u{}", 8 * key_bytes);
    case key_type::signed_integer: return fmt::format("i{}", 8 * key_bytes);
    case key_type::floating: return fmt::format("f{}", 8 * key_bytes);
    case key_type::bytes: return fmt::format("bytes{}", key_bytes);
  }
  return "";
}

std::string name(const problem& p) {
  return fmt::format("{}/{}/r{}/{}/n={}", name(p.primitive), pattern_name(p), p.record_bytes, type_name(p), p.count);
}

index_type parse_index_type(std::string_view text) {
  for (const index_type type : {index_type::u32, index_type::u64, index_type::i32, index_type::i64}) {
    if (text == name(type)) return type;
  }
  refuse(text, "an index type", "u32, u64, i32, i64");
}

primitive parse_primitive(std::string_view text) {
  std::string known;
  for (const primitive p : all_primitives()) {
    if (text == name(p)) return p;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", name(p));
  }
  refuse(text, "a primitive", known);
}

value_type parse_value_type(std::string_view text) {
  for (const value_type type : value_types) {
    if (text == name(type)) return type;
  }
  refuse(text, "a value type", "i32, u32, i64, u64, f32, f64");
}

reduction_order parse_reduction_order(std::string_view text) {
  if (text == "deterministic") return reduction_order::deterministic;
  if (text == "unordered") return reduction_order::unordered;
  refuse(text, "an order", "deterministic, unordered");
}

std::uint64_t parse_key_type(std::string_view text) {
  if (text == "own") return 0;
  for (const std::uint64_t key_bytes : {4, 8}) {
    if (text == fmt::format("k{}", 8 * key_bytes)) return key_bytes;
  }
  refuse(text, "a kind of key", "own, k32, k64");
}

}  // namespace sheaf::bench
