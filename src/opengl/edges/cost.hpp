#pragma once

#include "opengl/device/state.hpp"
#include "primitives/edges/edge_sum.hpp"

namespace sheaf::opengl {

/// Why no frame buffer holds these sums, or null.
const char* unsummable(const primitives::edge_sum_problem& problem) noexcept;

/// Why no texture of layers holds the values of all nodes, or null.
const char* too_many_nodes(const primitives::edge_sum_problem& problem, const size_limits& limits) noexcept;

/// What every run adds to a plan: values and weights, the passes over the sums, lookups of both ends of each edge, and
/// the result.
void add_run(plan::planned& plan, const primitives::edge_sum_problem& problem, const machine& machine,
             std::uint32_t passes);

/// Throws error(no_variant) where a run of what was prepared has values that it does not take.
void require_summable(const primitives::edge_sum_problem& problem, std::string_view variant);

}  // namespace sheaf::opengl
