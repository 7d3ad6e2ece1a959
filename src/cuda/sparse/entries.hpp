#pragma once

#include <cstdint>

#include "core/scratch_offsets.hpp"
#include "cuda/sparse/sums/guard.hpp"

// The entries of a matrix one after another, row by row, whatever order its rows lie in, and without places that belong
// to no row: what transposed products sort by column.
namespace sheaf::cuda {

struct entry_offsets_layout {
  std::uint64_t offsets;  ///< one for each row and one more, of 8 bytes: entries of all rows before it
  std::uint64_t sums;     ///< of tiles of rows

  entry_offsets_layout(std::uint64_t rows, core::scratch_offsets& place) noexcept;
};

/// Queues the offsets of all rows, and reports rows that are wrong, which count as empty. Returns where they lie.
const std::uint64_t* queue_entry_offsets(const context& ctx, const primitives::spmv_problem& p, const csr_view& a,
                                         const csr_guard& guard, const entry_offsets_layout& layout,
                                         std::byte* scratch);

}  // namespace sheaf::cuda
