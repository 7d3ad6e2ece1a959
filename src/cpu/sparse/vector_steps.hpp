#pragma once

#include "primitives/sparse/spmv.hpp"

// What conjugate gradient does with vectors, block by block. Sums have one order, whatever the number of threads: a
// block of block_values values has eight sums, of the values 0, 8, 16, ... from its first on, 1, 9, 17, ... and so on,
// which are added in pairs, then blocks one after another. Products are rounded before they are added. Sums are of
// f64, also for values of f32, whose squares may be past both ends of f32.
namespace sheaf::cpu {

/// Rows of a block, whose values a thread reads and writes while they are in its nearest cache. NPB's smallest matrix
/// of 1400 rows still has a block for each of five threads.
constexpr std::uint64_t block_values = 256;

constexpr std::uint64_t blocks_of(std::uint64_t values) noexcept { return (values + block_values - 1) / block_values; }

/// The part of a vector that a kernel works on.
struct value_range_of_block {
  std::uint64_t first;
  std::uint64_t last;

  std::uint64_t block() const noexcept { return first / block_values; }
};

struct residual_sums {
  double squared;  ///< r.r
  double with_z;   ///< r.z, where z = r without a preconditioner
};

/// Kernels for values of one type. z is inverse * r, value by value; the inverse is null without a preconditioner.
struct vector_kernels {
  double (*dot)(const void* a, const void* b, value_range_of_block at);
  /// The number of values that are not 0.
  std::uint64_t (*nonzeros)(const void* x, value_range_of_block at);
  residual_sums (*sums_of_residual)(const void* r, const void* inverse, value_range_of_block at);
  /// r -= alpha q
  residual_sums (*step_residual)(void* r, const void* q, const void* inverse, double alpha, value_range_of_block at);
  /// p = z + beta p; with beta 0 p is not read.
  void (*step_direction)(void* p, const void* r, const void* inverse, double beta, value_range_of_block at);
  /// to = from + alpha p
  void (*step_solution)(const void* from, void* to, const void* p, double alpha, value_range_of_block at);
  /// Both, with p as it was before.
  void (*step_both)(const void* from, void* to, double alpha, void* p, const void* r, const void* inverse, double beta,
                    value_range_of_block at);
  void (*copy)(const void* from, void* to, value_range_of_block at);
  void (*clear)(void* x, value_range_of_block at);
  /// q = b - q
  void (*subtract_from)(const void* b, void* q, value_range_of_block at);
  /// inverse = 1 / diagonal; false if a value is not above 0.
  bool (*invert)(const void* diagonal, void* inverse, value_range_of_block at);
};

/// Kernels for the values of a product, with its sums.
const vector_kernels& vector_kernels_of(const primitives::spmv_problem& problem) noexcept;

/// The sum of all blocks, whose sums are `stride` numbers apart.
double sum_of_blocks(const double* of_block, std::uint64_t blocks, std::uint64_t stride = 1) noexcept;

/// Writes the diagonal of rows [first, last): entries of a place that occur several times are added. Wrong rows and
/// columns count as absent.
/// @param first_row  of the whole matrix that is row 0 here
void read_diagonal(const primitives::spmv_problem& problem, const csr_view& a, void* diagonal, value_range_of_block at,
                   std::uint64_t first_row = 0);

}  // namespace sheaf::cpu
