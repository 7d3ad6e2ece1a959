#pragma once

#include "lab/description/entry.hpp"
#include "lab/description/keys.hpp"
#include "lab/description/problem_spec.hpp"

namespace sheaf::primitives {

struct sort_part {
  std::vector<key_field> key_fields = {};            ///< the key; empty: key_part and key_bytes say what it is
  std::vector<std::uint64_t> more_value_bytes = {};  ///< sort_pairs: widths of the second and further arrays of values
};

extern const entry sort_keys_entry, sort_pairs_entry, sort_records_entry, sort_gather_index_entry;

}  // namespace sheaf::primitives
