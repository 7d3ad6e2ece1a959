#pragma once

#include "core/scratch_offsets.hpp"
#include "primitives/sparse/conjugate_gradient.hpp"

// What the variants of conjugate gradient share: the vectors, and the scalars on the device.
namespace sheaf::cuda {

using primitives::conjugate_gradient_buffers;
using primitives::conjugate_gradient_problem;

/// The scalars of a solver, which kernels keep in device memory and the host reads from time to time.
struct solver_state {
  enum phase : std::uint32_t { diagonal, start, iterations, phases };

  primitives::conjugate_gradient_steps steps{{}, 0};
  double b_squared = 0;
  double residual = 0;          ///< of the x that is the result, once the iteration is done
  std::uint64_t exchanges = 0;  ///< of sums between the blocks of cuda.persistent
  std::uint32_t b_is_zero = 0;
  std::uint32_t x_is_zero = 0;
  std::uint32_t has_step = 0;  ///< x and p have yet to follow the residual
  std::uint32_t ended_blocks = 0;
  std::uint32_t has_bad_diagonal = 0;
  std::uint32_t skips_products = 0;   ///< the next product of cuda.streamed is not wanted
  std::uint32_t is_faulty[phases]{};  ///< what is wrong was reported; one word for each phase of the kernels
};

constexpr std::uint64_t history_entries = 1024;  ///< residuals that the device keeps for the host to read

/// A solver's scalars as the device has them: its first bytes are read alone where nobody wants the residuals.
struct solver_memory {
  solver_state state;
  double history[history_entries];  ///< the residual of iteration i in place i % history_entries
};

/// Sums are made by tiles: a warp adds the rows of a tile, then all tiles are added in their order. So the order
/// follows from sizes alone.
constexpr std::uint64_t least_tile_rows = 32;

/// Rows of a tile, a power of two and at least `least`: so many that there are no more than `most_tiles` tiles.
constexpr std::uint64_t tile_rows_of(std::uint64_t rows, std::uint64_t least, std::uint64_t most_tiles) noexcept {
  return std::max(least, std::bit_ceil((rows + most_tiles - 1) / most_tiles));
}

/// Bytes that an iteration reads and writes of vectors: p and q for the product; r, q, r; x, p, r, x, p; and twice the
/// inverse of the diagonal.
inline std::uint64_t vector_traffic(const conjugate_gradient_problem& p) noexcept {
  constexpr std::uint64_t vectors = 10;
  return p.vector_bytes() * (vectors + (p.has_jacobi ? 2 : 0));
}

}  // namespace sheaf::cuda
