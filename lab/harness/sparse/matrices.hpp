#pragma once

#include <string>

#include "apps/sheaf/files/sparse/csr_matrix.hpp"

namespace sheaf::bench {

/// A matrix of one kind that products meet, made by a rule.
struct matrix_kind {
  std::string name;
  io::csr_matrix<double> (*make)(bool quick);
  std::uint64_t nonzeros = 0;  ///< about so many, of stand_ins() alone
};

/// Banded, grids of 7 and 27 points, uniform at random with x in and past the caches, rows whose lengths follow a power
/// law, R-MAT, one dense row, and a matrix of NAS CG.
const std::vector<matrix_kind>& matrix_kinds();

/// Banded, grids and R-MAT of a size at which nothing stays in a GPU's caches, and uniform at random where f32 vectors
/// have 16, 64 and 256 MiB. The largest takes some 8 GiB while it is made.
const std::vector<matrix_kind>& large_matrix_kinds();

/// Matrices to judge variants by and not to tune them to, of 2 to 8 x 10^7 nonzeros: dense blocks of several unknowns
/// in each node of a grid, rows of lognormal lengths, hashed features, grids whose nodes are numbered anew, and rows of
/// one length. The largest takes some 1.3 GiB while it is made.
const std::vector<matrix_kind>& unseen_matrix_kinds();

/// In place of four real matrices, others of their rows and of about as many nonzeros a row, 11, 98, 145 and 399:
/// symmetric, positive definite, and with the structure that their origin suggests.
const std::vector<matrix_kind>& stand_ins();

struct matrix_shape {
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;  ///< at most 2^32
  std::uint64_t row_length = 0;

  std::uint64_t entries() const noexcept { return rows * row_length; }
};

/// Rows of this length, less what a row draws twice, whose columns lie anywhere: products read x at random. Square ones
/// are symmetric and positive definite, and short of columns where the rows are not a power of two.
io::csr_matrix<double> scattered_matrix(const matrix_shape& shape);

}  // namespace sheaf::bench
