#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "primitives/movement.hpp"
#include "primitives/scatter_reduce.hpp"
#include "primitives/sort.hpp"
#include "primitives/split.hpp"
#include "primitives/views.hpp"

// Problems by the names that sheaf-bench gives them: primitive/pattern/rWIDTH/types/n=COUNT. Each function throws
// std::invalid_argument or std::out_of_range for a name that it does not understand.
namespace sheaf::tests {

inline std::vector<std::string> split_text(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back().push_back(c);
    }
  }
  return parts;
}

/// The fields that the names of all primitives have.
struct problem_name {
  std::string primitive;
  std::string pattern;
  std::uint64_t record_bytes = 0;
  std::string types;
  std::uint64_t count = 0;

  explicit problem_name(const std::string& text) {
    const std::vector<std::string> parts = split_text(text, '/');
    if (parts.size() != 5 || !parts[2].starts_with("r") || !parts[4].starts_with("n=")) {
      throw std::invalid_argument("no name of a problem: " + text);
    }
    primitive = parts[0];
    pattern = parts[1];
    record_bytes = std::stoull(parts[2].substr(1));
    types = parts[3];
    count = std::stoull(parts[4].substr(2));
  }
};

/// "split/uniform:b8/r8/own/n=65536", "split_gather_index/zipf:b11/r4/k32/n=65536"
inline primitives::split_problem split_named(const problem_name& name, backend_kind backend) {
  using product = primitives::split_product;
  primitives::split_problem p;
  p.backend = backend;
  p.stable = name.primitive != "split_unstable";
  if (name.primitive == "split_gather_index") p.product = product::gather_index;
  if (name.primitive == "split_scatter_index") p.product = product::scatter_index;
  p.bits = {0, static_cast<std::uint32_t>(std::stoul(name.pattern.substr(name.pattern.find(":b") + 2)))};
  p.categories = std::uint64_t{1} << p.bits.count;
  p.record_bytes = p.in_stride_bytes = p.out_stride_bytes = name.record_bytes;
  p.word_bytes = primitives::widest_word(p.record_bytes);
  const bool own = name.types == "own";
  p.key_from = own ? split_key::kind::record_bits : split_key::kind::key_bits;
  p.key_bytes = p.key_stride_bytes = own ? p.record_bytes : std::stoull(name.types.substr(1)) / 8;
  p.key_word_bytes = primitives::widest_word(p.key_bytes);
  p.count = name.count;
  return p;
}

/// The movement of "gather/partitioned:256/r8/u32/n=65536". Its access pattern stays unknown.
inline primitives::movement movement_named(const problem_name& name, backend_kind backend) {
  primitives::movement m;
  m.backend = backend;
  m.record_bytes = m.sequential_stride_bytes = m.indexed_stride_bytes = name.record_bytes;
  m.word_bytes = primitives::widest_word(m.record_bytes);
  m.index = name.types.starts_with("u64") ? index_type::u64 : index_type::u32;
  m.count = m.indexed_count = name.count;
  return m;
}

/// "scatter_reduce/uniform:s1024/r4/u32+f32/n=65536", "scatter_reduce/zipf:s1024/r4/u32+f32+unordered/n=65536"
inline primitives::scatter_reduce_problem reduction_named(const problem_name& name, backend_kind backend) {
  primitives::scatter_reduce_problem p{movement_named(name, backend)};
  p.indexed_count = std::stoull(name.pattern.substr(name.pattern.find(":s") + 2));
  const std::vector<std::string> types = split_text(name.types, '+');
  for (const auto& [text, type] : {std::pair{"u32", value_type::u32},
                                   {"f32", value_type::f32},
                                   {"u64", value_type::u64},
                                   {"f64", value_type::f64}}) {
    if (types.at(1) == text) p.type = type;
  }
  p.order = types.size() > 2 ? reduction_order::unordered : reduction_order::deterministic;
  return p;
}

/// The key of types "u32", "i64", "f32" or "bytes10". With the pattern "uniform:b8-15" it has bits 8 to 15 alone, with
/// "uniform" all bits.
inline key_field key_field_named(const problem_name& name) {
  key_field field;
  field.bytes = 0;
  for (const auto& [text, type, unit_bits] : {std::tuple{"bytes", key_type::bytes, 8U},
                                              {"u", key_type::unsigned_integer, 1U},
                                              {"i", key_type::signed_integer, 1U},
                                              {"f", key_type::floating, 1U}}) {
    if (!name.types.starts_with(text)) continue;
    field.type = type;
    field.bytes = static_cast<std::uint32_t>(std::stoul(name.types.substr(std::string(text).size()))) * unit_bits / 8;
  }
  if (field.bytes == 0) throw std::invalid_argument("no type of a key: " + name.types);
  field.bit_count = 8 * field.bytes;
  const auto range = name.pattern.find(":b");
  if (range == std::string::npos) return field;
  const std::vector<std::string> bits = split_text(name.pattern.substr(range + 2), '-');
  field.first_bit = static_cast<std::uint32_t>(std::stoul(bits.at(0)));
  field.bit_count = static_cast<std::uint32_t>(std::stoul(bits.at(1))) + 1 - field.first_bit;
  return field;
}

/// "sort_keys/few:b8-15/r4/u32/n=65536", "sort_pairs/uniform/r16/u64/n=65536" (values of 16 bytes),
/// "sort_records/uniform/r100/bytes10/n=65536", "sort_gather_index/zipf/r4/u64/n=65536" (an index of 4 bytes)
inline primitives::sort_problem sort_named(const problem_name& name, backend_kind backend) {
  const auto moved = [](std::uint64_t bytes) {
    return primitives::sorted_array{bytes, bytes, bytes, primitives::widest_word(bytes)};
  };
  primitives::sort_problem p;
  p.backend = backend;
  p.count = name.count;
  p.key.fields[p.key.field_count++] = key_field_named(name);
  p.key.bits = primitives::bits_of(p.key.fields[0]);
  if (name.primitive == "sort_keys" || name.primitive == "sort_records") {
    p.rows = moved(name.record_bytes);
    return p;
  }
  p.rows = moved(p.key.fields[0].bytes);
  if (name.primitive == "sort_pairs") {
    p.columns[p.column_count++] = moved(name.record_bytes);
  } else if (name.primitive == "sort_gather_index") {
    p.product = primitives::sort_product::gather_index;
    p.writes_rows = false;
    p.rows.out_stride_bytes = 0;
    p.index = name.record_bytes == 4 ? index_type::u32 : index_type::u64;
  } else {
    throw std::invalid_argument("no sort: " + name.primitive);
  }
  return p;
}

}  // namespace sheaf::tests
