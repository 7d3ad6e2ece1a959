#pragma once

#include <utility>

#include <sheaf/context.hpp>

#include "apps/sheaf/files/sparse/csr_matrix.hpp"
#include "core/parallel_tasks.hpp"
#include "lab/inputs/pattern_function.hpp"

// Matrices whose rows are functions of their number, made on all threads.
namespace sheaf::bench {

/// Places that a thread does at once, at most.
constexpr std::uint64_t part_size = 1 << 16;

/// Calls work(begin, end) for ranges of `step` places, and a last one of fewer, that make up [0, count), on all
/// threads.
template <class Work>
void for_each_range(std::uint64_t count, std::uint64_t step, Work work) {
  core::for_each_task((count + step - 1) / step, static_cast<std::uint64_t>(context::cpu().threads()),
                      [&](std::uint64_t part) { work(part * step, std::min(count, (part + 1) * step)); });
}

template <class Work>
void for_each_range(std::uint64_t count, Work work) {
  for_each_range(count, part_size, work);
}

/// Rows whose columns columns_of(row, list) appends; they are sorted, and those that repeat are dropped. Values are
/// functions of an entry's place, from -0.5 to below 0.5.
template <class ColumnsOf>
io::csr_matrix<double> made(std::uint64_t rows, std::uint64_t columns, ColumnsOf columns_of) {
  io::csr_matrix<double> matrix;
  matrix.rows = rows;
  matrix.columns = columns;
  matrix.row_offsets.assign(rows + 1, 0);
  // Few long rows are parts for all threads, too.
  const std::uint64_t rows_of_a_part = std::clamp<std::uint64_t>(rows / 256, 1, part_size);
  std::vector<std::vector<std::uint32_t>> parts((rows + rows_of_a_part - 1) / rows_of_a_part);
  for_each_range(rows, rows_of_a_part, [&](std::uint64_t begin, std::uint64_t end) {
    std::vector<std::uint32_t>& all = parts[begin / rows_of_a_part];
    std::vector<std::uint32_t> row_columns;
    for (std::uint64_t row = begin; row < end; ++row) {
      row_columns.clear();
      columns_of(row, row_columns);
      std::ranges::sort(row_columns);
      row_columns.erase(std::unique(row_columns.begin(), row_columns.end()), row_columns.end());
      all.insert(all.end(), row_columns.begin(), row_columns.end());
      matrix.row_offsets[row + 1] = row_columns.size();
    }
  });
  for (std::uint64_t row = 0; row < rows; ++row) matrix.row_offsets[row + 1] += matrix.row_offsets[row];
  std::vector<std::uint32_t> all(matrix.row_offsets[rows]);
  matrix.values.resize(all.size());
  for_each_range(rows, rows_of_a_part, [&](std::uint64_t begin, std::uint64_t end) {
    std::vector<std::uint32_t>& part = parts[begin / rows_of_a_part];
    std::ranges::copy(part, all.begin() + static_cast<std::ptrdiff_t>(matrix.row_offsets[begin]));
    part = {};
    for (std::uint64_t i = matrix.row_offsets[begin]; i < matrix.row_offsets[end]; ++i) {
      matrix.values[i] = static_cast<double>(inputs::mix(i) >> 40) / (1 << 24) - 0.5;
    }
  });
  matrix.column_indices = std::move(all);
  return matrix;
}

template <class ColumnsOf>
io::csr_matrix<double> made(std::uint64_t rows, ColumnsOf columns_of) {
  return made(rows, rows, columns_of);
}

/// Calls work(number) for a node of a grid of side^3 nodes and for those that touch it, if only at a corner: 27 of
/// them, and fewer at the sides.
template <class Work>
void for_each_touching(std::uint64_t node, std::uint64_t side, Work work) {
  const auto ends_around = [side](std::uint64_t at) {
    return std::pair{at - std::min<std::uint64_t>(at, 1), std::min(side, at + 2)};
  };
  const auto [first_x, end_x] = ends_around(node % side);
  const auto [first_y, end_y] = ends_around(node / side % side);
  const auto [first_z, end_z] = ends_around(node / side / side);
  for (std::uint64_t z = first_z; z < end_z; ++z) {
    for (std::uint64_t y = first_y; y < end_y; ++y) {
      for (std::uint64_t x = first_x; x < end_x; ++x) work((z * side + y) * side + x);
    }
  }
}

}  // namespace sheaf::bench
