#pragma once

#include <span>
#include <vector>

#include <sheaf/distributed/layout.hpp>

// Rows of parts of all ranks, and what follows from their numbers alone, so that all ranks know it alike: where parts
// lie in the sorted whole, which rank gets them, and in which groups.
namespace sheaf::distributed {

/// Rows of each rank, chunk of its rows, and part. Parts follow one another in the sorted whole.
class part_table {
 public:
  /// @param counts  of rank, chunk and part, the last fastest
  /// @param kept    of the parts, the first ones, which make up the whole; rows of the others stay where they are
  part_table(std::span<const std::uint64_t> counts, int ranks, std::uint64_t chunks, std::size_t parts,
             std::size_t kept);

  int ranks() const noexcept { return ranks_; }
  std::uint64_t chunks() const noexcept { return chunks_; }
  /// Parts that make up the whole.
  std::size_t parts() const noexcept { return begins_.size() - 1; }
  /// With those that are left out.
  std::size_t all_parts() const noexcept { return all_parts_; }
  /// Where a part begins in the whole; of parts(), where the last one ends.
  std::uint64_t begin(std::size_t part) const noexcept { return begins_[part]; }
  std::uint64_t rows() const noexcept { return begins_.back(); }
  /// Rows of a rank's chunk in the parts before one.
  std::uint64_t before(int rank, std::uint64_t chunk, std::size_t part) const noexcept {
    return before_[(static_cast<std::uint64_t>(rank) * chunks_ + chunk) * (all_parts_ + 1) + part];
  }
  /// Rows of a rank's chunk in parts [first, last).
  std::uint64_t count(int rank, std::uint64_t chunk, std::size_t first, std::size_t last) const noexcept {
    return before(rank, chunk, last) - before(rank, chunk, first);
  }
  /// Rows of all lower ranks, and of the rank's lower chunks, in parts [first, last): where a chunk's rows lie among
  /// all of these, in the order of ranks and chunks.
  std::uint64_t place(int rank, std::uint64_t chunk, std::size_t first, std::size_t last) const noexcept;

 private:
  int ranks_;
  std::uint64_t chunks_;
  std::size_t all_parts_;
  std::vector<std::uint64_t> before_;
  std::vector<std::uint64_t> begins_;
};

/// A part in which rows of a rank end that are not its last ones.
struct cut_part {
  std::size_t part = 0;
  int first_rank = 0;  ///< of those that have rows of it
  int last_rank = 0;
};

/// Parts that a rank has alone, in groups: group g is [begins[g], begins[g + 1]).
struct rank_groups {
  std::vector<std::size_t> begins;

  std::size_t first() const noexcept { return begins.front(); }
  std::size_t last() const noexcept { return begins.back(); }
  bool has(std::size_t part) const noexcept { return part >= first() && part < last(); }
};

/// Which rank gets which part, where its rows are those of a layout.
struct part_owners {
  std::vector<rank_groups> groups;  ///< of each rank
  std::vector<cut_part> cuts;       ///< in the order of parts

  /// @param shares  of the groups of each rank's rows; any numbers
  part_owners(const part_table& table, const layout& rows, std::span<const std::uint64_t> shares);
};

}  // namespace sheaf::distributed
