#pragma once

#include "primitives/edges/edge_sum.hpp"

namespace sheaf::cpu {

/// The function that contributes: the caller's, or the built-in one of the problem.
detail::host_edge_function function_of(const primitives::edge_sum_problem& p, const primitives::edge_sum_buffers& b);

}  // namespace sheaf::cpu
