#pragma once

#include <vector>

#include <sheaf/context.hpp>

#include "lab/harness/problem.hpp"
#include "lab/harness/runner.hpp"
#include "lab/harness/workspace.hpp"

// Peers of hash searches and of builds. What a search looks in is built before it is timed, as ours is.
namespace sheaf::bench::peers {

namespace host {
/// One thread: std::unordered_map where the first record of a key is asked for, else std::unordered_multimap,
/// "std.unordered_map" and "std.unordered_multimap"; left out where their nodes would take minutes to make.
std::vector<contender> unordered_maps(const context& ctx, const problem& p, const workspace& arrays);
/// All threads: std::lower_bound in an array that is sorted by keys, "binary_search".
std::vector<contender> binary_searches(const context& ctx, const problem& p, const workspace& arrays);
/// All threads, one probe after the other: linear probing in a table that is a quarter to half full, "open_addressing".
/// It has one record for each key, so that it finds all records only where keys do not repeat.
std::vector<contender> open_addressing(const context& ctx, const problem& p, const workspace& arrays);
/// A build: std::sort of keys with their record numbers, one thread, "std.sort".
std::vector<contender> sorted_arrays(const context& ctx, const problem& p, const workspace& arrays);
}  // namespace host

/// Linked only where the CUDA backend is built.
namespace device {
/// A thread for each key: atomicCAS into a table that is a quarter to half full, and linear probing, "open_addressing".
/// Searches ask for the first record of a key, or whether there is one; builds, and searches for all records, which a
/// scan of CUB's puts in place, are of keys that do not repeat.
std::vector<contender> open_addressing(const context& ctx, const problem& p, const workspace& arrays);
}  // namespace device

}  // namespace sheaf::bench::peers
