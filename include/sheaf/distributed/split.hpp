#pragma once

#include <sheaf/distributed/sort.hpp>
#include <sheaf/split.hpp>

namespace sheaf::distributed {

struct split_records {
  owned_records rows;                  ///< this rank's
  layout where;                        ///< of the whole result
  std::vector<std::uint64_t> offsets;  ///< category c begins at row offsets[c] of the whole; on every rank's host
};

/// Brings the records of each category together: those of category 0 of all ranks first, in the order of ranks and
/// within a rank in that of its records. Collective.
/// @param in            this rank's records, where ranks.local() works
/// @param key           where the category of a record is found, as for sheaf::split; keys are this rank's
/// @param with_offsets  whether offsets are counted; they are empty otherwise
/// The result is that of sheaf::split of all records in the order of ranks; balance::by_key keeps each category on one
/// rank. A record of a bad category is left out, and the first surfaces at ranks.wait(), on every rank.
/// @throws error(bad_argument) as sheaf::split does, if offsets are asked for of more than 2^24 categories, or if ranks
/// disagree; and what every call on a group may throw. The work is done when the call returns.
SHEAF_API split_records split(const group& ranks, const_records in, const split_key& key,
                              balance parts = balance::exact, bool with_offsets = true);

}  // namespace sheaf::distributed
