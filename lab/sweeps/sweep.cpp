#include "lab/sweeps/sweep.hpp"

#include <algorithm>
#include <set>
#include <string>

#include <fmt/format.h>
#include <sheaf/error.hpp>

#include "primitives/words.hpp"

namespace sheaf::bench {
namespace {

constexpr std::uint64_t most_log2_size = 40;
constexpr std::uint64_t most_width = 65536;

std::vector<std::uint64_t> numbers_between(std::string_view text, char separator) {
  std::vector<std::uint64_t> numbers;
  while (true) {
    const std::string_view word = text.substr(0, text.find(separator));
    const std::optional<std::uint64_t> number = primitives::parse_number(word);
    if (!number) throw error(error_code::bad_argument, fmt::format("'{}' is not a whole number", word));
    numbers.push_back(*number);
    if (word.size() == text.size()) return numbers;
    text.remove_prefix(word.size() + 1);
  }
}

constexpr list_option lists[] = {
    {"--patterns", "of index lists: permutation, identity, clustered:4096, ...",
     [](sweep& s, std::span<const std::string> texts) { s.patterns = parsed_list(texts, primitives::parse_pattern); }},
    {"--widths", "bytes of a record",
     [](sweep& s, std::span<const std::string> texts) {
       s.record_bytes = numbers_in("--widths", texts, 1, most_width);
     }},
    {"--index-types", "u32, u64, i32, i64",
     [](sweep& s, std::span<const std::string> texts) {
       s.indices = parsed_list(texts, primitives::parse_index_type);
     }},
    {"--keys",
     "of splits and sorts: uniform, equal, two, sorted, reverse, zipf, few, nested, narrowed, distinct100, "
     "distinct10007, normal, lognormal, exponential, pareto, timestamps, unit",
     [](sweep& s, std::span<const std::string> texts) {
       s.keys = parsed_list(texts, primitives::parse_key_distribution);
     }},
};

// What no calibration measures: odd sizes and widths, and other orders and distributions. With --variants it says how
// well plans choose on a machine.
sweep planner() {
  const auto all = primitives::entries();
  sweep s{{all.begin(), all.end()},
          patterns({"identity", "uniform", "permutation", "zipf", "strided:48", "partitioned:1000", "clustered:300"}),
          {4, 12, 48},
          {index_type::u32},
          {3000, 50000, 700000, 9000000}};
  s.keys = {primitives::key_distribution::uniform, primitives::key_distribution::zipf};
  s.bits = {5, 13};
  s.values = {value_type::f32, value_type::u64};
  s.slots = {30000, 5000000};
  s.orders = {reduction_order::deterministic, reduction_order::unordered};
  s.sorts.clear();
  for (const char* layout : {"u32", "i64", "u64+12", "f32+4", "bytes10/100", "u64/index"}) {
    s.sorts.push_back(parse_sort_layout(layout));
  }
  s.list_layouts = {"i32", "u64+f32", "i32+u32+packed", "u32+f64"};
  s.edge_layouts = {"r20/i32+f32", "r24/u32+f64+inverse_square+weights", "r8/u64+f64+pairs"};
  s.matrices = {"banded:x11", "grid:x27", "uniform:x3", "uniform:c70000:x40", "zipf:xzipf"};
  s.matrix_layouts = {"r4/i32+f32", "r8/u32+u64+f64", "r4/u32+f32+transposed"};
  s.tables = {30000, 5000000};
  s.hits = {50};
  return s;
}

constexpr named_sweep sets_of_all_families[] = {{"planner", planner}, {"everyday", everyday}};

}  // namespace

std::vector<std::uint64_t> sweep::counts_of(std::uint64_t width) const {
  return table_bytes != 0 ? std::vector{table_bytes / width} : counts;
}

std::span<const list_option> common_lists() { return lists; }

std::string sweep_names() {
  std::string all;
  for (const family_sweeps* const family : sweeps_of_families()) {
    for (const named_sweep& set : family->sets) all += fmt::format("{}{}", all.empty() ? "" : ", ", set.name);
  }
  for (const named_sweep& set : sets_of_all_families) all += fmt::format(", {}", set.name);
  return all;
}

sweep sweep_named(std::string_view set) {
  for (const named_sweep& known : sets_of_all_families) {
    if (set == known.name) return known.make();
  }
  for (const family_sweeps* const family : sweeps_of_families()) {
    for (const named_sweep& known : family->sets) {
      if (set == known.name) return known.make();
    }
  }
  throw error(error_code::bad_argument, fmt::format("no set is named '{}'; there are {}", set, sweep_names()));
}

std::vector<problem> problems_of(const sweep& s) {
  std::vector<problem> problems;
  for (const family_sweeps* const family : sweeps_of_families()) {
    std::vector<const primitives::entry*> entries;
    for (const primitives::entry* const e : s.entries) {
      if (e->family == family->family) entries.push_back(e);
    }
    if (!entries.empty()) family->add(s, entries, problems);
  }
  // An entry ignores the lists that do not apply to it, which leaves problems of the same name.
  std::set<std::string> names;
  std::erase_if(problems, [&](const problem& p) { return !names.insert(primitives::name(p)).second; });
  return problems;
}

std::vector<std::uint64_t> powers_of_two(std::uint64_t first, std::uint64_t last, std::uint64_t step) {
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t log2 = first; log2 <= last; log2 += step) sizes.push_back(std::uint64_t{1} << log2);
  return sizes;
}

std::vector<primitives::input_pattern> patterns(std::initializer_list<const char*> texts) {
  std::vector<primitives::input_pattern> all;
  for (const char* text : texts) all.push_back(primitives::parse_pattern(text));
  return all;
}

std::vector<std::uint64_t> numbers_in(std::string_view option, std::span<const std::string> texts, std::uint64_t least,
                                      std::uint64_t most) {
  std::vector<std::uint64_t> numbers;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    numbers.push_back(primitives::number_of(option, texts.subspan(i, 1), least, most));
  }
  return numbers;
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
