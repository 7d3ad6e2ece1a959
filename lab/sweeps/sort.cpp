#include <algorithm>

#include "lab/description/keys.hpp"
#include "lab/sweeps/sweep.hpp"

// Sorts: what is sorted, by which bits of which keys.
namespace sheaf::bench {
namespace {

using primitives::entry;
using primitives::key_distribution;

constexpr std::string_view family = "sort";

sweep all_sorts() {
  sweep s{primitives::entries_of(family), {}, {4}, {index_type::u32}, powers_of_two(16, 28, 4)};
  s.keys = {key_distribution::uniform, key_distribution::zipf, key_distribution::nested};
  s.bit_ranges = {{}, {8, 8}};
  return s;
}

// Whole words alone are sorted by some of their bits; peers have nothing for others.
bool takes_ranges(const problem& p) {
  const bool is_word =
      p.part<primitives::key_part>().number == key_type::unsigned_integer && (p.key_bytes == 4 || p.key_bytes == 8);
  return is_word && (p.primitive == "sort_keys" || p.primitive == "sort_pairs");
}

void add_ranges(const sweep& s, problem p, std::vector<problem>& problems) {
  auto& key = p.part<primitives::key_part>();
  for (const bit_range range : s.bit_ranges) {
    const auto all_bits = static_cast<std::uint32_t>(8 * p.key_bytes);
    if (range.count != 0 && (!takes_ranges(p) || range.first + range.count > all_bits)) continue;
    key.first_bit = range.first;
    key.bits = range.count == 0 ? all_bits : range.count;
    for (const key_distribution keys : s.keys) {
      if (keys == key_distribution::unit && key.number != key_type::floating) continue;
      key.keys = keys;
      problems.push_back(p);
    }
  }
}

void add(const sweep& s, std::span<const entry* const> entries, std::vector<problem>& problems) {
  for (const std::uint64_t count : s.counts) {
    for (const sort_layout& layout : s.sorts) {
      const auto e = std::find_if(entries.begin(), entries.end(),
                                  [&](const entry* known) { return known->name == layout.primitive; });
      if (e == entries.end()) continue;
      for (const index_type index : s.indices) {
        if (!(*e)->writes_index && index != s.indices.front()) continue;
        const problem p{.primitive = (*e)->name,
                        .record_bytes = (*e)->writes_index ? bytes(index) : layout.record_bytes,
                        .index = index,
                        .count = count,
                        .key_bytes = layout.key_bytes};
        add_ranges(s, p.with(primitives::key_part{.number = layout.number}), problems);
      }
    }
  }
}

constexpr named_sweep sets[] = {{"sort", all_sorts}};

constexpr list_option lists[] = {
    {"--sorts",
     "what is sorted: u32 (keys), u64+16 (keys with values of 16 bytes), bytes10/100 (records of 100 bytes by their "
     "first 10), u64/index, ...; keys are u8 to u128, i8 to i64, f32, f64, bytes1 to bytes16",
     [](sweep& s, std::span<const std::string> texts) { s.sorts = parsed_list(texts, parse_sort_layout); }},
    {"--bit-ranges", "of sorts by u32 and u64: all, 8:16 (bits 8 to 15), ...",
     [](sweep& s, std::span<const std::string> texts) { s.bit_ranges = parsed_list(texts, parse_bit_range); }},
};

}  // namespace

extern const family_sweeps sort_sweeps{family, sets, lists, add};

}  // namespace sheaf::bench
