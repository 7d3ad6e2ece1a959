#include "problem.hpp"

#include <charconv>

#include <fmt/format.h>
#include <sheaf/error.hpp>

namespace sheaf::bench {
namespace {

std::vector<std::uint64_t> powers_of_two(std::uint64_t first, std::uint64_t last, std::uint64_t step) {
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t log2 = first; log2 <= last; log2 += step) sizes.push_back(std::uint64_t{1} << log2);
  return sizes;
}

std::vector<std::uint64_t> numbers_between(std::string_view text, char separator) {
  std::vector<std::uint64_t> numbers;
  while (true) {
    const std::string_view word = text.substr(0, text.find(separator));
    std::uint64_t number = 0;
    const auto [end, failure] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (failure != std::errc{} || end != word.data() + word.size()) {
      throw error(error_code::bad_argument, fmt::format("'{}' is not a whole number", word));
    }
    numbers.push_back(number);
    if (word.size() == text.size()) return numbers;
    text.remove_prefix(word.size() + 1);
  }
}

constexpr std::uint64_t most_log2_size = 40;

}  // namespace

std::string_view name(primitive p) noexcept { return p == primitive::gather ? "gather" : "scatter"; }

std::string_view name(index_type type) noexcept {
  switch (type) {
    case index_type::u32: return "u32";
    case index_type::u64: return "u64";
    case index_type::i32: return "i32";
    case index_type::i64: return "i64";
  }
  return "";
}

std::string name(const problem& p) {
  return fmt::format("{}/{}/r{}/{}/n={}", name(p.primitive), inputs::name(p.pattern), p.record_bytes, name(p.index),
                     p.count);
}

sweep named_sweep(std::string_view set) {
  const std::vector<primitive> both{primitive::gather, primitive::scatter};
  const std::vector<inputs::pattern> permutation{inputs::parse_pattern("permutation")};
  if (set == "quick") {
    return {
        both, {inputs::parse_pattern("identity"), permutation[0]}, {4, 8, 128}, {index_type::u32}, {1 << 12, 1 << 20},
        0};
  }
  if (set == "records") {
    return {{primitive::gather}, permutation, {32, 64, 100, 128, 256, 1024},
            {index_type::u32},   {},          std::uint64_t{8} << 30};
  }
  if (set == "small-widths") {
    return {both, inputs::all_patterns(), {1, 2, 4, 8, 16}, {index_type::u32}, powers_of_two(10, 28, 2), 0};
  }
  if (set == "model") {
    std::vector<inputs::pattern> patterns = inputs::all_patterns();
    for (const char* more : {"partitioned:8", "partitioned:4096", "clustered:1048576"}) {
      patterns.push_back(inputs::parse_pattern(more));
    }
    std::vector<std::uint64_t> counts = powers_of_two(16, 28, 2);
    counts.push_back(std::uint64_t{1} << 29);
    return {both, patterns, {1, 2, 4, 8, 16, 32, 64, 100, 128, 256, 1024}, {index_type::u32}, counts, 0};
  }
  if (set == "cpu") {
    return {both,
            {inputs::parse_pattern("identity"), permutation[0], inputs::parse_pattern("clustered:4096")},
            {4, 8, 16, 64},
            {index_type::u32},
            {std::uint64_t{1} << 26},
            0};
  }
  throw error(error_code::bad_argument,
              fmt::format("no set is named '{}'; there are quick, records, small-widths, model, cpu", set));
}

std::vector<problem> problems_of(const sweep& s) {
  std::vector<problem> problems;
  for (const std::uint64_t record_bytes : s.record_bytes) {
    const std::vector<std::uint64_t> sized{s.table_bytes / record_bytes};
    for (const std::uint64_t count : s.table_bytes != 0 ? sized : s.counts) {
      for (const index_type index : s.indices) {
        for (const inputs::pattern& pattern : s.patterns) {
          for (const primitive p : s.primitives) {
            if (p == primitive::scatter && !inputs::is_distinct(pattern)) continue;
            problems.push_back({p, pattern, record_bytes, index, count});
          }
        }
      }
    }
  }
  return problems;
}

std::vector<std::uint64_t> parse_log2_sizes(const std::string& text) {
  const bool is_range = text.find(':') != std::string::npos;
  std::vector<std::uint64_t> numbers = numbers_between(text, is_range ? ':' : ',');
  for (const std::uint64_t log2 : numbers) {
    if (log2 > most_log2_size) throw error(error_code::bad_argument, fmt::format("2^{} records are too many", log2));
  }
  if (!is_range) {
    for (std::uint64_t& number : numbers) number = std::uint64_t{1} << number;
    return numbers;
  }
  if (numbers.size() > 3 || numbers[0] > numbers[1] || (numbers.size() == 3 && numbers[2] == 0)) {
    throw error(error_code::bad_argument, fmt::format("'{}' is not FIRST:LAST or FIRST:LAST:STEP", text));
  }
  return powers_of_two(numbers[0], numbers[1], numbers.size() == 3 ? numbers[2] : 1);
}

index_type parse_index_type(std::string_view text) {
  for (const index_type type : {index_type::u32, index_type::u64, index_type::i32, index_type::i64}) {
    if (text == name(type)) return type;
  }
  throw error(error_code::bad_argument, fmt::format("'{}' is not an index type; there are u32, u64, i32, i64", text));
}

primitive parse_primitive(std::string_view text) {
  for (const primitive p : {primitive::gather, primitive::scatter}) {
    if (text == name(p)) return p;
  }
  throw error(error_code::bad_argument, fmt::format("'{}' is not a primitive; there are gather, scatter", text));
}

}  // namespace sheaf::bench
