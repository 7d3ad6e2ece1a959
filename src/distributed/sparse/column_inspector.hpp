#pragma once

#include <memory>
#include <vector>

#include "distributed/state.hpp"
#include "primitives/sparse/rank_columns.hpp"

namespace sheaf::distributed {

/// Columns in ascending order, where the group's context works.
struct column_list {
  buffer memory;
  std::uint64_t count = 0;

  index_span span() const noexcept { return {memory.data(), count, index_type::u64}; }
};

/// Finds which columns a rank's rows have of other ranks, and writes the columns anew. One rank does it alone; its
/// functions are called in their order, once each.
class column_inspector {
 public:
  struct look {
    bool has_fault = false;  ///< a row or a column is bad: nothing else counts
    std::uint64_t longest_row = 0;
    std::vector<unsigned char> has_remote;  ///< of each block of primitives::rank_row_block rows
  };

  column_inspector() = default;
  column_inspector(const column_inspector&) = delete;
  column_inspector& operator=(const column_inspector&) = delete;
  virtual ~column_inspector() = default;

  virtual look look_at_rows() = 0;
  /// Columns of other ranks.
  virtual column_list remote() = 0;
  /// The rank's own columns that boundary blocks have, counted from its first.
  virtual column_list own(const std::vector<unsigned char>& is_boundary) = 0;
  /// A column for each place of the matrix's arrays: of interior blocks counted from the rank's first; of boundary
  /// blocks as a number in the list of `below` remote columns, all own ones, and all other remote ones. 0 where a place
  /// belongs to no row.
  virtual buffer renumbered(index_type type, std::uint64_t below) = 0;
};

/// With a bit for each column there is, where many entries may name few of these; else, as where a thousand ranks have
/// a matrix, with sorted lists that the host makes on one thread.
/// @param rows  each of which ends where the next one begins; arrays lie where the group's context works, and outlive
/// the inspector
std::unique_ptr<column_inspector> inspector_of(const group_state& state, const primitives::rank_rows& rows);

/// Numbers of a list at these positions, sign-extended where its type is signed. Waits.
std::vector<std::uint64_t> numbers_at(const group_state& state, index_span list,
                                      const std::vector<std::uint64_t>& positions);

/// A list as the host reads it: itself, or a copy that `copied` then owns.
index_span seen_list(const group_state& state, index_span list, buffer& copied);

/// A copy of host memory where the group's context works.
buffer brought(const group_state& state, const void* data, std::uint64_t byte_count);

}  // namespace sheaf::distributed
