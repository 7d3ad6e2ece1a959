#include "bench/harness/sweep.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <sheaf/error.hpp>

namespace sheaf::bench {
namespace {

constexpr std::uint64_t most_log2_size = 40;

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

std::vector<inputs::pattern> patterns(std::initializer_list<const char*> texts) {
  std::vector<inputs::pattern> all;
  for (const char* text : texts) all.push_back(inputs::parse_pattern(text));
  return all;
}

const std::vector<primitive> movements{primitive::gather, primitive::scatter};

sweep quick() {
  return {movements, patterns({"identity", "permutation"}), {4, 8, 128}, {index_type::u32}, {1 << 12, 1 << 20}};
}

sweep large_records() {
  return {{primitive::gather},   patterns({"permutation"}), {32, 64, 100, 128, 256, 1024}, {index_type::u32}, {},
          std::uint64_t{8} << 30};
}

sweep small_widths() {
  return {movements, inputs::all_patterns(), {1, 2, 4, 8, 16}, {index_type::u32}, powers_of_two(10, 28, 2)};
}

sweep model() {
  std::vector<inputs::pattern> all = inputs::all_patterns();
  for (const inputs::pattern& more : patterns({"partitioned:8", "partitioned:4096", "clustered:1048576"})) {
    all.push_back(more);
  }
  std::vector<std::uint64_t> counts = powers_of_two(16, 28, 2);
  counts.push_back(std::uint64_t{1} << 29);
  return {movements, all, {1, 2, 4, 8, 16, 32, 64, 100, 128, 256, 1024}, {index_type::u32}, counts};
}

sweep on_the_cpu() {
  return {movements,
          patterns({"identity", "permutation", "clustered:4096"}),
          {4, 8, 16, 64},
          {index_type::u32},
          {std::uint64_t{1} << 26}};
}

sweep all_splits() {
  sweep s{{primitive::split, primitive::split_unstable, primitive::split_gather_index, primitive::split_scatter_index},
          {},
          {4, 8},
          {index_type::u32},
          powers_of_two(16, 28, 4)};
  s.keys = {key_distribution::uniform, key_distribution::zipf, key_distribution::equal};
  s.key_bytes = {0, 4};
  s.bits = {1, 8, 11, 16};
  return s;
}

sweep reductions() {
  sweep s{{primitive::scatter_reduce}, patterns({"uniform", "zipf"}), {4}, {index_type::u32}, powers_of_two(20, 28, 4)};
  s.values = {value_type::f32, value_type::u32, value_type::f64, value_type::u64};
  s.slots = {std::uint64_t{1} << 20, std::uint64_t{1} << 28};
  s.orders = {reduction_order::deterministic, reduction_order::unordered};
  return s;
}

sweep all_sorts() {
  sweep s{{primitive::sort_keys, primitive::sort_pairs, primitive::sort_records, primitive::sort_gather_index},
          {},
          {4},
          {index_type::u32},
          powers_of_two(16, 28, 4)};
  s.keys = {key_distribution::uniform, key_distribution::zipf, key_distribution::nested};
  s.bit_ranges = {{}, {8, 8}};
  return s;
}

struct named {
  std::string_view name;
  sweep (*make)();
};

constexpr named sets[] = {{"quick", quick},       {"records", large_records}, {"small-widths", small_widths},
                          {"model", model},       {"cpu", on_the_cpu},        {"split", all_splits},
                          {"reduce", reductions}, {"sort", all_sorts}};

void add_movements(const sweep& s, std::uint64_t record_bytes, std::uint64_t count, std::vector<problem>& problems) {
  for (const index_type index : s.indices) {
    for (const inputs::pattern& pattern : s.patterns) {
      for (const primitive p : s.primitives) {
        if (!moves_by_index(p) || (p == primitive::scatter && !inputs::is_distinct(pattern))) continue;
        problems.push_back({p, pattern, record_bytes, index, count});
      }
    }
  }
}

// Adds a split by every number of bits and every distribution of keys. Keys that do not hold so many bits are left out.
void add_splits(const sweep& s, problem p, std::vector<problem>& problems) {
  for (const std::uint32_t bits : s.bits) {
    for (const key_distribution keys : s.keys) {
      p.bits = bits;
      p.keys = keys;
      const std::uint64_t held_bytes = p.key_bytes == 0 ? p.record_bytes : p.key_bytes;
      if (bits <= 8 * held_bytes) problems.push_back(p);
    }
  }
}

void add_record_splits(const sweep& s, std::uint64_t record_bytes, std::uint64_t count,
                       std::vector<problem>& problems) {
  for (const std::uint64_t key_bytes : s.key_bytes) {
    for (const primitive p : s.primitives) {
      if (!splits(p) || splits_index(p)) continue;
      add_splits(s, {.primitive = p, .record_bytes = record_bytes, .count = count, .key_bytes = key_bytes}, problems);
    }
  }
}

void add_index_splits(const sweep& s, std::uint64_t count, std::vector<problem>& problems) {
  for (const index_type index : s.indices) {
    for (const std::uint64_t key_bytes : s.key_bytes) {
      // An index split reads keys alone. Where a sweep has only keys in the record, it gets keys of 4 bytes in an
      // array.
      if (key_bytes == 0 && s.key_bytes.size() > 1) continue;
      for (const primitive p : s.primitives) {
        if (!splits_index(p)) continue;
        add_splits(s,
                   {.primitive = p,
                    .record_bytes = bytes(index),
                    .index = index,
                    .count = count,
                    .key_bytes = key_bytes == 0 ? 4 : key_bytes},
                   problems);
      }
    }
  }
}

void add_reductions(const sweep& s, std::uint64_t count, std::vector<problem>& problems) {
  if (std::find(s.primitives.begin(), s.primitives.end(), primitive::scatter_reduce) == s.primitives.end()) return;
  for (const value_type value : s.values) {
    const bool order_shows = value == value_type::f32 || value == value_type::f64;
    for (const std::uint64_t slots : s.slots) {
      for (const index_type index : s.indices) {
        for (const inputs::pattern& pattern : s.patterns) {
          for (const reduction_order order : s.orders) {
            if (!order_shows && order != s.orders.front()) continue;
            problems.push_back({.primitive = primitive::scatter_reduce,
                                .pattern = pattern,
                                .record_bytes = bytes(value),
                                .index = index,
                                .count = count,
                                .value = value,
                                .slots = slots,
                                .order = order});
          }
        }
      }
    }
  }
}

void add_ranges(const sweep& s, problem p, std::vector<problem>& problems) {
  const bool is_word = p.number == key_type::unsigned_integer && (p.key_bytes == 4 || p.key_bytes == 8);
  const bool takes_ranges = is_word && (p.primitive == primitive::sort_keys || p.primitive == primitive::sort_pairs);
  for (const bit_range range : s.bit_ranges) {
    const auto all_bits = static_cast<std::uint32_t>(8 * p.key_bytes);
    if (range.count != 0 && (!takes_ranges || range.first + range.count > all_bits)) continue;
    p.first_bit = range.first;
    p.bits = range.count == 0 ? all_bits : range.count;
    for (const key_distribution keys : s.keys) {
      p.keys = keys;
      problems.push_back(p);
    }
  }
}

void add_sorts(const sweep& s, std::uint64_t count, std::vector<problem>& problems) {
  for (const sort_layout& layout : s.sorts) {
    if (std::find(s.primitives.begin(), s.primitives.end(), layout.primitive) == s.primitives.end()) continue;
    for (const index_type index : s.indices) {
      const bool writes_index = layout.primitive == primitive::sort_gather_index;
      if (!writes_index && index != s.indices.front()) continue;
      add_ranges(s,
                 {.primitive = layout.primitive,
                  .record_bytes = writes_index ? bytes(index) : layout.record_bytes,
                  .index = index,
                  .count = count,
                  .key_bytes = layout.key_bytes,
                  .number = layout.number},
                 problems);
    }
  }
}

}  // namespace

std::string sweep_names() {
  std::string all;
  for (const named& set : sets) all += fmt::format("{}{}", all.empty() ? "" : ", ", set.name);
  return all;
}

sweep named_sweep(std::string_view set) {
  for (const named& known : sets) {
    if (set == known.name) return known.make();
  }
  throw error(error_code::bad_argument, fmt::format("no set is named '{}'; there are {}", set, sweep_names()));
}

std::vector<problem> problems_of(const sweep& s) {
  std::vector<problem> problems;
  for (const std::uint64_t record_bytes : s.record_bytes) {
    const std::vector<std::uint64_t> sized{s.table_bytes / record_bytes};
    for (const std::uint64_t count : s.table_bytes != 0 ? sized : s.counts) {
      add_movements(s, record_bytes, count, problems);
      add_record_splits(s, record_bytes, count, problems);
    }
  }
  for (const std::uint64_t count : s.counts) {
    add_index_splits(s, count, problems);
    add_reductions(s, count, problems);
    add_sorts(s, count, problems);
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

}  // namespace sheaf::bench
