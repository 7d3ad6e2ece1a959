#include "lab/description/sweep.hpp"

#include "lab/description/split/problem.hpp"
#include "primitives/views.hpp"

// Rows of splits: every number of bits by every distribution of keys.
namespace sheaf::primitives {
namespace {

struct split_lists {
  std::vector<std::uint64_t> key_bytes{0};
  std::vector<std::uint32_t> bits{8};
};

// Keys that do not hold so many bits are left out.
void add_keys(const sweep& s, const problem_spec& problem, std::vector<problem_spec>& problems) {
  const std::uint64_t held_bytes = problem.key_bytes == 0 ? problem.record_bytes : problem.key_bytes;
  for (const std::uint32_t bits : s.lists.of<split_lists>().bits) {
    for (const key_distribution keys : s.keys) {
      if (keys == key_distribution::unit || bits > 8 * held_bytes) continue;
      problems.push_back(problem.with(key_part{.keys = keys, .bits = bits}));
    }
  }
}

void add_records(const sweep& sweep, std::span<const entry* const> entries, std::vector<problem_spec>& problems) {
  for (const std::uint64_t record_bytes : sweep.record_bytes) {
    for (const std::uint64_t count : sweep.counts_of(record_bytes)) {
      for (const std::uint64_t key_bytes : sweep.lists.of<split_lists>().key_bytes) {
        for (const entry* const e : entries) {
          add_keys(sweep, {.primitive = e->name, .record_bytes = record_bytes, .count = count, .key_bytes = key_bytes},
                   problems);
        }
      }
    }
  }
}

void add_indices(const sweep& sweep, std::uint64_t count, std::span<const entry* const> entries,
                 std::vector<problem_spec>& problems) {
  const std::vector<std::uint64_t>& widths = sweep.lists.of<split_lists>().key_bytes;
  for (const index_type index : sweep.indices) {
    for (const std::uint64_t key_bytes : widths) {
      // An index split reads keys alone. Where a sweep has only keys in the record, it gets keys of 4 bytes in an
      // array.
      if (key_bytes == 0 && widths.size() > 1) continue;
      for (const entry* const e : entries) {
        add_keys(sweep,
                 {.primitive = e->name,
                  .record_bytes = bytes(index),
                  .index = index,
                  .count = count,
                  .key_bytes = key_bytes == 0 ? 4 : key_bytes},
                 problems);
      }
    }
  }
}

void add(const sweep& sweep, std::span<const entry* const> entries, std::vector<problem_spec>& problems) {
  std::vector<const entry*> of_records;
  std::vector<const entry*> of_indices;
  for (const entry* const e : entries) {
    // A split of records in several categories has rows by name alone.
    if (e->takes(fields::key_bytes)) (e->writes_index ? of_indices : of_records).push_back(e);
  }
  add_records(sweep, of_records, problems);
  for (const std::uint64_t count : sweep.counts) add_indices(sweep, count, of_indices, problems);
}

/// Bytes of a key: 0 for "own", 4 for "k32".
std::uint64_t parse_key_type(std::string_view text) {
  if (text == "own") return 0;
  for (const std::uint64_t key_bytes : {4, 8, 12, 16}) {
    if (text == fmt::format("k{}", 8 * key_bytes)) return key_bytes;
  }
  refuse("'{}' is not a kind of key: own, k32, k64, k96, k128", text);
}

constexpr named_sweep sets[] = {
    {"split", "--widths 4,8 --log2-sizes 16:28:4 --keys uniform,zipf,equal --key-types own,k32 --bits 1,8,11,16"}};

constexpr list_option lists[] = {
    {"--key-types", "of splits: own (in the record), k32, k64, k96, k128 (separate)",
     [](sweep& s, option_texts texts) { s.lists.of<split_lists>().key_bytes = parsed_list(texts, parse_key_type); }},
    {"--bits", "of splits: bits of the key",
     [](sweep& s, option_texts texts) {
       const std::vector<std::uint64_t> numbers = numbers_in("--bits", texts, 1, bit_field::most_bits);
       s.lists.of<split_lists>().bits.assign(numbers.begin(), numbers.end());
     }},
};

constexpr const entry* entries_of_family[] = {&split_entry, &split_unstable_entry, &split_gather_index_entry,
                                              &split_scatter_index_entry, &multi_split_entry};

}  // namespace

extern const family split_family{"split", entries_of_family, sets, lists, add};

}  // namespace sheaf::primitives
