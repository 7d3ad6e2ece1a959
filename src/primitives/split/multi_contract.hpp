#pragma once

#include "plan/choose.hpp"
#include "primitives/movement/gather.hpp"
#include "primitives/split/contract.hpp"

// A split of records that belong to several categories is three calls: each entry of the membership gets the number of
// its record (row_of_entry), the numbers are split by category, and the records are gathered by the numbers.
namespace sheaf::primitives {

/// The calls inside a multi_split.
struct multi_split_problem {
  row_of_entry_problem rows;
  split_problem split;
  std::optional<gather_problem> gather;  ///< none where only the sources are asked for
  bool has_own_sources = false;          ///< the caller gives no array for them
};

/// These calls planned together, and where arrays lie in the scratch. The row of each entry lies at 0.
struct multi_split_plan {
  plan::choice<row_of_entry_variant> rows;
  plan::choice<split_variant> split;
  plan::choice<gather_variant> gather;
  std::uint64_t sources = 0;        ///< offset of the sources
  std::uint64_t scratch = 0;        ///< offset of the calls' scratch: they run one after another
  std::uint64_t scratch_bytes = 0;  ///< of all arrays and calls
};

/// The cheapest calls within the scope, or none. A call of multi_split goes by the name of its split's variant.
std::optional<multi_split_plan> plan_multi_split(const multi_split_problem& problem, const plan::scope& in,
                                                 std::string_view forced_split);

}  // namespace sheaf::primitives
