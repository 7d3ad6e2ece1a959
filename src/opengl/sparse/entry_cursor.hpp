#pragma once

#include <cstdint>

#include "primitives/sparse/host_matrix.hpp"

namespace sheaf::opengl {

/// Entries of one row, side by side.
template <unsigned Most>
struct entry_group {
  std::uint32_t row = 0;
  std::uint32_t count = 0;
  std::uint32_t columns[Most] = {};
  float values[Most] = {};
};

/// Goes through the entries of a matrix, row by row, and stops where the caller has no more room. Rows and columns that
/// there are not are left out.
class entry_cursor {
 public:
  entry_cursor(const primitives::spmv_problem& p, const csr_view& a) : rows_(p, a), a_(a), limit_(p.columns) {}

  bool is_done() const noexcept { return row_ == a_.rows; }
  bool has_met_faults() const noexcept { return has_met_faults_; }
  /// Groups that were emitted so far.
  std::uint64_t emitted() const noexcept { return emitted_; }

  /// Calls emit(group) for the next entries, in groups of `Most` or less of one row, at most `room` times. Returns how
  /// often.
  template <unsigned Most, class Emit>
  std::uint64_t visit(std::uint64_t room, Emit emit) {
    const std::uint64_t groups =
        primitives::with_columns(a_, [&](const auto* columns) { return visit_as<Most>(columns, room, emit); });
    emitted_ += groups;
    return groups;
  }

 private:
  template <unsigned Most, class Column, class Emit>
  std::uint64_t visit_as(const Column* columns, std::uint64_t room, Emit emit) {
    const auto* const values = static_cast<const float*>(a_.values.data);
    std::uint64_t emitted = 0;
    for (; row_ < a_.rows; ++row_, is_in_row_ = false) {
      if (!rows_.is_row(row_)) {
        has_met_faults_ = true;
        continue;
      }
      if (!is_in_row_) place_ = rows_.begin(row_);
      is_in_row_ = true;
      entry_group<Most> group;
      group.row = static_cast<std::uint32_t>(row_);
      for (const std::uint64_t end = rows_.end(row_); place_ < end; ++place_) {
        if (emitted == room) return emitted;
        const auto column = static_cast<std::uint64_t>(columns[place_]);  // extends the sign
        if (column >= limit_) {
          has_met_faults_ = true;
          continue;
        }
        group.columns[group.count] = static_cast<std::uint32_t>(column);
        group.values[group.count] = values[place_];
        if (++group.count < Most) continue;
        emit(group);
        ++emitted;
        group.count = 0;
      }
      if (group.count == 0) continue;
      emit(group);
      ++emitted;
    }
    return emitted;
  }

  primitives::host_rows rows_;
  csr_view a_;
  std::uint64_t limit_;
  std::uint64_t row_ = 0;
  std::uint64_t place_ = 0;
  std::uint64_t emitted_ = 0;
  bool is_in_row_ = false;
  bool has_met_faults_ = false;
};

}  // namespace sheaf::opengl
