#pragma once

#include <cstdint>

#include "lab/description/hash/keyed_table.hpp"
#include "lab/description/problem_spec.hpp"

// What the entries of hash search and their jobs share.
namespace sheaf::primitives {

/// Records of the table that is indexed: those of a build are what it goes through.
std::uint64_t table_records(const problem_spec& p);
keyed_table table_of(const problem_spec& p);
double load_of(const problem_spec& p);
/// How a name says how often keys repeat: "16", "zipf".
std::string repeats_name(const problem_spec& p);

/// Matches of all probes, or more: probes that go through the keys in turn find no record more often than they do.
/// All bits set where it is not known, because keys and probes both repeat unevenly.
std::uint64_t most_matches(const problem_spec& p);

}  // namespace sheaf::primitives
