#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <sheaf/edge_sum.hpp>

// Checks a sum over edges in host memory, edge by edge.
namespace sheaf::jobs {

/// The first value of the result that no order of sums explains: it differs from the exact sum by more than
/// (n + 8) eps times the sum of the magnitudes of its n terms, and by more than is lost where numbers below the least
/// normal one are taken for zero, as some devices do. A node with terms that overflow on their way or together, or with
/// neighbours so near that the square of their distance loses digits, is not judged. The ends are nodes.
std::optional<std::string> edge_sum_mistake(const edge_view& edges, const_values node_values, const_values weights,
                                            const_values result, std::uint32_t components, edge_function function);

}  // namespace sheaf::jobs
