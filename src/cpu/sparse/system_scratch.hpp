#pragma once

#include "core/scratch_offsets.hpp"
#include "cpu/sparse/vector_steps.hpp"
#include "primitives/sparse/conjugate_gradient.hpp"

// The vectors of conjugate gradient, which the variants share.
namespace sheaf::cpu {

/// The vectors, and the sums of blocks. All but the caller's lie in scratch.
struct system_vectors {
  const void* b;
  void* x[2];  ///< the caller's, and another for an x that is not the best
  std::byte* r;
  std::byte* p;
  std::byte* q;
  std::byte* inverse;  ///< of the diagonal; null without a preconditioner
  double* sums[3];
  std::uint64_t blocks;

  system_vectors(const primitives::conjugate_gradient_problem& problem,
                 const primitives::conjugate_gradient_buffers& buffers, core::scratch_arrays& arrays)
      : b(buffers.b), blocks(blocks_of(problem.product.rows)) {
    const auto vector = [&, bytes = problem.vector_bytes()] { return arrays.take<std::byte>(bytes); };
    r = vector();
    p = vector();
    q = vector();
    x[0] = buffers.x;
    x[1] = problem.keeps_last ? nullptr : vector();
    inverse = problem.has_jacobi ? vector() : nullptr;
    for (double*& sum : sums) sum = arrays.take<double>(blocks);
  }

  /// Bytes of what lies in scratch.
  static std::uint64_t scratch_bytes(const primitives::conjugate_gradient_problem& problem) {
    return core::bytes_of<system_vectors>(problem, primitives::conjugate_gradient_buffers());
  }
};

}  // namespace sheaf::cpu
