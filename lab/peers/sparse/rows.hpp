#pragma once

#include <vector>

#include <sheaf/context.hpp>

#include "lab/harness/problem.hpp"
#include "lab/harness/runner.hpp"
#include "lab/harness/workspace.hpp"

// Peers of the rows of spmv. What they make of a matrix is made before they are timed, as for sheaf.prepared.
namespace sheaf::bench::peers::host {

/// The loop over rows in all threads, "plain_loop"; by columns, which threads would have to share, in one thread,
/// "serial_loop".
std::vector<contender> product_loops(const context& ctx, const problem& p, const workspace& arrays);

/// Eigen in all threads, "eigen"; by columns it takes one.
std::vector<contender> eigen_rows(const context& ctx, const problem& p, const workspace& arrays);

}  // namespace sheaf::bench::peers::host

/// Linked only where the CUDA backend is built.
namespace sheaf::bench::peers::device {

/// cuSPARSE by each of its algorithms, "cusparse" by the one that it takes itself and "cusparse.alg1", as it is and
/// after cusparseSpMV_preprocess, "cusparse.preprocessed".
std::vector<contender> cusparse_rows(const context& ctx, const problem& p, const workspace& arrays);

}  // namespace sheaf::bench::peers::device
