#pragma once

#include <cmath>

#include "apps/sheaf/files/failure.hpp"
#include "apps/sheaf/files/progress.hpp"
#include "apps/sheaf/files/sparse/csr_matrix.hpp"
#include "apps/sheaf/files/sparse/entries.hpp"
#include "core/parallel_tasks.hpp"

namespace sheaf::io {

/// For entries of one place whose sum the type of values does not hold. @param row, column  from 0
template <class Value>
[[noreturn]] void fail_sum(const std::string& origin, std::uint64_t row, std::uint64_t column) {
  throw_error(error_code::bad_input, "{}: the entries at ({}, {}) add up to more than {} holds", origin, row + 1,
              column + 1, std::is_same_v<Value, float> ? "f32" : "f64");
}

struct matrix_place {
  std::uint64_t row = 0;
  std::uint64_t column = 0;
};

// The rows of one range, which one thread brings into order: they have their own part of every array.
template <class Index, class Column, class Value>
class range_compressor {
  // Rows of up to as many entries are sorted by insertion: std::stable_sort takes memory for every call.
  static constexpr std::uint64_t most_entries_to_insert = 32;

 public:
  range_compressor(const row_ranges& ranges, std::uint64_t range, std::uint64_t base, std::uint64_t* offsets,
                   Column* columns, Value* values)
      : range_(range),
        first_row_(ranges.first_row(range)),
        last_row_(ranges.first_row(range + 1)),
        base_(base),
        offsets_(offsets),
        columns_(columns),
        values_(values) {}

  // Row offsets count from the start of all arrays; those of rows without an entry are right, too. Returns the entries
  // that are left once those of one place are one: they lie at the beginning of the range's part.
  std::uint64_t run(const std::vector<entry_block<Index, Value>>& blocks) {
    count(blocks);
    place(blocks);
    return sort_and_add();
  }

  // The first place whose entries are finite, and their sum is not.
  std::optional<matrix_place> overflow() const { return overflow_; }

 private:
  template <class Work>
  void for_each_entry(const std::vector<entry_block<Index, Value>>& blocks, Work&& work) const {
    for (const auto& block : blocks) {
      const auto* const end = block.entries.get() + block.range_offsets[range_ + 1];
      for (const auto* entry = block.entries.get() + block.range_offsets[range_]; entry != end; ++entry) work(*entry);
    }
  }

  // After this, offsets_[row] is where the row begins.
  void count(const std::vector<entry_block<Index, Value>>& blocks) {
    std::fill(offsets_ + first_row_, offsets_ + last_row_, std::uint64_t{0});
    for_each_entry(blocks, [&](const auto& entry) { ++offsets_[entry.row]; });
    std::uint64_t sum = base_;
    for (std::uint64_t row = first_row_; row < last_row_; ++row) sum += std::exchange(offsets_[row], sum);
  }

  // After this, offsets_[row] is where the row ends.
  void place(const std::vector<entry_block<Index, Value>>& blocks) {
    for_each_entry(blocks, [&](const auto& entry) {
      const std::uint64_t to = offsets_[entry.row]++;
      columns_[to] = static_cast<Column>(entry.column);
      values_[to] = entry.value;
    });
  }

  // After this, offsets_[row] is where the row begins, once entries of one place are one.
  std::uint64_t sort_and_add() {
    std::uint64_t begin = base_;
    std::uint64_t kept = base_;
    for (std::uint64_t row = first_row_; row < last_row_; ++row) {
      const std::uint64_t end = std::exchange(offsets_[row], kept);
      if (!std::is_sorted(columns_ + begin, columns_ + end)) sort_row(begin, end);
      kept = add_row(row, begin, end, kept);
      begin = end;
    }
    return kept - base_;
  }

  // Stable, so that entries of one place stay in the file's order.
  void sort_row(std::uint64_t begin, std::uint64_t end) {
    if (end - begin <= most_entries_to_insert) return insert_row(begin, end);
    row_.clear();
    for (std::uint64_t i = begin; i < end; ++i) row_.emplace_back(columns_[i], values_[i]);
    std::stable_sort(row_.begin(), row_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [column, value] : row_) {
      columns_[begin] = column;
      values_[begin++] = value;
    }
  }

  void insert_row(std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t next = begin + 1; next < end; ++next) {
      const Column column = columns_[next];
      const Value value = values_[next];
      std::uint64_t to = next;
      for (; to > begin && columns_[to - 1] > column; --to) {
        columns_[to] = columns_[to - 1];
        values_[to] = values_[to - 1];
      }
      columns_[to] = column;
      values_[to] = value;
    }
  }

