#pragma once

#include <vector>

#include <sheaf/context.hpp>

#include "lab/harness/problem.hpp"
#include "lab/harness/runner.hpp"
#include "lab/harness/workspace.hpp"

// Peers of list_rank and list_scan.
namespace sheaf::bench::peers {

namespace host {
/// One thread that finds the head and walks from it, "serial_walk". Past 2^28 nodes, lists that do not lie in order are
/// left out.
std::vector<contender> list_walks(const context& ctx, const problem& p, const workspace& arrays);
/// The same on copies of a device's arrays in host memory; the time has the way of the answer to the device, too. Large
/// lists that do not lie in order are left out, because their walks take minutes.
std::vector<contender> list_walks_for_devices(const context& ctx, const problem& p, const workspace& arrays);
}  // namespace host

/// Linked only where the CUDA backend is built.
namespace device {
/// No list at all: a scan of as many values in the order of the array, "cub.array_scan", which Wei and JaJa 2010
/// compare with. Only one list whose nodes lie in order has the same answer; beside other lists of integers it promises
/// less, and has a check of its own.
std::vector<contender> array_scans(const context& ctx, const problem& p, const workspace& arrays);
}  // namespace device

}  // namespace sheaf::bench::peers
