#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <sheaf/distributed/group.hpp>

namespace sheaf::distributed {

/// Which rank has which rows of an array: rank r has the rows [begin(r), end(r)), and ranks follow one another. Parts
/// may be empty.
class SHEAF_API layout {
 public:
  layout() = default;
  /// Parts of equal length, but for what multiples and the end of the array leave over: every part but the last that
  /// has rows begins and ends at a multiple of `multiple`.
  /// @throws error(bad_argument) if ranks is not 1 or more, or multiple is 0
  static layout even(std::uint64_t rows, int ranks, std::uint64_t multiple = 1);
  /// The parts that ranks have already: this rank has `mine` rows. Collective.
  static layout of(const group& ranks, std::uint64_t mine);
  /// @param begins  where each part begins, and where the last one ends: ascending from 0
  /// @throws error(bad_argument)
  static layout at(std::vector<std::uint64_t> begins);

  int ranks() const noexcept { return static_cast<int>(begins_.size()) - 1; }
  std::uint64_t count() const noexcept { return begins_.back(); }
  std::uint64_t count(int rank) const noexcept { return end(rank) - begin(rank); }
  std::uint64_t begin(int rank) const noexcept { return begins_[static_cast<std::size_t>(rank)]; }
  std::uint64_t end(int rank) const noexcept { return begins_[static_cast<std::size_t>(rank) + 1]; }
  /// The rank that has a row, which is below count().
  int owner(std::uint64_t row) const noexcept;
  std::span<const std::uint64_t> begins() const noexcept { return begins_; }

  friend bool operator==(const layout&, const layout&) = default;

 private:
  std::vector<std::uint64_t> begins_{0, 0};
};

}  // namespace sheaf::distributed
