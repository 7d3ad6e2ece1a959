#include "lab/description/sweep.hpp"

#include <set>

#include <fmt/ranges.h>

#include "lab/description/job.hpp"
#include "primitives/enum_names.hpp"

namespace sheaf::primitives {
namespace {

constexpr std::uint64_t most_log2_size = 40;
constexpr std::uint64_t most_width = 65536;

std::vector<std::uint64_t> numbers_between(std::string_view text, char separator) {
  std::vector<std::uint64_t> numbers;
  while (true) {
    const std::string_view word = text.substr(0, text.find(separator));
    const std::optional<std::uint64_t> number = parse_number(word);
    if (!number) refuse("'{}' is not a whole number", word);
    numbers.push_back(*number);
    if (word.size() == text.size()) return numbers;
    text.remove_prefix(word.size() + 1);
  }
}

std::vector<std::uint64_t> powers_of_two(std::uint64_t first, std::uint64_t last, std::uint64_t step) {
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t log2 = first; log2 <= last; log2 += step) sizes.push_back(std::uint64_t{1} << log2);
  return sizes;
}

constexpr list_option common_lists[] = {
    {"--patterns", "of index lists: permutation, identity, clustered:4096, ...",
     [](sweep& s, option_texts texts) { s.patterns = parsed_list(texts, parse_pattern); }},
    {"--widths", "bytes of a record",
     [](sweep& s, option_texts texts) { s.record_bytes = numbers_in("--widths", texts, 1, most_width); }},
    {"--index-types", "u32, u64, i32, i64",
     [](sweep& s, option_texts texts) { s.indices = parsed_list(texts, parse_index_type); }},
    {"--keys",
     "of splits and sorts: uniform, equal, two, sorted, reverse, zipf, few, nested, narrowed, distinct100, "
     "distinct10007, normal, lognormal, exponential, pareto, timestamps, unit, sphere, cities, geohash, quadtree, "
     "octree, urls, versions, counters",
     [](sweep& s, option_texts texts) { s.keys = parsed_list(texts, parse_key_distribution); }},
};

// Options of sets that sheaf-bench reads in its own way.
constexpr list_option lists_of_sets[] = {
    {"--primitives", "",
     [](sweep& s, option_texts texts) {
       s.entries = parsed_list(texts, [](std::string_view name) { return &entry_named(name); });
     }},
    {"--sizes", "", [](sweep& s, option_texts texts) { s.counts = numbers_in("--sizes", texts, 1); }},
    {"--log2-sizes", "",
     [](sweep& s, option_texts texts) { s.counts = parse_log2_sizes(fmt::format("{}", fmt::join(texts, ","))); }},
};

// What no calibration measures: odd sizes and widths, and other orders and distributions. With --variants it says how
// well plans choose on a machine.
constexpr std::string_view planner =
    "--patterns identity,uniform,permutation,zipf,strided:48,partitioned:1000,clustered:300 --widths 4,12,48 "
    "--sizes 3000,50000,700000,9000000 --keys uniform,zipf --bits 5,13 --values f32,u64 --slots 30000,5000000 "
    "--orders deterministic,unordered --sorts u32,i64,u64+12,f32+4,bytes10/100,u64/index "
    "--list-layouts i32,u64+f32,i32+u32+packed,u32+f64 "
    "--edge-layouts r20/i32+f32,r24/u32+f64+inverse_square+weights,r8/u64+f64+pairs "
    "--matrices banded:x11,grid:x27,uniform:x3,uniform:c70000:x40,zipf:xzipf "
    "--matrix-layouts r4/i32+f32,r8/u32+u64+f64,r4/u32+f32+transposed --tables 30000,5000000 --hits 50";

// The rows that users try first, of every family that has them, and quickly: a whole set takes minutes on a GPU.
constexpr std::string_view everyday =
    "--primitives scatter,split,split_scatter_index,scatter_reduce,sort_keys,sort_pairs,sort_gather_index "
    "--patterns identity,uniform,zipf --widths 4,8 --sizes 1024,16384,300000,1048576,16777216,100000000 "
    "--duplicates any,last --keys uniform,unit,normal,lognormal,pareto,exponential,timestamps,sorted,reverse,"
    "distinct100,distinct10007,nested,narrowed,equal --key-types own,k32 --bits 8,11,16 --values f32,f64,u32 "
    "--slots 1000,16777216 --orders deterministic,unordered --sorts u32,u32+4,u32+8,u32/index,i32,i32+4,i32+8,"
    "i32/index,u64,u64+4,u64+8,u64/index,i64,i64+4,i64+8,i64/index,f32,f32+4,f32+8,f32/index,f64,f64+4,f64+8,f64/index";

constexpr named_sweep sets_of_all_families[] = {{"planner", planner},
                                                {"everyday", everyday, [](sweep& s) { s.is_brief = true; }}};

// Calls body with each word of a text.
template <class Body>
void for_each_word(std::string_view text, char separator, Body body) {
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(separator));
    body(word);
    text.remove_prefix(std::min(text.size(), word.size() + 1));
  }
}

