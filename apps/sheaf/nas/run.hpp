#pragma once

#include <functional>
#include <string>
#include <string_view>

#include <sheaf/conjugate_gradient.hpp>
#include <sheaf/context.hpp>

#include "apps/sheaf/nas/matrix.hpp"

// The conjugate gradient benchmark of the NAS Parallel Benchmarks: the inverse power method, whose systems are solved
// by 25 steps of conjugate gradient each.
namespace sheaf::jobs {

struct nas_options {
  std::string_view variant = {};  ///< of conjugate_gradient
  /// Called after each iteration with its number, from 1 on, the residual and zeta.
  std::function<void(std::uint64_t, double, double)> progress = {};
};

struct nas_answer {
  double zeta = 0;
  double residual = 0;        ///< of the last system
  double seconds = 0;         ///< of all iterations
  double mop_per_second = 0;  ///< by the benchmark's count of operations
  /// Of the first system that did not take its 25 steps; limit if all did.
  stop_reason reason = stop_reason::limit;
  bool is_right = false;  ///< zeta is the official one to 1e-10, relative
  std::string variant;    ///< what solved the last system
};

/// Runs the benchmark as prescribed: one iteration that is not timed, then those of the class from the start.
/// @param matrix  nas_matrix(of); in host memory, from where a context of another backend gets a copy
nas_answer run_nas(const context& ctx, const nas_class& of, const io::csr_matrix<double>& matrix,
                   const nas_options& options = {});

}  // namespace sheaf::jobs
