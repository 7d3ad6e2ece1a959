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

/// In place of four real matrices, others of their rows and of about as many nonzeros a row, 11, 98, 145 and 399:
/// symmetric, positive definite, and with the structure that their origin suggests.
const std::vector<matrix_kind>& stand_ins();

}  // namespace sheaf::bench
