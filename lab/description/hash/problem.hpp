#pragma once

#include "core/host_device.hpp"
#include "lab/description/plain_loops.hpp"

// What the entries of hash search and their jobs share. Which records of a generated table share a key is arithmetic,
// so that matches are known without a search; keys are numbered from 0.
namespace sheaf::primitives {

/// The number of records that share a key where it differs from key to key: half of the keys have one, a quarter have
/// two, and so on, as by a power law of exponent 1 in steps of two.
constexpr std::uint64_t power_law_repeats = 0;

SHEAF_HOST_DEVICE constexpr std::uint64_t floor_log2(std::uint64_t number) noexcept {
#if defined(__CUDA_ARCH__)
  return 63 - static_cast<std::uint64_t>(__clzll(static_cast<long long>(number)));
#else
  return 63 - static_cast<std::uint64_t>(__builtin_clzll(number));
#endif
}

/// Records of one key lie as far apart as the table allows. By a power law there are `levels` levels of keys, and each
/// level has as many records: level l has 2^l keys. Records that are left over have a key each.
struct keyed_table {
  std::uint64_t records = 0;
  std::uint64_t distinct = 0;  ///< keys
  std::uint64_t levels = 0;    ///< 0 where every key has the same number of records, but for one

  SHEAF_HOST_DEVICE std::uint64_t level_records() const noexcept { return std::uint64_t{1} << (levels - 1); }
  SHEAF_HOST_DEVICE std::uint64_t levelled_keys() const noexcept { return 2 * level_records() - 1; }
  SHEAF_HOST_DEVICE std::uint64_t levelled_records() const noexcept { return levels * level_records(); }

  SHEAF_HOST_DEVICE std::uint64_t longest_chain() const noexcept {
    if (records == 0) return 0;
    return levels > 0 ? level_records() : (records - 1) / distinct + 1;
  }

  SHEAF_HOST_DEVICE std::uint64_t key_of_record(std::uint64_t record) const noexcept {
    if (levels == 0) return record % distinct;
    if (record >= levelled_records()) return levelled_keys() + (record - levelled_records());
    const std::uint64_t first_of_level = (std::uint64_t{1} << record % levels) - 1;
    return first_of_level + (record / levels & first_of_level);
  }

  SHEAF_HOST_DEVICE std::uint64_t records_of_key(std::uint64_t key) const noexcept {
    if (levels == 0) return (records - key - 1) / distinct + 1;
    return key >= levelled_keys() ? 1 : level_records() >> floor_log2(key + 1);
  }

  /// The record of a key that comes after `before` others of it, in ascending order.
  SHEAF_HOST_DEVICE std::uint64_t record_of_key(std::uint64_t key, std::uint64_t before) const noexcept {
    if (levels == 0) return key + before * distinct;
    if (key >= levelled_keys()) return levelled_records() + (key - levelled_keys());
    const std::uint64_t level = floor_log2(key + 1);
    const std::uint64_t in_level = key + 1 - (std::uint64_t{1} << level);
    return (in_level + (before << level)) * levels + level;
  }
};

/// The table of so many records, each of whose keys has `repeats` of them, or power_law_repeats.
constexpr keyed_table keyed_table_of(std::uint64_t records, std::uint64_t repeats) noexcept {
  keyed_table table{records, records, 0};
  if (records == 0) return table;
  if (repeats != power_law_repeats) {
    table.distinct = (records - 1) / repeats + 1;
    return table;
  }
  table.levels = 1;
  while (table.levels < 58 && (table.levels + 1) << table.levels <= records) ++table.levels;
  table.distinct = table.levelled_keys() + (records - table.levelled_records());
  return table;
}

constexpr std::uint32_t least_load_percent = 5;
constexpr std::uint32_t most_load_percent = 99;

/// Probes ask for the keys of a table of problem_spec::table records, in the order of the problem's pattern.
struct hash_part {
  std::uint64_t repeats = 1;        ///< records that share a key, or power_law_repeats
  std::uint32_t hit_percent = 100;  ///< probes that ask for a key of the table; the others find nothing
  std::uint32_t load_percent = 0;   ///< load factor of the hash table; 0: what the backend finds best
};

extern const entry build_hash_index_entry, hash_search_entry, hash_count_entry, hash_contains_entry, hash_find_entry;

/// Type of the record numbers of a table.
index_type id_type(std::uint64_t records);
/// Records of the table that is indexed: those of a build are what it goes through.
std::uint64_t table_records(const problem_spec& problem);
keyed_table table_of(const problem_spec& problem);
double load_of(const problem_spec& problem);
/// How a name says how often keys repeat: "16", "zipf".
std::string repeats_text(std::uint64_t repeats);
/// Reads that. @throws error(bad_argument)
std::uint64_t parse_repeats(std::string_view text);
/// "4" or "8". @throws error(bad_argument) naming the option
std::uint64_t key_bytes_of(std::string_view option, std::string_view text);

/// Matches of all probes, or more: probes that go through the keys in turn find no record more often than they do.
/// unknown_matches where keys and probes both repeat unevenly.
constexpr std::uint64_t unknown_matches = ~std::uint64_t{0};
std::uint64_t most_matches(const problem_spec& problem);

}  // namespace sheaf::primitives

namespace sheaf::jobs {

/// Matches of all probes that one may expect of copy 0, whose probes are as random ones.
std::uint64_t likely_matches(const primitives::problem_spec& problem);

/// Record numbers that a generated search has room for: most_matches(), or where that is unknown, a quarter more than
/// likely_matches() and the records of the most frequent key; a search that finds still more writes as many as there is
/// room for.
std::uint64_t room_for_matches(const primitives::problem_spec& problem);

extern const job build_hash_index_job, hash_search_job, hash_count_job, hash_contains_job, hash_find_job;

plain_call plain_build_hash_index(const context& ctx, const problem_spec& problem, const array_set& arrays);
plain_call plain_hash_search(const context& ctx, const problem_spec& problem, const array_set& arrays);
plain_call plain_hash_count(const context& ctx, const problem_spec& problem, const array_set& arrays);
plain_call plain_hash_contains(const context& ctx, const problem_spec& problem, const array_set& arrays);
plain_call plain_hash_find(const context& ctx, const problem_spec& problem, const array_set& arrays);

}  // namespace sheaf::jobs
