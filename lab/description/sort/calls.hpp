#pragma once

#include <sheaf/sort.hpp>

#include "lab/description/problem_spec.hpp"

namespace sheaf::primitives {

/// The key that a sort compares by: key_fields, or else one field at the beginning of a row.
sort_key key_of(const problem_spec& p);

}  // namespace sheaf::primitives
