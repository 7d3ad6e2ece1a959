#pragma once

#include <string>
#include <vector>

#include <sheaf/context.hpp>

#include "lab/peers/sparse/eigen.hpp"

namespace sheaf::bench::peers {

struct named_solver {
  std::string who;
  std::function<std::uint64_t()> run;  ///< from x = 0; returns the number of iterations when they are done
};

/// Solves A x = b as one writes it with cuSPARSE's product and cuBLAS's vector calls: with dot products that the host
/// reads, with dot products left on the device, and with such an iteration captured in a graph; with Jacobi by one more
/// kernel and dot product. All scalars have the type of the values. None where cuSPARSE or cuBLAS was not found when
/// this was built, or does not take the matrix. The views' arrays must outlive them.
std::vector<named_solver> cublas_solvers(const context& ctx, const csr_view& a, const_values b, values x,
                                         const solver_terms& terms);

}  // namespace sheaf::bench::peers
