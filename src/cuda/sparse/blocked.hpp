#pragma once

#include <cstdint>

#include "primitives/sparse/spmv.hpp"

// The shape of a blocked matrix. Its entries are grouped by slice, a range of columns whose part of x fits shared
// memory, and within a slice by row block, rows whose products fit shared memory together.
namespace sheaf::cuda {

struct blocked_shape {
  std::uint64_t slice_columns;  ///< columns of a slice; a place in one has 16 bits
  std::uint64_t slices;
  std::uint64_t block_entries;  ///< a row is of the block in whose share of the entries it begins
  std::uint64_t blocks;
  std::uint64_t longest_row;  ///< longer rows do not fit beside the other rows of a block

  /// A group is the entries of one slice and one row block.
  constexpr std::uint64_t groups() const noexcept { return slices * blocks; }
  /// Products that a row block has at most.
  constexpr std::uint64_t most_products() const noexcept { return block_entries + longest_row; }
};

constexpr std::uint64_t slice_bytes = 128 << 10;  ///< of x, in shared memory, a block on each multiprocessor
constexpr std::uint64_t block_bytes = 64 << 10;   ///< of products, in shared memory, two blocks on each

inline blocked_shape shape_of(const primitives::spmv_problem& p) noexcept {
  blocked_shape shape{};
  shape.slice_columns = slice_bytes / p.value_bytes();
  shape.slices = (p.columns + shape.slice_columns - 1) / shape.slice_columns;
  shape.block_entries = block_bytes / p.sum_bytes();
  shape.blocks = (p.entries + shape.block_entries - 1) / shape.block_entries;
  shape.longest_row = shape.block_entries * 3 / 8;
  return shape;
}

}  // namespace sheaf::cuda
