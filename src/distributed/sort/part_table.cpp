#include "distributed/sort/part_table.hpp"

#include <algorithm>
#include <numeric>

namespace sheaf::distributed {

part_table::part_table(std::span<const std::uint64_t> counts, int ranks, std::uint64_t chunks, std::size_t parts,
                       std::size_t kept)
    : ranks_(ranks), chunks_(chunks), all_parts_(parts), begins_(kept + 1) {
  before_.reserve(static_cast<std::size_t>(ranks) * chunks * (parts + 1));
  for (std::size_t list = 0; list < static_cast<std::size_t>(ranks) * chunks; ++list) {
    std::uint64_t sum = 0;
    for (std::size_t part = 0; part < parts; ++part) {
      before_.push_back(sum);
      const std::uint64_t count = counts[list * parts + part];
      sum += count;
      if (part < kept) begins_[part + 1] += count;
    }
    before_.push_back(sum);
  }
  std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
}

std::uint64_t part_table::place(int rank, std::uint64_t chunk, std::size_t first, std::size_t last) const noexcept {
  std::uint64_t rows = 0;
  for (int r = 0; r < rank; ++r) {
    for (std::uint64_t c = 0; c < chunks_; ++c) rows += count(r, c, first, last);
  }
  for (std::uint64_t c = 0; c < chunk; ++c) rows += count(rank, c, first, last);
  return rows;
}

part_owners::part_owners(const part_table& table, const layout& rows, std::span<const std::uint64_t> shares) {
  const std::uint64_t all_shares = std::accumulate(shares.begin(), shares.end(), std::uint64_t{0});
  std::size_t next = 0;  // the first part that no rank before has
  for (int r = 0; r < rows.ranks(); ++r) {
    const std::uint64_t end = rows.begin(r + 1);
    // A part that begins before the rank's rows is cut, and was noted when those of a rank before ended in it.
    rank_groups mine;
    std::size_t last = next;
    while (last < table.parts() && table.begin(last + 1) <= end) ++last;
    mine.begins.push_back(next);
    const std::uint64_t first_row = table.begin(next);
    const std::uint64_t count = table.begin(last) - first_row;
    std::uint64_t shares_before = 0;
    for (std::size_t g = 0; g + 1 < shares.size(); ++g) {
      shares_before += shares[g];
      // Groups end where the part does that is nearest to their share.
      const std::uint64_t wanted =
          first_row + static_cast<std::uint64_t>(static_cast<double>(count) * static_cast<double>(shares_before) /
                                                 static_cast<double>(all_shares));
      std::size_t part = mine.begins.back();
      while (part < last && table.begin(part + 1) <= wanted) ++part;
      if (part < last && table.begin(part + 1) - wanted < wanted - table.begin(part)) ++part;
      mine.begins.push_back(part);
    }
    mine.begins.push_back(last);
    groups.push_back(std::move(mine));
    next = last;
    if (last < table.parts() && table.begin(last) < end) {
      // The rank's rows end inside of a part.
      cut_part cut{last, r, r};
      while (cut.last_rank + 1 < rows.ranks() && rows.begin(cut.last_rank + 1) < table.begin(last + 1)) ++cut.last_rank;
      cuts.push_back(cut);
      // Ranks that have rows of this part alone.
      for (; r + 1 < cut.last_rank; ++r) groups.push_back({std::vector<std::size_t>(shares.size() + 1, last + 1)});
      next = last + 1;
    }
  }
}

}  // namespace sheaf::distributed
