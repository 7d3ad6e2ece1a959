#pragma once

#include <sheaf/context.hpp>

#include "lab/description/problem_spec.hpp"

namespace sheaf::primitives {

/// What a call finds of the order of its generated list (primitives/movement/found_order.hpp), from the function of
/// position that the list is; unknown where it does not look.
access_pattern found_order(const problem_spec& problem, backend_kind backend);

}  // namespace sheaf::primitives
