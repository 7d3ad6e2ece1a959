#pragma once

#include <string>
#include <vector>

#include "lab/description/entry.hpp"
#include "primitives/movement/problem.hpp"

// What the entries of movements by an index list share: a table, an index list and an access pattern.
namespace sheaf::primitives {

/// "permutation", or "zipf:s1024" for a table of 1024 records; a table as long as the index is not written unless asked
/// for.
std::string order_and_table(const problem_spec& p, bool always_with_table = false);
void read_order_and_table(const name_part& pattern, problem_spec& p);
/// The rest of a type's words: "last" of "u32+last". Refuses a type that begins with no index type.
std::optional<name_part> read_index_type(const name_part& type, problem_spec& p);

std::string movement_text(const problem_spec& p);
std::vector<fact> movement_facts(const problem_spec& p);

/// What a call with arrays of these shapes plans: records without gaps, aligned to their width.
movement movement_of(const problem_spec& p, backend_kind backend);
double he2007_seconds_of_gather(const problem_spec& p, const machine& profile);
double he2007_seconds_of_scatter(const problem_spec& p, const machine& profile);

}  // namespace sheaf::primitives
