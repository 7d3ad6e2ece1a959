#pragma once

#include "cuda/sparse/sums/sum_rows.hpp"

// A copy of a matrix, transposed by a stable sort of its entries by column: each row of the transposed matrix has its
// entries in the order of the rows that they come from.
namespace sheaf::cuda {

/// Whether rows and places fit 32 bits, so that the columns of the transposed matrix have 4 bytes; else they have 8.
inline bool has_narrow_sources(const spmv_problem& p) noexcept { return p.rows >> 32 == 0 && p.entries >> 32 == 0; }

/// The arrays of a transposed matrix. They have as many places as the matrix; those of entries that belong to no row
/// lie behind the last row.
struct transposed_entries {
  std::uint64_t* offsets;  ///< one more than the matrix has columns
  void* columns;
  void* values;
};

/// Why a matrix cannot be transposed at once; null if it can.
const char* transposition_rejection(const spmv_problem& problem) noexcept;
/// Adds the cost of a transposition to a plan, and its scratch.
void add_transposition(const spmv_problem& problem, const machine& m, plan::planned& plan);
/// Queues a transposition, which reports what is wrong with the matrix. It takes the entries from `first` on, row by
/// row, as many as the arrays have places: all of them, unless rows with ends of their own share some.
void queue_transposition(const context& ctx, const spmv_problem& problem, const csr_view& a, const csr_guard& guard,
                         const transposed_entries& to, std::byte* scratch, std::uint64_t first = 0);
/// Entries of all rows, which may be more than the arrays have places where rows share some. Waits for the device.
std::uint64_t count_entries_of_rows(const context& ctx, const spmv_problem& problem, const csr_view& a,
                                    const csr_guard& guard, std::byte* scratch);

}  // namespace sheaf::cuda
