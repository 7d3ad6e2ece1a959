#pragma once

#include <vector>

#include <sheaf/context.hpp>

#include "lab/description/keys.hpp"
#include "lab/harness/problem.hpp"
#include "lab/harness/runner.hpp"
#include "lab/harness/workspace.hpp"

// Peers of our splits and reductions. Their scratch memory is allocated before they are timed, as ours is.
namespace sheaf::bench::peers {

using primitives::key_part;

/// CPU: "plain_loop", a serial counting sort, and from 17 bits on "stable_sort"; for one bit of records
/// "partition_copy" and "stable_partition". Of reductions: "plain_loop", serial.
namespace host {
std::vector<contender> split_peers(const context& ctx, const problem& p, const workspace& arrays);
std::vector<contender> reduce_peers(const context& ctx, const problem& p, const workspace& arrays);
}  // namespace host

/// CUDA: "cub", a radix sort by the key's bits. For an index split it sorts record numbers, and thrust::scatter inverts
/// them to a scatter index. "cub.partition" splits records in any order by one bit. Of reductions: "atomics", a thread
/// for each value, and "cub.sort_reduce", which sorts values by slot and adds up runs. Linked only where the CUDA
/// backend is built. The peers of a split are in three files, by what they sort: each instance takes a minute to
/// compile.
namespace device {
std::vector<contender> split_peers(const context& ctx, const problem& p, const workspace& arrays);
std::vector<contender> split_index_peers(const context& ctx, const problem& p, const workspace& arrays);
std::vector<contender> key_sorts(const context& ctx, const problem& p, const workspace& arrays);
std::vector<contender> pair_sorts(const context& ctx, const problem& p, const workspace& arrays);
std::vector<contender> index_sorts(const context& ctx, const problem& p, const workspace& arrays);
std::vector<contender> reduce_peers(const context& ctx, const problem& p, const workspace& arrays);
}  // namespace device

}  // namespace sheaf::bench::peers
