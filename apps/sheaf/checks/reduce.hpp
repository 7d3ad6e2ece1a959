#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <sheaf/scatter_reduce.hpp>

// Checks a reduction of rows in host memory.
namespace sheaf::jobs {

/// The first value of `out` that no order of the reduction explains. Integers, minima, maxima and counts are compared
/// with the serial reference to the bit; sums, products and means of floats with those of f64, from which they differ
/// by no more than their rounding. Values are not judged where some order may leave the range of the sums' type.
/// @param before  what out held, or null if the reduction began from the identity
std::optional<std::string> reduction_mistake(const_value_rows in, index_span index, const_value_rows out,
                                             const std::byte* before, reduction op);

/// Memory that it takes. Of the rows only the shapes and types are looked at.
std::uint64_t bytes_to_check_a_reduction(const_value_rows in, const_value_rows out, reduction op);

}  // namespace sheaf::jobs
