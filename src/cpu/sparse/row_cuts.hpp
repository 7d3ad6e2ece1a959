#pragma once

#include "cpu/sparse/row_reader.hpp"
#include "cpu/threads/parts.hpp"

namespace sheaf::cpu {

/// Cuts the rows into parts of equal work, where a row costs as much as `row_cost` entries beside its own (merge path,
/// at whole rows). Rows with ends of their own are counted, because nothing says where a sum of lengths is reached.
/// The cuts depend on the matrix and the number of parts alone; offsets that are wrong make them unequal.
class row_cuts {
 public:
  row_cuts(const primitives::spmv_problem& p, const row_reader& rows, std::uint64_t parts)
      : rows_(rows), row_count_(p.rows), parts_(parts), has_row_ends_(p.has_row_ends) {
    if (!has_row_ends_) all_work_ = work_before(row_count_);
  }

  std::uint64_t parts() const noexcept { return parts_; }
  std::uint64_t begin(std::uint64_t part) const noexcept {
    if (has_row_ends_) return part_begin(row_count_, parts_, part);
    if (part >= parts_) return row_count_;
    const std::uint64_t wanted = part_begin(all_work_, parts_, part);
    // Halving visits the same rows for all parts as long as they agree, so cuts ascend whatever the offsets are.
    std::uint64_t low = 0;
    std::uint64_t high = row_count_;
    while (low < high) {
      const std::uint64_t middle = low + (high - low) / 2;
      if (work_before(middle) < wanted) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

 private:
  static constexpr std::uint64_t row_cost = 2;

  std::uint64_t work_before(std::uint64_t row) const noexcept {
    const std::uint64_t entries = row < row_count_ ? rows_.begin(row) : row == 0 ? 0 : rows_.end(row - 1);
    return std::min(entries, rows_.entries()) + row * row_cost;
  }

  const row_reader& rows_;
  std::uint64_t row_count_;
  std::uint64_t parts_;
  bool has_row_ends_;
  std::uint64_t all_work_ = 0;
};

}  // namespace sheaf::cpu
