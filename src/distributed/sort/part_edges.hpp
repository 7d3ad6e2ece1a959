#pragma once

#include "distributed/sort/keys.hpp"
#include "distributed/sort/moved_arrays.hpp"

namespace sheaf::distributed {

/// The numbers at which parts begin.
struct part_edges {
  std::vector<std::uint64_t> numbers;
  std::uint32_t dropped_bits = 0;
  std::uint64_t greatest = 0;  ///< that a row can have
  bool are_all_numbers = false;

  std::size_t parts() const noexcept { return numbers.size() + 1; }
  /// Whether all rows of a part have one key.
  bool has_one_key(std::size_t part) const noexcept {
    return dropped_bits == 0 && first_number(part) == last_number(part);
  }
  std::uint64_t first_number(std::size_t part) const noexcept { return part == 0 ? 0 : numbers[part - 1]; }
  std::uint64_t last_number(std::size_t part) const noexcept {
    return part < numbers.size() ? numbers[part] - 1 : greatest;
  }
};

/// Whether each number that a key can have has a part of its own.
bool has_few_numbers(const sort_request& request);

/// How many of a rank's rows are in the sample. @param all  rows of all ranks, at least 1
std::uint64_t samples_of(std::uint64_t rows, std::uint64_t all, int ranks);

/// Collective: all numbers where they are few, else quantiles of a sample; a number that is several quantiles has a
/// part of its own. @param counts  rows of each rank  @param all  their sum
part_edges edges_of(group_state& state, const sort_request& request, std::span<const std::uint64_t> counts,
                    std::uint64_t all);

}  // namespace sheaf::distributed
