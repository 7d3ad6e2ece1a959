#pragma once

#include <vector>

#include <sheaf/context.hpp>

#include "lab/description/keys.hpp"
#include "lab/harness/problem.hpp"
#include "lab/harness/runner.hpp"
#include "lab/harness/workspace.hpp"

// Peers of our sorts. All leave their input alone, as our sorts do. Their scratch memory is allocated before they are
// timed, as ours is.
namespace sheaf::bench::peers {

using primitives::key_part;

/// Rows up to 32 bytes are sorted as they are, wider ones by their keys with row numbers, and then collected.
namespace host {
/// "std.sort" and, where rows of equal keys differ, "std.stable_sort", both serial.
std::vector<contender> std_sorts(const context& ctx, const problem& p, const workspace& arrays);
/// "tbb.parallel_sort" on the context's threads. Linked only where oneTBB was found.
std::vector<contender> tbb_sorts(const context& ctx, const problem& p, const workspace& arrays);
/// "vqsort" and "boost.spreadsort", serial, of numbers of 4 and 8 bytes. Linked only where the libraries were found.
std::vector<contender> vectorized_sorts(const context& ctx, const problem& p, const workspace& arrays);
std::vector<contender> spreading_sorts(const context& ctx, const problem& p, const workspace& arrays);
}  // namespace host

/// "cub", a radix sort: of keys, of pairs, of rows by a decomposer up to 32 bytes, and of keys with row numbers that
/// thrust::gather follows for wider rows; "thrust.stable_sort" for rows of 16 and 32 bytes. Linked only where the CUDA
/// backend is built; in several files because each instance takes a minute to compile.
namespace device {
std::vector<contender> sort_keys_peers(const context& ctx, const problem& p, const workspace& arrays);
std::vector<contender> sort_pairs_peers(const context& ctx, const problem& p, const workspace& arrays);
std::vector<contender> sort_records_peers(const context& ctx, const problem& p, const workspace& arrays);
std::vector<contender> sort_index_peers(const context& ctx, const problem& p, const workspace& arrays);
std::vector<contender> number_sorts(const context& ctx, const problem& p, const workspace& arrays);
/// Pairs and indices by signed and by floating keys.
std::vector<contender> signed_number_sorts(const context& ctx, const problem& p, const workspace& arrays);
std::vector<contender> float_sorts(const context& ctx, const problem& p, const workspace& arrays);
std::vector<contender> value_sorts(const context& ctx, const problem& p, const workspace& arrays);
std::vector<contender> struct_sorts(const context& ctx, const problem& p, const workspace& arrays);
std::vector<contender> struct_comparison_sorts(const context& ctx, const problem& p, const workspace& arrays);
std::vector<contender> large_record_sorts(const context& ctx, const problem& p, const workspace& arrays);
}  // namespace device

}  // namespace sheaf::bench::peers