// Options and their texts in turn.
void read_options(sweep& sweep, std::string_view options) {
  std::vector<list_option> known = list_options();
  known.insert(known.end(), std::begin(lists_of_sets), std::end(lists_of_sets));
  auto option = known.end();
  for_each_word(options, ' ', [&](std::string_view word) {
    if (option == known.end()) {
      option = std::ranges::find(known, word, &list_option::name);
      if (option == known.end()) refuse("no list has the option '{}'", word);
      return;
    }
    std::vector<std::string> texts;
    for_each_word(word, ',', [&](std::string_view text) { texts.emplace_back(text); });
    option->read(sweep, texts);
    option = known.end();
  });
}

sweep made(const named_sweep& set, std::span<const entry* const> entries) {
  sweep s;
  s.entries.assign(entries.begin(), entries.end());
  read_options(s, set.options);
  if (set.finish != nullptr) set.finish(s);
  return s;
}

}  // namespace

std::vector<std::uint64_t> sweep::counts_of(std::uint64_t width) const {
  return table_bytes != 0 ? std::vector{table_bytes / width} : counts;
}

std::vector<list_option> list_options() {
  std::vector<list_option> all(std::begin(common_lists), std::end(common_lists));
  for (const family* const f : all_families()) all.insert(all.end(), f->lists.begin(), f->lists.end());
  return all;
}

std::string sweep_names() {
  std::string all;
  for (const family* const f : all_families()) {
    for (const named_sweep& set : f->sets) all += fmt::format("{}, ", set.name);
  }
  for (const named_sweep& set : sets_of_all_families) all += fmt::format("{}, ", set.name);
  all.resize(all.size() - 2);
  return all;
}

sweep sweep_named(std::string_view set) {
  for (const named_sweep& known : sets_of_all_families) {
    if (set == known.name) return made(known, entries());
  }
  for (const family* const f : all_families()) {
    for (const named_sweep& known : f->sets) {
      if (set == known.name) return made(known, f->entries);
    }
  }
  refuse("no set is named '{}'; there are {}", set, sweep_names());
}

bool may_take(const sweep& s, const list_option& option) {
  for (const family* const f : all_families()) {
    if (std::ranges::find(f->lists, option.name, &list_option::name) == f->lists.end()) continue;
    return std::ranges::any_of(s.entries, [&](const entry* e) { return e->family == f->name; });
  }
  return true;
}

std::vector<problem_spec> problems_of(const sweep& sweep) {
  std::vector<problem_spec> problems;
  for (const family* const family : all_families()) {
    std::vector<const entry*> entries;
    for (const entry* const e : sweep.entries) {
      if (e->family == family->name) entries.push_back(e);
    }
    if (!entries.empty()) family->add(sweep, entries, problems);
  }
  // An entry ignores the lists that do not apply to it, which leaves problems of the same name.
  std::set<std::string> names;
  std::erase_if(problems, [&](const problem_spec& p) { return !names.insert(name(p)).second; });
  return problems;
}

void add_if_checked(problem_spec p, std::vector<problem_spec>& problems) {
  if (jobs::job_of(p).unchecked(p).empty()) problems.push_back(std::move(p));
}

std::vector<std::uint64_t> numbers_in(std::string_view option, option_texts texts, std::uint64_t least,
                                      std::uint64_t most) {
  std::vector<std::uint64_t> numbers;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    numbers.push_back(number_of(option, texts.subspan(i, 1), least, most));
  }
  return numbers;
}

std::vector<std::uint64_t> parse_log2_sizes(const std::string& text) {
  const bool is_range = text.find(':') != std::string::npos;
  std::vector<std::uint64_t> numbers = numbers_between(text, is_range ? ':' : ',');
  for (const std::uint64_t log2 : numbers) {
    if (log2 > most_log2_size) refuse("2^{} records are too many", log2);
  }
  if (!is_range) {
    for (std::uint64_t& number : numbers) number = std::uint64_t{1} << number;
    return numbers;
  }
  if (numbers.size() > 3 || numbers[0] > numbers[1] || (numbers.size() == 3 && numbers[2] == 0)) {
    refuse("'{}' is not FIRST:LAST or FIRST:LAST:STEP", text);
  }
  return powers_of_two(numbers[0], numbers[1], numbers.size() == 3 ? numbers[2] : 1);
}

}  // namespace sheaf::primitives
