#pragma once

#include <functional>
#include <vector>

#include <sheaf/context.hpp>

#include "lab/description/job.hpp"
#include "lab/harness/problem.hpp"
#include "lab/harness/runner.hpp"
#include "lab/harness/workspace.hpp"

// Peers of edge_sum.
namespace sheaf::bench::peers::host {

/// A loop over the edges in one thread, "serial_loop", and one in all threads whose additions are atomic,
/// "atomic_loop".
std::vector<contender> edge_loops(const context& ctx, const problem& p, const workspace& arrays);

/// The second of them, over arrays of the caller's that lie where the job of edge_sum has them.
std::function<void()> atomic_edge_loop(const problem& p, int threads, const jobs::array_set& arrays);

}  // namespace sheaf::bench::peers::host

/// Linked only where the CUDA backend is built.
namespace sheaf::bench::peers::device {

/// A thread for each edge, whose additions are atomic, "atomics".
std::vector<contender> edge_atomics(const context& ctx, const problem& p, const workspace& arrays);

/// That kernel over arrays of the caller's, in device memory; empty for numbers of components that it does not have.
std::function<void()> atomic_edge_kernel(const context& ctx, const problem& p, const jobs::array_set& arrays);

}  // namespace sheaf::bench::peers::device
