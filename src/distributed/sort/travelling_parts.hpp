#pragma once

#include <memory>
#include <optional>

#include "distributed/sort/part_lists.hpp"

namespace sheaf::distributed {

/// Arrays of a sort on their way to their ranks. All ranks call the functions that start something in one order.
class travelling_parts {
 public:
  /// Takes the memory of rows that are sent and that come. What it is given lives longer.
  travelling_parts(group_state& state, const sort_request& request, std::span<const const_records> arrays,
                   const part_edges& edges, const part_table& table, const part_owners& owners);

  std::size_t groups() const noexcept { return groups_.size(); }
  /// Rows of this rank's group.
  std::uint64_t count(std::size_t g) const noexcept { return begin(g + 1) - begin(g); }
  /// Where the group begins in the whole.
  std::uint64_t begin(std::size_t g) const noexcept { return table_.begin(mine().begins[g]); }

  /// Where the first row of a chunk's part goes, for each array and part.
  std::vector<std::byte*> targets(std::uint64_t chunk) const;

  /// Sends rows of chunks [first_chunk, last_chunk), which are moved, that belong to a group of their rank.
  void start_group(std::size_t g, std::uint64_t first_chunk, std::uint64_t last_chunk);
  /// Sends rows of all cut parts, once all chunks are moved. @param where  the rows of each rank where cut parts have
  /// one key
  void start_cuts(const layout& where);

  /// Waits for cut parts, and sorts those that this rank has rows of.
  void sort_cuts();
  /// Collective, after sort_cuts(): a layout of whose ranks none end among rows of equal keys. @param where  likewise
  /// where cut parts have one key
  layout by_key(const layout& where) const;
  /// Waits for the rows of a group, sorts them, and gives their memory back.
  void finish_group(std::size_t g, std::span<const records> out);
  /// Copies this rank's rows of cut parts to the result, behind all that is queued.
  void copy_cuts(const sorted_pairs& out) const;

 private:
  struct row_range {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;

    std::uint64_t count() const noexcept { return end - begin; }
  };
  /// A cut part on a rank that has rows of it.
  struct cut_rows {
    std::vector<message_buffer> came;  ///< of each array: all rows of the part, or, of one key, those of this rank
    std::vector<buffer> sorted;        ///< not where rows have one key
  };
  class message_blocks;

  static row_range common(const row_range& a, const row_range& b) noexcept;
  const rank_groups& mine() const noexcept { return owners_.groups[static_cast<std::size_t>(state_.rank)]; }
  std::uint64_t packed_place(std::uint64_t chunk, std::size_t part) const noexcept;
  bool has_one_key(std::size_t k) const noexcept { return edges_.has_one_key(owners_.cuts[k].part); }
  row_range part_rows(std::size_t k) const noexcept;
  row_range chunk_rows(std::size_t k, int rank, std::uint64_t chunk) const noexcept;
  row_range received(const layout& where, std::size_t k, int rank) const noexcept;
  std::vector<const_records> inputs(std::span<const message_buffer> came, std::uint64_t rows) const;
  bool is_sorted_in_parts(std::size_t g, std::span<const const_records> in, std::span<const records> out) const;

  group_state& state_;
  const sort_request& request_;
  std::span<const const_records> arrays_;
  const part_edges& edges_;
  const part_table& table_;
  const part_owners& owners_;
  std::vector<message_buffer> packed_;  // of each array: rows that do not stay, chunk by chunk in the order of parts
  std::vector<std::uint64_t> packed_begins_;
  std::vector<std::vector<message_buffer>> groups_;  // of each group and array
  std::optional<part_lists> lists_;
  std::vector<cut_rows> cuts_;
  // Before the memory that they read and write is given back, these end.
  std::vector<std::vector<std::unique_ptr<array_exchange>>> group_arrivals_;
  std::unique_ptr<array_exchange> cut_arrival_;
};

}  // namespace sheaf::distributed
