#pragma once

#include <sheaf/scatter.hpp>

#include "lab/description/entry.hpp"
#include "primitives/movement/problem.hpp"

// What the entries of movements by an index list share: a table, an index list and an access pattern.
namespace sheaf::primitives {

struct movement_part {
  sheaf::duplicates duplicates = sheaf::duplicates::any;  ///< of a scatter
};

/// "permutation", or "zipf:s1024" for a table of 1024 records; a table as long as the index is not written unless asked
/// for.
std::string order_and_table(const problem_spec& problem, bool always_with_table = false);
void read_order_and_table(const name_part& pattern, problem_spec& problem);
/// The rest of a type's words: "last" of "u32+last". Refuses a type that begins with no index type.
std::optional<name_part> read_index_type(const name_part& type, problem_spec& problem);

std::string movement_text(const problem_spec& problem);
std::vector<fact> movement_facts(const problem_spec& problem);

/// What a call with arrays of these shapes plans: records without gaps, aligned to their width.
movement movement_of(const problem_spec& problem, backend_kind backend);
double he2007_seconds_of_gather(const problem_spec& problem, const machine& profile);
double he2007_seconds_of_scatter(const problem_spec& problem, const machine& profile);

}  // namespace sheaf::primitives

namespace sheaf::jobs {

/// Counts the records of out that differ from a scatter with duplicates::last of fill_records(in_seed) by the list,
/// into an output that was fill_records(out_seed). Runs on the host; the list has fewer than 2^32 entries. It is read,
/// and not made again, because a device rounds the logarithms of a Zipf pattern in its own way.
std::uint64_t count_last_writer_mismatches(const context& ctx, const_records out, index_span list,
                                           std::uint64_t in_seed, std::uint64_t out_seed);

}  // namespace sheaf::jobs
