#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include <sheaf/distributed/group.hpp>

namespace sheaf::distributed {

/// How a sort by parts goes, or what it would take.
struct sort_course {
  std::uint64_t chunks = 1;              ///< of a rank's rows, which are moved one after another
  std::vector<std::uint64_t> shares{1};  ///< of the groups of a rank's rows

  /// A group's part of a rank's rows.
  double share(std::size_t group) const noexcept {
    return static_cast<double>(shares[group]) /
           static_cast<double>(std::accumulate(shares.begin(), shares.end(), std::uint64_t{0}));
  }
};

/// Whether so many rows of all ranks are sorted before they travel, not by parts.
inline bool are_few_rows(std::uint64_t rows, const limits& bounds) noexcept { return rows <= bounds.chunk_bytes / 64; }

/// Groups are few, because sorts of fewer rows take longer for each. The first is small where a sort takes longer than
/// its rows travel: it alone is waited for. Where they travel longer the last is small: its sort alone comes after. Of
/// 2^27 rows of an H200, those of 8 bytes travel 1.5 ms and are sorted in 3.3, those of 128 take 23 and some 18.
/// @param most  rows of the rank that has most  @param share  rows of a rank's share
inline sort_course course_of(int ranks, std::uint64_t most, std::uint64_t share, std::uint64_t row_bytes,
                             std::uint32_t key_bits, const limits& bounds) {
  constexpr std::uint64_t most_chunks = 4;
  constexpr std::uint64_t most_chunk_rows = std::uint64_t{1} << 31;
  sort_course course;
  course.chunks =
      std::clamp<std::uint64_t>(most * row_bytes / std::max<std::uint64_t>(1, bounds.chunk_bytes / 2), 1, most_chunks);
  course.chunks = std::max(course.chunks, most / most_chunk_rows + 1);
  const bool travels_longer = row_bytes >= 64 || key_bits <= 16;
  if (share * row_bytes < 4 * bounds.chunk_bytes) {
    course.shares = {1};
  } else if (travels_longer) {
    course.shares = {5, 5, 4, 2};
  } else if (ranks > 2) {
    course.shares = {3, 5, 8};
  } else {
    course.shares = {1, 3};
  }
  return course;
}

}  // namespace sheaf::distributed
