#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/sparse/csr_matrix.hpp"

namespace sheaf::bench {

/// A matrix of one kind that products meet, made by a rule.
struct matrix_kind {
  std::string name;
  io::csr_matrix<double> (*make)(bool quick);
};

/// Banded, a 7-point grid, uniform at random with x in and past the caches, and rows whose lengths follow a power law.
const std::vector<matrix_kind>& matrix_kinds();

}  // namespace sheaf::bench
