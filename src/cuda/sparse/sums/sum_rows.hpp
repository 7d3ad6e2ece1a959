#pragma once

#include "core/scratch_offsets.hpp"
#include "cuda/device/state.hpp"
#include "primitives/sparse/spmv.hpp"

// What products and solvers share: how they report what is wrong with a matrix, and sums row by row.
namespace sheaf::cuda {

using primitives::spmv_buffers;
using primitives::spmv_problem;

/// What the kernels of one call need to report what is wrong with a matrix; passed by value.
struct csr_guard {
  index_guard columns;  ///< its words are those of a bad column
  const core::index_wording* row_begin = nullptr;
  const core::index_wording* row_end = nullptr;
  const core::index_wording* backwards = nullptr;
  std::uint64_t entries = 0;
  std::uint32_t has_signed_offsets = 0;
  std::uint32_t* is_faulty = nullptr;  ///< null, or what is set to 1 where a fault is reported
};

/// Begins a call.
inline csr_guard guard_of(const context& ctx, const spmv_problem& problem, primitives::csr_call by) {
  using primitives::csr_fault;
  csr_guard guard;
  guard.columns = state_of(ctx).guard(wording_of(by, csr_fault::column), problem.column, problem.columns);
  guard.row_begin = &wording_of(by, csr_fault::row_begin);
  guard.row_end = &wording_of(by, csr_fault::row_end);
  guard.backwards = &wording_of(by, csr_fault::backwards);
  guard.entries = problem.entries;
  guard.has_signed_offsets = problem.offset == index_type::i32 || problem.offset == index_type::i64 ? 1 : 0;
  return guard;
}

constexpr std::uint64_t piece_entries = 1024;  ///< of a long row, summed by one warp

constexpr unsigned window_places = 256;  ///< that a warp reads at once where it takes several rows

/// How rows are summed. What decides the order of sums follows from the sizes of the whole matrix alone.
struct rows_decision {
  std::uint32_t rows_of_warp = 0;   ///< that a warp takes at once; 0: rows are a warp's each
  std::uint64_t long_entries = 0;   ///< rows from these entries on are left to warps, piece by piece
  bool has_random_columns = false;  ///< over an x that L1 does not hold, as the pattern says: other reads, same order
  bool has_few_places = false;      ///< fewer than a warp reads at once, of a part of a matrix: another kernel
  bool has_long_rows = false;       ///< there may be any
  std::uint64_t most_long_rows = 0;
  std::uint64_t most_pieces = 0;
  std::uint64_t count_at = 0;  ///< in scratch: how many rows were left, and their pieces
  std::uint64_t list_at = 0;
  std::uint64_t sums_at = 0;

  void tell(plan::told& to) const { to.add("rows_of_warp", rows_of_warp).add("long_row_entries", long_entries); }

  bool has_list() const noexcept { return most_long_rows > 0; }
};

/// Where a warp takes several rows at once, entries from which on a row is added by all its lanes; else all ones.
std::uint64_t whole_warp_entries(const spmv_problem& problem) noexcept;

constexpr unsigned most_of_a_lane = 32;  ///< entries that a lane adds alone, where a warp takes several rows

/// Threads that share a row, where groups of them take rows: a power of two up to 32, by the mean length of rows.
std::uint32_t lanes_of_row(const spmv_problem& problem) noexcept;

constexpr std::uint64_t unknown_length = ~std::uint64_t{0};

/// @param longest_row  most entries of a row, where that is known
rows_decision decide_rows(const spmv_problem& problem, core::scratch_offsets& place,
                          std::uint64_t longest_row = unknown_length) noexcept;

/// Where a product by rows finds the value of x of a place; by default where the caller's columns say.
struct x_source {
  const void* gathered = nullptr;                   ///< the values themselves, one for each place
  const std::uint16_t* compressed = nullptr;        ///< columns without the base of their rows, all of them right
  const std::uint32_t* compressed_bases = nullptr;  ///< one for each base_rows rows
};
constexpr std::uint64_t base_rows = 128;  ///< rows whose compressed columns have one base

/// Queues y of all rows.
/// @param skips  null, or a word in device memory: if it is not 0 when the kernels begin, they leave y as it is
void multiply_rows(const context& ctx, const spmv_problem& problem, const rows_decision& decision,
                   const spmv_buffers& buffers, const csr_guard& guard, const x_source& from, std::byte* scratch,
                   const std::uint32_t* skips = nullptr);

/// Adds the time of what is streamed, and of x read where the columns say, which go on at the same time.
void add_reads(const spmv_problem& problem, const machine& machine, double streamed_seconds, plan::planned& plan);

/// Adds the cost of a product by rows with x read where the columns say, or from what was gathered. `spread` is the
/// time of what is streamed over that of a copy.
void price_rows(const spmv_problem& problem, const machine& machine, bool is_gathered, double spread,
                plan::planned& plan);

/// multiply_rows for values and sums of two types; each pair is compiled in a source of its own.
template <class Value, class Sum>
struct rows_of_types {
  static void multiply(const context& ctx, const spmv_problem& problem, const rows_decision& decision,
                       const spmv_buffers& buffers, const csr_guard& guard, const x_source& from, std::byte* scratch,
                       const std::uint32_t* skips);
};
extern template struct rows_of_types<float, float>;
extern template struct rows_of_types<float, double>;
extern template struct rows_of_types<double, double>;

}  // namespace sheaf::cuda
