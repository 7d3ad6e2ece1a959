#pragma once

#include <optional>
#include <string>

#include <sheaf/list_scan.hpp>
#include <sheaf/records.hpp>

// Checks ranks and scans in host memory by a walk from each head along the successors. The result describes the first
// mistake on that way.
namespace sheaf::jobs {

/// @param successor  what list_rank took as one list or many.
/// @param rank       one for each node.
std::optional<std::string> rank_mistake(index_span successor, index_span rank);

/// Sums and products of floats may differ from those of the walk by what rounding can make of them in any order of
/// operations: the number of values times the type's precision, of the sum of their magnitudes or of the product.
/// Everything else is compared exactly.
std::optional<std::string> scan_mistake(index_span successor, const_values in, const_values out, scan_operator op,
                                        const std::optional<scalar>& exclusive_from);

}  // namespace sheaf::jobs
