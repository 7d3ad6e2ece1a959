#pragma once

#include <sheaf/list_scan.hpp>

// Checks ranks and scans in host memory by a walk from each head along the successors. The result describes the first
// mistake on that way: of a node's result, or that the successors are not lists of all nodes.
namespace sheaf::jobs {

/// @param successor  what list_rank took.
/// @param lists      how many lists list_rank took it for.
/// @param rank       one for each node.
std::optional<std::string> rank_mistake(index_span successor, list_count lists, index_span rank);

/// Sums and products of floats may differ from those of the walk by what rounding makes of them where sublists are put
/// together each for itself: sums by 2^15 + 128 sqrt(n) times the type's precision, of the sum of magnitudes; products
/// by the number of values times that precision, of the product. From one node to the next, results may differ from
/// what the value between them makes of the first by 64 times that precision, those of products by 2^19 times.
/// Everything else is compared exactly.
std::optional<std::string> scan_mistake(index_span successor, list_count lists, const_values in, const_values out,
                                        scan_operator op, const std::optional<scalar>& exclusive_from);

}  // namespace sheaf::jobs
