#pragma once

#include "lab/description/hash/problem.hpp"
#include "lab/description/items.hpp"
#include "lab/description/seeds.hpp"
#include "lab/inputs/pattern_function.hpp"

// Function objects for over_items() that fill the keys of hash searches and check their answers. A key is a bijection
// of its number, and which records have it is arithmetic (problem.hpp), so that nothing is
// looked up. Probes that find nothing ask for numbers past the table's.
namespace sheaf::jobs {

/// Parameters of the functions that give keys and answers.
struct probe_source {
  primitives::keyed_table table;
  inputs::pattern order;  ///< the numbers of keys that probes ask for
  std::uint64_t key_bytes = 8;
  std::uint32_t hit_percent = 100;
};

/// The key with a number below 2^(8 * key_bytes). Multiplications by odd numbers and shifts are bijections.
SHEAF_HOST_DEVICE inline std::uint64_t key_of_number(const probe_source& s, std::uint64_t number) {
  if (s.key_bytes == 8) return inputs::mix(number ^ s.order.seed << 40);
  std::uint32_t key = static_cast<std::uint32_t>(number) + static_cast<std::uint32_t>(s.order.seed) * 0x9e3779b9U;
  key = (key ^ key >> 16) * 0x21f0aaadU;
  key = (key ^ key >> 15) * 0x735a2d97U;
  return key ^ key >> 15;
}

SHEAF_HOST_DEVICE inline bool finds_something(const probe_source& s, std::uint64_t probe) {
  return inputs::mix(probe + (s.order.seed << 32)) % 100 < s.hit_percent;
}

/// The number of the key that a probe asks for; from table.distinct on there is none.
SHEAF_HOST_DEVICE inline std::uint64_t number_of_probe(const probe_source& s, std::uint64_t probe) {
  const std::uint64_t number = inputs::pattern_entry(s.order, probe, s.table.distinct);
  return finds_something(s, probe) ? number : s.table.distinct + number;
}

/// How many records a probe finds.
SHEAF_HOST_DEVICE inline std::uint64_t matches_of_probe(const probe_source& s, std::uint64_t probe) {
  if (s.table.distinct == 0) return 0;
  const std::uint64_t number = number_of_probe(s, probe);
  return number < s.table.distinct ? s.table.records_of_key(number) : 0;
}

/// An answer of 1, 4 or 8 bytes.
SHEAF_HOST_DEVICE inline std::uint64_t answer_word(const void* answers, std::uint64_t answer_bytes, std::uint64_t i) {
  return answer_bytes == 1 ? static_cast<const unsigned char*>(answers)[i] : number_at(answers, answer_bytes, i);
}

/// The lowest bytes of a number, of which an answer of so many bytes keeps no more.
SHEAF_HOST_DEVICE inline std::uint64_t cut_to(std::uint64_t word_bytes, std::uint64_t number) {
  return word_bytes == 8 ? number : number & ((std::uint64_t{1} << 8 * word_bytes) - 1);
}

struct fill_table_keys {
  probe_source source;
  void* keys;
  SHEAF_HOST_DEVICE tally operator()(std::uint64_t record) const {
    store_number(keys, source.key_bytes, record, key_of_number(source, source.table.key_of_record(record)));
    return {};
  }
};

/// Where the table is empty, every probe asks for a key of its own.
struct fill_probes {
  probe_source source;
  void* keys;
  SHEAF_HOST_DEVICE tally operator()(std::uint64_t probe) const {
    const std::uint64_t number = source.table.distinct == 0 ? probe : number_of_probe(source, probe);
    store_number(keys, source.key_bytes, probe, key_of_number(source, number));
    return {};
  }
};

enum class answer_kind : std::uint8_t { count, contains, first };

/// Answers with one entry for each probe.
struct check_answers {
  probe_source source;
  answer_kind kind;
  const void* answers;
  std::uint64_t answer_bytes;
  SHEAF_HOST_DEVICE tally operator()(std::uint64_t probe) const {
    const std::uint64_t count = matches_of_probe(source, probe);
    std::uint64_t expected = count;
    if (kind == answer_kind::contains) expected = count > 0 ? 1 : 0;
    if (kind == answer_kind::first) {
      expected = count > 0 ? source.table.record_of_key(number_of_probe(source, probe), 0) : ~std::uint64_t{0};
    }
    return {answer_word(answers, answer_bytes, probe) != cut_to(answer_bytes, expected), 0};
  }
};

/// Offsets of matches: the first is 0, and each is so many past the one before as its probe finds.
struct check_offsets {
  probe_source source;
  const std::uint64_t* offsets;
  SHEAF_HOST_DEVICE tally operator()(std::uint64_t entry) const {
    if (entry == 0) return {offsets[0] != 0, 0};
    return {offsets[entry] - offsets[entry - 1] != matches_of_probe(source, entry - 1), 0};
  }
};

/// Record numbers of matches, and behind the last one what was there before the call. The offsets say whose a match is;
/// they are checked apart, and wrong ones lead to no place outside of them.
struct check_ids {
  probe_source source;
  const std::uint64_t* offsets;
  std::uint64_t probes;
  const void* ids;
  std::uint64_t id_bytes;
  SHEAF_HOST_DEVICE tally operator()(std::uint64_t entry) const {
    return {number_at(ids, id_bytes, entry) != cut_to(id_bytes, expected(entry)), 0};
  }

 private:
  SHEAF_HOST_DEVICE std::uint64_t expected(std::uint64_t entry) const {
    if (entry >= offsets[probes]) return inputs::record_word(wiped_seed, entry, 0);
    const std::uint64_t probe = part_at(offsets, probes, entry);
    return source.table.record_of_key(number_of_probe(source, probe), entry - offsets[probe]);
  }
};

/// What a build says of a table: records, distinct keys, the most records of a key.
constexpr std::uint64_t facts_of_build = 3;
SHEAF_HOST_DEVICE inline std::uint64_t fact_of_build(const probe_source& s, std::uint64_t fact) {
  return fact == 0 ? s.table.records : fact == 1 ? s.table.distinct : s.table.longest_chain();
}

struct check_build {
  probe_source source;
  const std::uint64_t* facts;
  SHEAF_HOST_DEVICE tally operator()(std::uint64_t fact) const {
    return {facts[fact] != fact_of_build(source, fact), 0};
  }
};

/// The first record that a new index finds for the key of each of its records.
struct check_found {
  probe_source source;
  const void* ids;
  std::uint64_t id_bytes;
  SHEAF_HOST_DEVICE tally operator()(std::uint64_t record) const {
    const std::uint64_t first = source.table.record_of_key(source.table.key_of_record(record), 0);
    return {number_at(ids, id_bytes, record) != first, 0};
  }
};

}  // namespace sheaf::jobs
