#pragma once

#include <cstddef>
#include <cstdint>

#include "core/scratch_offsets.hpp"
#include "cpu/sparse/vector_steps.hpp"
#include "primitives/sparse/conjugate_gradient.hpp"

// The vectors of conjugate gradient, which the variants share.
namespace sheaf::cpu {

/// Where they lie in scratch.
struct system_scratch {
  std::uint64_t r = 0;
  std::uint64_t p = 0;
  std::uint64_t q = 0;
  std::uint64_t x = 0;
  std::uint64_t inverse = 0;
  std::uint64_t sums[3]{};

  system_scratch() = default;
  system_scratch(const primitives::conjugate_gradient_problem& problem, core::scratch_offsets& place) {
    const std::uint64_t vector_bytes = problem.vector_bytes();
    r = place.take(vector_bytes);
    p = place.take(vector_bytes);
    q = place.take(vector_bytes);
    if (!problem.keeps_last) x = place.take(vector_bytes);
    if (problem.has_jacobi) inverse = place.take(vector_bytes);
    for (std::uint64_t& sum : sums) sum = place.take(blocks_of(problem.product.rows) * sizeof(double));
  }
};

/// The vectors themselves, and the sums of blocks.
struct system_vectors {
  const void* b;
  void* x[2];  ///< the caller's, and another for an x that is not the best
  void* r;
  void* p;
  void* q;
  void* inverse;  ///< of the diagonal; null without a preconditioner
  double* sums[3];
  std::uint64_t blocks;

  system_vectors(const primitives::conjugate_gradient_problem& problem, const system_scratch& at,
                 const primitives::conjugate_gradient_buffers& buffers, std::byte* scratch)
      : b(buffers.b),
        x{buffers.x, problem.keeps_last ? nullptr : scratch + at.x},
        r(scratch + at.r),
        p(scratch + at.p),
        q(scratch + at.q),
        inverse(problem.has_jacobi ? scratch + at.inverse : nullptr),
        blocks(blocks_of(problem.product.rows)) {
    for (int i = 0; i < 3; ++i) sums[i] = reinterpret_cast<double*>(scratch + at.sums[i]);
  }
};

}  // namespace sheaf::cpu
