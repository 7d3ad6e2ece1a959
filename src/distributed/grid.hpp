#pragma once

#include "distributed/exchange.hpp"

// Exchange in two steps over a grid of ranks: first along its rows, then along its columns. A rank has some 2 sqrt(p)
// partners in place of p - 1, and every byte that changes row and column travels twice.
namespace sheaf::distributed {

/// The grid of a group: rank r is in row r / width, column r % width. The last row may be short.
class rank_grid {
 public:
  explicit rank_grid(int ranks) noexcept;

  /// The rank over which bytes go from one rank to another: in the row of the sender and the column of the receiver,
  /// or, where the last row is too short to have one, in that column and another row.
  int between(int from, int to) const noexcept;
  /// The ranks that `via` takes bytes from, and those that it hands bytes on to.
  std::vector<int> senders_to(int via) const;
  std::vector<int> receivers_from(int via) const;
  int ranks() const noexcept { return ranks_; }

 private:
  int row(int rank) const noexcept { return rank / width_; }
  int column(int rank) const noexcept { return rank % width_; }

  int ranks_;
  int width_;
  int full_rows_;
};

/// exchange_counts over the grid.
std::vector<std::uint64_t> exchange_counts_over_grid(group_state& state, std::span<const std::uint64_t> numbers);

/// An exchange over the grid, which waits. As for `exchange`.
void exchange_over_grid(group_state& state, std::span<const const_bytes> to, std::span<const mutable_bytes> from);

/// An exchange, over the grid where there are limits::two_level_ranks and the parts are short. Waits.
void exchange_parts(group_state& state, std::span<const const_bytes> to, std::span<const mutable_bytes> from);

}  // namespace sheaf::distributed
