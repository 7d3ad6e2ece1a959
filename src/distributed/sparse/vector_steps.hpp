#pragma once

#include <cstdint>

#include <sheaf/spmv.hpp>

// What conjugate gradient does with this rank's part of its vectors, block by block, in the order of sums that the
// CPU's own solver has (src/cpu/sparse/vector_steps.hpp): so one rank, or many, get its bits. A block has eight sums,
// of the values 0, 8, 16, ..., of 1, 9, 17, ... and so on, which are added in pairs; blocks are added likewise.
namespace sheaf::distributed {

struct block_range {
  std::uint64_t first;
  std::uint64_t last;
};

struct residual_sums {
  double squared;  ///< r.r
  double with_z;   ///< r.z, where z = r without a preconditioner
};

/// Kernels for values of one type. The inverse of the diagonal is null without a preconditioner.
struct vector_steps {
  double (*dot)(const void* a, const void* b, block_range at);
  std::uint64_t (*nonzeros)(const void* x, block_range at);
  residual_sums (*sums_of_residual)(const void* r, const void* inverse, block_range at);
  /// r -= alpha q
  residual_sums (*step_residual)(void* r, const void* q, const void* inverse, double alpha, block_range at);
  /// p = z + beta p; with beta 0 p is not read.
  void (*step_direction)(void* p, const void* r, const void* inverse, double beta, block_range at);
  /// to = from + alpha p
  void (*step_solution)(const void* from, void* to, const void* p, double alpha, block_range at);
  /// inverse = 1 / inverse; false if a value is not above 0.
  bool (*invert)(void* inverse, block_range at);
};

const vector_steps& steps_of(value_type value, spmv_sums sums) noexcept;

/// The sum of all blocks.
double sum_of_blocks(const double* of_block, std::uint64_t blocks) noexcept;

}  // namespace sheaf::distributed
