#pragma once

#include "distributed/sort/part_edges.hpp"
#include "primitives/ranks/steps.hpp"

namespace sheaf::distributed {

/// The local rows, and the part of each.
class local_parts {
 public:
  /// Waits until rows are counted.
  local_parts(group_state& state, const sort_request& request, const part_edges& edges, std::uint64_t chunks);

  /// Of chunk and part.
  std::span<const std::uint64_t> counts() const noexcept { return counts_; }

  /// Moves the rows of a chunk. @param to  of each array and part, where the chunk's first row of the part goes
  /// @param on_device  the same in the context's memory
  void move(std::uint64_t chunk, std::span<const const_records> arrays, std::span<std::byte* const> to,
            std::byte* const* on_device) const;

 private:
  const primitives::routing_steps& steps_;
  const context ctx_;
  const bool keeps_order_;  ///< not where rows are keys, of which equal ones are the same
  primitives::tiled_parts tiles_;
  buffer part_;
  buffer before_;
  buffer in_counts_;
  std::vector<std::uint64_t> counts_;
};

}  // namespace sheaf::distributed
