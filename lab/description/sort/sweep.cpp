#include "lab/description/sweep.hpp"

#include "lab/description/sort/problem.hpp"
#include "primitives/enum_names.hpp"

// Rows of sorts: what is sorted, by which bits of which keys.
namespace sheaf::primitives {
namespace {

constexpr std::uint64_t most_key_bytes = 16;

/// What is sorted: the primitive, the type of the key, and the payload.
struct sort_layout {
  std::string_view primitive = "sort_keys";  ///< name of an entry
  key_type number = key_type::unsigned_integer;
  std::uint64_t key_bytes = 4;
  std::uint64_t record_bytes = 4;  ///< bytes of a key, value or record; 0 for a gather index
};

/// The bits of the key that decide; a count of 0 means all.
struct bit_range {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

[[noreturn]] void refuse_layout(std::string_view text) {
  refuse("'{}' is not a sort; there are u32, u64+16, bytes10/100, u64/index and the like", text);
}

void read_key(std::string_view text, std::string_view key, sort_layout& layout) {
  const std::optional<key_kind> kind = parse_key_name(key);
  if (!kind || kind->bytes > most_key_bytes) refuse_layout(text);
  const bool is_known = kind->type == key_type::floating         ? kind->bytes == 4 || kind->bytes == 8
                        : kind->type == key_type::signed_integer ? kind->bytes <= 8
                                                                 : true;
  if (!is_known) refuse_layout(text);
  layout.number = kind->type;
  layout.key_bytes = kind->bytes;
}

/// "u32" (keys), "u64+16" (with values of 16 bytes in an array of their own), "bytes10/100" (records of 100 bytes by
/// their first 10), "u64/index". Keys are u8 to u128, i8 to i64, f32, f64, bytes1 to bytes16.
sort_layout parse_sort_layout(std::string_view text) {
  const std::size_t key_end = text.find_first_of("+/");
  sort_layout layout;
  read_key(text, text.substr(0, key_end), layout);
  layout.record_bytes = layout.key_bytes;
  if (key_end == std::string_view::npos) return layout;
  const std::string_view after_key = text.substr(key_end + 1);
  if (text[key_end] == '/' && after_key == "index") {
    layout.primitive = "sort_gather_index";
    layout.record_bytes = 0;
    return layout;
  }
  layout.primitive = text[key_end] == '+' ? "sort_pairs" : "sort_records";
  layout.record_bytes = parse_number(after_key).value_or(0);
  const bool holds_key = layout.primitive == "sort_pairs" || layout.record_bytes > layout.key_bytes;
  if (layout.record_bytes == 0 || layout.record_bytes > most_record_bytes || !holds_key) refuse_layout(text);
  return layout;
}

/// "all", or "8:16" for bits 8 to 15.
bit_range parse_bit_range(std::string_view text) {
  if (text == "all") return {};
  const std::size_t colon = text.find(':');
  if (colon != std::string_view::npos) {
    const auto first = parse_number(text.substr(0, colon));
    const auto end = parse_number(text.substr(colon + 1));
    if (first && end && *first < *end && *end <= 64) {
      return {static_cast<std::uint32_t>(*first), static_cast<std::uint32_t>(*end - *first)};
    }
  }
  refuse("'{}' is not a range of bits; there are all, 8:16, ...", text);
}

std::vector<sort_layout> usual_layouts() {
  std::vector<sort_layout> layouts;
  for (const char* text : {"u32", "u64", "u96", "u128", "i32", "f32", "f64", "u32+4", "u64+4", "u64+8", "u64+16",
                           "u64/16", "u64/32", "bytes10/100", "u64/128", "u32/index", "u64/index"}) {
    layouts.push_back(parse_sort_layout(text));
  }
  return layouts;
}

struct sort_lists {
  std::vector<sort_layout> layouts = usual_layouts();
  std::vector<bit_range> bit_ranges{{}};
};

// Whole words alone are sorted by some of their bits; peers have nothing for others.
bool takes_ranges(const problem_spec& p) {
  const bool is_word =
      p.part<key_part>().number == key_type::unsigned_integer && (p.key_bytes == 4 || p.key_bytes == 8);
  return is_word && (p.primitive == "sort_keys" || p.primitive == "sort_pairs");
}

void add_ranges(const sweep& sweep, problem_spec problem, std::vector<problem_spec>& problems) {
  key_part& key = problem.part<key_part>();
  for (const bit_range range : sweep.lists.of<sort_lists>().bit_ranges) {
    const auto all_bits = static_cast<std::uint32_t>(8 * problem.key_bytes);
    if (range.count != 0 && (!takes_ranges(problem) || range.first + range.count > all_bits)) continue;
    key.first_bit = range.first;
    key.bits = range.count == 0 ? all_bits : range.count;
    for (const key_distribution keys : sweep.keys) {
      if (keys == key_distribution::unit && key.number != key_type::floating) continue;
      key.keys = keys;
      problems.push_back(problem);
    }
  }
}

void add(const sweep& sweep, std::span<const entry* const> entries, std::vector<problem_spec>& problems) {
  for (const std::uint64_t count : sweep.counts) {
    for (const sort_layout& layout : sweep.lists.of<sort_lists>().layouts) {
      const auto found = std::ranges::find(entries, layout.primitive, &entry::name);
      if (found == entries.end()) continue;
      const entry& entry = **found;
      for (const index_type index : sweep.indices) {
        if (!entry.writes_index && index != sweep.indices.front()) continue;
        const problem_spec problem{.primitive = entry.name,
                                   .record_bytes = entry.writes_index ? bytes(index) : layout.record_bytes,
                                   .index = index,
                                   .count = count,
                                   .key_bytes = layout.key_bytes};
        add_ranges(sweep, problem.with(key_part{.number = layout.number}), problems);
      }
    }
  }
}

constexpr named_sweep sets[] = {{"sort", "--log2-sizes 16:28:4 --keys uniform,zipf,nested --bit-ranges all,8:16"}};

constexpr list_option lists[] = {
    {"--sorts",
     "what is sorted: u32 (keys), u64+16 (keys with values of 16 bytes), bytes10/100 (records of 100 bytes by their "
     "first 10), u64/index, ...; keys are u8 to u128, i8 to i64, f32, f64, bytes1 to bytes16",
     [](sweep& s, option_texts texts) { s.lists.of<sort_lists>().layouts = parsed_list(texts, parse_sort_layout); }},
    {"--bit-ranges", "of sorts by u32 and u64: all, 8:16 (bits 8 to 15), ...",
     [](sweep& s, option_texts texts) { s.lists.of<sort_lists>().bit_ranges = parsed_list(texts, parse_bit_range); }},
};

constexpr const entry* entries_of_family[] = {&sort_keys_entry, &sort_pairs_entry, &sort_records_entry,
                                              &sort_gather_index_entry};

}  // namespace

extern const family sort_family{"sort", entries_of_family, sets, lists, add};

}  // namespace sheaf::primitives
