#pragma once

#include <cstdint>
#include <string>

#include "lab/description/hash/keyed_table.hpp"
#include "lab/description/plain_loops.hpp"

// What the entries of hash search and their jobs share.
namespace sheaf::primitives {

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
std::uint64_t table_records(const problem_spec& p);
keyed_table table_of(const problem_spec& p);
double load_of(const problem_spec& p);
/// How a name says how often keys repeat: "16", "zipf".
std::string repeats_text(std::uint64_t repeats);

/// Matches of all probes, or more: probes that go through the keys in turn find no record more often than they do.
/// All bits set where it is not known, because keys and probes both repeat unevenly.
std::uint64_t most_matches(const problem_spec& p);

}  // namespace sheaf::primitives

namespace sheaf::jobs {

/// Matches of all probes: as many as there can be where that is known. Where keys and probes both repeat unevenly, it
/// is what one may expect of copy 0, whose probes are as random ones.
std::uint64_t likely_matches(const primitives::problem_spec& p);

/// Record numbers that a generated search has room for. Where likely_matches() is an expectation, this is a quarter
/// more and the records of the most frequent key; a search that finds still more writes as many as there is room for.
std::uint64_t room_for_matches(const primitives::problem_spec& p);

plain_call plain_build_hash_index(const context& ctx, const problem_spec& p, const array_set& arrays);
plain_call plain_hash_search(const context& ctx, const problem_spec& p, const array_set& arrays);
plain_call plain_hash_count(const context& ctx, const problem_spec& p, const array_set& arrays);
plain_call plain_hash_contains(const context& ctx, const problem_spec& p, const array_set& arrays);
plain_call plain_hash_find(const context& ctx, const problem_spec& p, const array_set& arrays);

}  // namespace sheaf::jobs
