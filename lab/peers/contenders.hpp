#pragma once

#include "lab/description/keys.hpp"
#include "lab/harness/problem.hpp"
#include "lab/harness/runner.hpp"
#include "lab/harness/workspace.hpp"

// The peers of each family, which list.cpp puts beside the entries. Their scratch memory is allocated before they are
// timed, as ours is.
namespace sheaf::bench::peers {

using primitives::key_part;

/// Makes the peers of a row; none where none is built for its widths and types.
using make_contenders = std::vector<contender>(const context& ctx, const problem& problem, const workspace& arrays);

namespace host {

/// A contender that has done its work when queue(copy) returns.
inline contender peer(const char* who, std::uint64_t scratch_bytes, std::function<void(std::uint64_t)> queue) {
  return {.who = who, .scratch_bytes = scratch_bytes, .queue = std::move(queue), .wait = [] {}};
}

/// The plain loop of the row's job, in as many threads as that has, by this name.
std::vector<contender> plain_loop(const char* who, const context& ctx, const problem& problem, const workspace& arrays);
/// By the name "plain_loop"; "serial_loop" where threads would have to share what they write, as with duplicates::last
/// and in transposed products.
make_contenders plain_loops;

/// "plain_loop", a serial counting sort, and from 17 bits on "stable_sort" of records or their numbers; for one bit of
/// records "partition_copy" and "stable_partition".
make_contenders split_peers;

/// Of records in several categories: a counting sort of all memberships in one thread, "serial_loop".
make_contenders membership_loops;
/// Memberships as pairs of category and record in 64 bits, which are sorted on the context's threads,
/// "tbb.parallel_sort"; then all threads collect the records. Linked only where oneTBB was found.
make_contenders tbb_membership_sorts;

/// Rows up to 32 bytes are sorted as they are, wider ones by their keys with row numbers, and then collected. All sorts
/// leave their input alone, as ours do. "std.sort" and, where rows of equal keys differ, "std.stable_sort", both
/// serial.
make_contenders std_sorts;
/// "tbb.parallel_sort" on the context's threads. Linked only where oneTBB was found.
make_contenders tbb_sorts;
/// "vqsort" and "boost.spreadsort", serial, of numbers of 4 and 8 bytes. Linked only where the libraries were found.
make_contenders vectorized_sorts;
make_contenders spreading_sorts;

/// One thread that finds the head and walks from it, "serial_walk". Past 2^28 nodes, lists that do not lie in order are
/// left out.
make_contenders list_walks;
/// The same on copies of a device's arrays in host memory; the time has the way of the answer to the device, too. Large
/// lists that do not lie in order are left out, because their walks take minutes.
make_contenders list_walks_for_devices;

/// No list at all: a scan of as many values in the order of the array, one thread, "std.inclusive_scan". Only one list
/// whose nodes lie in order has the same answer; beside other lists of integers it promises less, and has a check of
/// its own.
make_contenders array_scans;
/// The same on the context's threads, "tbb.parallel_scan". Linked only where oneTBB was found.
make_contenders tbb_array_scans;

/// What a search looks in is built before it is timed, as ours is. One thread: std::unordered_map where the first
/// record of a key is asked for, else std::unordered_multimap, "std.unordered_map" and "std.unordered_multimap"; left
/// out where their nodes would take minutes to make.
make_contenders unordered_maps;
/// All threads: std::lower_bound in an array that is sorted by keys, "binary_search".
make_contenders binary_searches;
/// All threads, one probe after the other: linear probing in a table that is a quarter to half full, "open_addressing".
/// It has one record for each key, so that it finds all records only where keys do not repeat.
make_contenders open_addressing;
/// A build: std::sort of keys with their record numbers, one thread, "std.sort".
make_contenders sorted_arrays;

/// Eigen in all threads, "eigen"; by columns it takes one. What it makes of a matrix is made before it is timed, as for
/// sheaf.prepared.
make_contenders eigen_rows;
/// The same for a dense matrix in place of a vector, both with their rows side by side, "eigen".
make_contenders eigen_dense_rows;

/// A loop over the edges in one thread, "serial_loop", and one in all threads whose additions are atomic,
/// "atomic_loop".
make_contenders edge_loops;
/// The second of them, over arrays of the caller's that lie where the job of edge_sum has them.
std::function<void()> atomic_edge_loop(const problem& problem, int threads, const jobs::array_set& arrays);

}  // namespace host

/// Linked only where the CUDA backend is built. In many files because an instance takes up to a minute to compile.
namespace device {

/// Thrust, "thrust".
make_contenders gathers;
make_contenders scatters;
/// "atomic_max", for the rows of duplicates::last, which thrust has no call for.
make_contenders last_writer_scatters;

/// "cub", a radix sort by the key's bits. For an index split by keys of 4 or 8 bytes it sorts record numbers, and
/// thrust::scatter inverts them to a scatter index. "cub.partition" splits records in any order by one bit. They are in
/// three files, by what they sort.
make_contenders split_peers;
make_contenders split_index_peers;
make_contenders key_sorts;
make_contenders pair_sorts;
make_contenders index_sorts;
/// Of records in several categories: CUB's sort of record numbers by category, and thrust::gather of the records,
/// "cub".
make_contenders membership_sorts;
/// "atomics", a thread for each value, and "cub.sort_reduce", which sorts values by slot and adds up runs.
make_contenders reduce_peers;
/// Of rows: a thread for each value, or for four of f32 where the device has such atomics, "atomics". Sums of f32, f64,
/// and of f16 and bf16 in f32, of whole numbers of 32 and 64 bits, and the least and the most of f32.
make_contenders row_atomics;
/// Of sums of rows of floats in a fixed order: CUB sorts row numbers by slot, and a warp adds the rows of each slot,
/// "cub.sort_reduce".
make_contenders row_sorts;

/// "cub", a radix sort: of keys, of pairs, of rows by a decomposer up to 32 bytes, and of keys with row numbers that
/// thrust::gather follows for wider rows; "thrust.stable_sort" for rows of 16 and 32 bytes.
make_contenders sort_keys_peers;
make_contenders sort_pairs_peers;
make_contenders sort_records_peers;
make_contenders sort_index_peers;
make_contenders number_sorts;
/// Pairs and indices by signed and by floating keys.
make_contenders signed_number_sorts;
make_contenders float_sorts;
make_contenders value_sorts;
make_contenders struct_sorts;
make_contenders struct_comparison_sorts;
make_contenders large_record_sorts;

/// No list at all: a scan of as many values in the order of the array, "cub.array_scan", which Wei and JaJa 2010
/// compare with. Only one list whose nodes lie in order has the same answer; beside other lists of integers it promises
/// less, and has a check of its own.
make_contenders array_scans;

/// A thread for each key: atomicCAS into a table that is a quarter to half full, and linear probing, "open_addressing".
/// Searches ask for the first record of a key, or whether there is one; builds, and searches for all records, which a
/// scan of CUB's puts in place, are of keys that do not repeat.
make_contenders open_addressing;

/// cuSPARSE by each of its algorithms, "cusparse" by the one that it takes itself and "cusparse.alg1", as it is and
/// after cusparseSpMV_preprocess, "cusparse.preprocessed". What that makes of a matrix is made before it is timed.
make_contenders cusparse_rows;
/// cuSPARSE's products with row-major matrices by each of its algorithms: "cusparse" by the one that it takes itself,
/// "cusparse.alg2" and "cusparse.alg3", and "cusparse.alg2.preprocessed".
make_contenders cusparse_dense_rows;
/// The same of sums of gathered rows, with segments for rows and weights, or ones, for values.
make_contenders cusparse_segments;

/// A thread for each edge, whose additions are atomic, "atomics".
make_contenders edge_atomics;
/// That kernel over arrays of the caller's, in device memory; empty for numbers of components that it does not have.
std::function<void()> atomic_edge_kernel(const context& ctx, const problem& problem, const jobs::array_set& arrays);

}  // namespace device
}  // namespace sheaf::bench::peers
