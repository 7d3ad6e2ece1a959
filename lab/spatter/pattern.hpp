#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// The patterns that Spatter's input files write as text instead of as a list of numbers.
namespace sheaf::bench {

/// The largest number that a pattern file may have. 2^48 doubles are more than any memory holds, and sums and products
/// of smaller numbers can be checked for overflow.
constexpr std::uint64_t most_spatter_number = std::uint64_t{1} << 48;

struct spatter_pattern {
  std::vector<std::uint64_t> entries;
  std::optional<std::uint64_t> delta;  ///< set if the generator gives it
};

/// Expands UNIFORM:LENGTH:STRIDE[:DELTA|NR], MS1:LENGTH:LOCATIONS:GAPS, LAPLACIAN:DIMENSION:ORDER:SIZE or a list such
/// as 0,4,8. Generators are spelt in capitals. NR sets the delta to LENGTH * STRIDE, LAPLACIAN to 1.
/// @param place         begins every message: file, configuration and field.
/// @param most_entries  longer patterns are refused before memory is taken.
/// @throws error(bad_input)
spatter_pattern expand_spatter_pattern(std::string_view text, const std::string& place, std::uint64_t most_entries);

}  // namespace sheaf::bench