  // Moves a row to `kept`, which is not behind its beginning.
  std::uint64_t add_row(std::uint64_t row, std::uint64_t begin, std::uint64_t end, std::uint64_t kept) {
    const std::uint64_t first = kept;
    for (std::uint64_t i = begin; i < end; ++i) {
      if (kept > first && columns_[kept - 1] == columns_[i]) {
        const Value sum = values_[kept - 1] + values_[i];
        const bool overflows = std::isinf(sum) && std::isfinite(values_[kept - 1]) && std::isfinite(values_[i]);
        if (overflows && !overflow_) overflow_ = matrix_place{row, columns_[i]};
        values_[kept - 1] = sum;
      } else {
        columns_[kept] = columns_[i];
        values_[kept++] = values_[i];
      }
    }
    return kept;
  }

  std::uint64_t range_;
  std::uint64_t first_row_;
  std::uint64_t last_row_;
  std::uint64_t base_;
  std::uint64_t* offsets_;
  Column* columns_;
  Value* values_;
  std::vector<std::pair<Column, Value>> row_;
  std::optional<matrix_place> overflow_;
};

template <class Value>
void require_finite_sums(const std::vector<std::optional<matrix_place>>& overflows, const market_header& header,
                         const kept_rows& kept, const std::string& origin) {
  for (const auto& place : overflows) {
    if (!place) continue;
    auto [row, column] = *place;
    row += kept.first;
    if (kept.is_transposed) std::swap(row, column);
    // Of a symmetric matrix the file has the lower triangle.
    if (header.symmetry != market_symmetry::general && row < column) std::swap(row, column);
    fail_sum<Value>(origin, row, column);
  }
}

// Moves the ranges' entries together, where adding some up has left gaps, and shifts the row offsets likewise.
template <class Column, class Value>
void close_gaps(csr_matrix<Value>& matrix, std::vector<Column>& columns, const row_ranges& ranges,
                const std::vector<std::uint64_t>& bases, const std::vector<std::uint64_t>& kept) {
  std::uint64_t to = 0;
  for (std::uint64_t range = 0; range < ranges.count(); to += kept[range++]) {
    const std::uint64_t gap = bases[range] - to;
    if (gap == 0) continue;
    const auto move_down = [&](auto& list) {
      const auto from = list.begin() + static_cast<std::ptrdiff_t>(bases[range]);
      std::copy_n(from, kept[range], from - static_cast<std::ptrdiff_t>(gap));
    };
    move_down(columns);
    move_down(matrix.values);
    for (std::uint64_t row = ranges.first_row(range); row < ranges.first_row(range + 1); ++row) {
      matrix.row_offsets[row] -= gap;
    }
  }
  columns.resize(to);
  matrix.values.resize(to);
}

/// Brings entries into compressed rows; those of one place are added up in their order. Frees the blocks.
/// @param ranges  of the rows that are kept
/// @param origin  what the message calls the file
/// @throws error(bad_input) for entries of one place that are finite, and their sum is not
template <class Index, class Value>
csr_matrix<Value> compress(std::vector<entry_block<Index, Value>> blocks, const market_header& header,
                           const kept_rows& kept_of_file, const row_ranges& ranges, int threads,
                           const std::string& origin) {
  // Where each range's part of the arrays begins.
  std::vector<std::uint64_t> bases(ranges.count() + 1, 0);
  for (const auto& block : blocks) {
    for (std::uint64_t range = 0; range < ranges.count(); ++range) {
      bases[range + 1] += block.range_offsets[range + 1] - block.range_offsets[range];
    }
  }
  for (std::uint64_t range = 0; range < ranges.count(); ++range) bases[range + 1] += bases[range];
  csr_matrix<Value> matrix;
  matrix.rows = kept_of_file.count;
  matrix.columns = kept_of_file.is_transposed ? header.rows : header.columns;
  matrix.row_offsets.resize(matrix.rows + 1);
  matrix.values.resize(bases.back());
  if (matrix.columns > most_columns_of_32_bits) matrix.column_indices.template emplace<std::vector<std::uint64_t>>();
  std::visit(
      [&](auto& columns) {
        using column_type = typename std::remove_reference_t<decltype(columns)>::value_type;
        columns.resize(bases.back());
        std::vector<std::uint64_t> kept(ranges.count());
        std::vector<std::optional<matrix_place>> overflows(ranges.count());
        progress_step step("building the matrix: entries", progress_unit::items, static_cast<double>(bases.back()));
        core::for_each_task(ranges.count(), static_cast<std::uint64_t>(threads), [&](std::uint64_t range) {
          range_compressor<Index, column_type, Value> rows(ranges, range, bases[range], matrix.row_offsets.data(),
                                                           columns.data(), matrix.values.data());
          kept[range] = rows.run(blocks);
          overflows[range] = rows.overflow();
          step.add(bases[range + 1] - bases[range]);
        });
        require_finite_sums<Value>(overflows, header, kept_of_file, origin);
        close_gaps(matrix, columns, ranges, bases, kept);
      },
      matrix.column_indices);
  matrix.row_offsets.back() = matrix.entries();
  return matrix;
}

}  // namespace sheaf::io
