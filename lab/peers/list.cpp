#include "lab/peers/list.hpp"

#include "lab/description/movement/problem.hpp"
#include "lab/description/sparse/problem.hpp"
#include "lab/peers/contenders.hpp"
#include "primitives/reduce/rows.hpp"

namespace sheaf::bench::peers {
namespace {

/// Peers of some entries on one backend. Each is called the way that is fastest for it; none where none is built for
/// the row's widths and types. Scratch memory is allocated before they are timed, as ours is.
struct peer_row {
  backend_kind backend;
  make_contenders* make;
  std::array<std::string_view, 4> primitives;  ///< names of entries

  bool is_of(std::string_view primitive) const { return std::ranges::find(primitives, primitive) != primitives.end(); }
};

constexpr backend_kind cpu = backend_kind::cpu;
constexpr peer_row rows[] = {
    {cpu, host::plain_loops, {"gather", "scatter", "scatter_reduce"}},
    {cpu, host::plain_loops, {"scatter_reduce_rows", "gather_reduce"}},
    {cpu, host::split_peers, {"split", "split_unstable", "split_gather_index", "split_scatter_index"}},
    {cpu, host::membership_loops, {"multi_split"}},
    {cpu, host::std_sorts, {"sort_keys", "sort_pairs", "sort_records", "sort_gather_index"}},
#if SHEAF_BENCH_HAS_TBB
    {cpu, host::tbb_sorts, {"sort_keys", "sort_pairs", "sort_records", "sort_gather_index"}},
    {cpu, host::tbb_membership_sorts, {"multi_split"}},
#endif
#if SHEAF_BENCH_HAS_VQSORT
    {cpu, host::vectorized_sorts, {"sort_keys", "sort_pairs", "sort_gather_index"}},
#endif
#if SHEAF_BENCH_HAS_SPREADSORT
    {cpu, host::spreading_sorts, {"sort_keys", "sort_pairs", "sort_gather_index"}},
#endif
    {cpu, host::list_walks, {"list_rank", "list_scan"}},
    {cpu, host::array_scans, {"list_scan"}},
#if SHEAF_BENCH_HAS_TBB
    {cpu, host::tbb_array_scans, {"list_scan"}},
#endif
    {cpu, host::sorted_arrays, {"build_hash_index"}},
    {cpu, host::unordered_maps, {"hash_search", "hash_count", "hash_contains", "hash_find"}},
    {cpu, host::binary_searches, {"hash_search", "hash_count", "hash_contains", "hash_find"}},
    {cpu, host::open_addressing, {"hash_search", "hash_contains", "hash_find"}},
    {cpu, host::plain_loops, {"spmv", "conjugate_gradient", "spmm"}},
    {cpu, host::eigen_rows, {"spmv"}},
    {cpu, host::eigen_dense_rows, {"spmm"}},
    {cpu, host::edge_loops, {"edge_sum"}},
#if SHEAF_HAS_CUDA
    {backend_kind::cuda, device::gathers, {"gather"}},
    {backend_kind::cuda, device::scatters, {"scatter"}},
    {backend_kind::cuda, device::last_writer_scatters, {"scatter"}},
    {backend_kind::cuda, device::split_peers, {"split", "split_unstable"}},
    {backend_kind::cuda, device::split_index_peers, {"split_gather_index", "split_scatter_index"}},
    {backend_kind::cuda, device::membership_sorts, {"multi_split"}},
    {backend_kind::cuda, device::reduce_peers, {"scatter_reduce"}},
    {backend_kind::cuda, device::row_atomics, {"scatter_reduce_rows"}},
    {backend_kind::cuda, device::row_sorts, {"scatter_reduce_rows"}},
    {backend_kind::cuda, device::sort_keys_peers, {"sort_keys"}},
    {backend_kind::cuda, device::sort_pairs_peers, {"sort_pairs"}},
    {backend_kind::cuda, device::sort_records_peers, {"sort_records"}},
    {backend_kind::cuda, device::sort_index_peers, {"sort_gather_index"}},
    {backend_kind::cuda, device::array_scans, {"list_scan"}},
    {backend_kind::cuda, host::list_walks_for_devices, {"list_rank", "list_scan"}},
    {backend_kind::cuda, device::open_addressing, {"build_hash_index", "hash_search", "hash_contains", "hash_find"}},
    {backend_kind::cuda, device::cusparse_rows, {"spmv"}},
    {backend_kind::cuda, device::cusparse_dense_rows, {"spmm"}},
    {backend_kind::cuda, device::cusparse_segments, {"gather_reduce"}},
    {backend_kind::cuda, device::edge_atomics, {"edge_sum"}},
#endif
};

constexpr peer_name all_names[] = {
    {"thrust", "`thrust::gather`", "gather"},
    {"thrust", "`thrust::scatter`", "scatter"},
    {"cub", "CUB sort of pairs", "sort_pairs"},
    {"cub", "CUB argsort and `thrust::gather`", "sort_records"},
    {"cub", "CUB sort of pairs", "sort_gather_index"},
    {"cub", "CUB sort of pairs and `thrust::gather`", "multi_split"},
    {"atomic_loop", "loop with atomic additions"},
    {"atomic_max", "two kernels, `atomicMax` first"},
    {"atomics", "kernel of `atomicAdd`"},
    {"binary_search", "`std::lower_bound` by all threads"},
    {"boost.spreadsort", "Boost `spreadsort`"},
    {"cub", "CUB radix sort"},
    {.who = "cub.array_scan", .text = "CUB scan of an array", .is_for_scale = true},
    {"cub.partition", "CUB partition"},
    {"cub.sort_reduce", "CUB sort and reduction"},
    {"cusparse", "cuSPARSE"},
    {"cusparse.alg1", "cuSPARSE ALG1"},
    {"cusparse.alg1.preprocessed", "cuSPARSE ALG1, preprocessed"},
    {"cusparse.alg2", "cuSPARSE ALG2"},
    {"cusparse.alg2.preprocessed", "cuSPARSE ALG2, preprocessed"},
    {"cusparse.alg3", "cuSPARSE ALG3"},
    {"cusparse.preprocessed", "cuSPARSE, preprocessed"},
    {"eigen", "Eigen"},
    {"open_addressing", "linear probing at load 0.26 to 0.5"},
    {"plain_loop", "OpenMP loop"},
    {"serial_loop", "loop of one CPU thread"},
    {"serial_walk", "walk of one CPU thread"},
    {.who = "std.inclusive_scan", .text = "`std::inclusive_scan` of an array", .is_for_scale = true},
    {"std.sort", "`std::sort`"},
    {"std.stable_sort", "`std::stable_sort`"},
    {"std.unordered_map", "`std::unordered_map`"},
    {"std.unordered_multimap", "`std::unordered_multimap`"},
    {.who = "tbb.parallel_scan", .text = "oneTBB `parallel_scan` of an array", .is_for_scale = true},
    {"tbb.parallel_sort", "oneTBB `parallel_sort`"},
    {"thrust.stable_sort", "`thrust::stable_sort`"},
    {"vqsort", "Highway `vqsort`"},
};

// A name that no entry has would leave its peers out without a word.
bool require_known_names() {
  for (const peer_row& row : rows) {
    for (const std::string_view primitive : row.primitives) {
      if (!primitive.empty()) primitives::entry_named(primitive);
    }
  }
  return true;
}

}  // namespace

std::vector<contender> host::plain_loop(const char* who, const context& ctx, const problem& p,
                                        const workspace& arrays) {
  // Whether there is one follows from types alone.
  if (!jobs::job_of(p).plain_loop(ctx, p, {})) return {};
  const auto queue = [ctx, p, &arrays](std::uint64_t copy) { jobs::job_of(p).plain_loop(ctx, p, arrays.all(copy))(); };
  return {peer(who, 0, queue)};
}

std::vector<contender> host::plain_loops(const context& ctx, const problem& p, const workspace& arrays) {
  const bool is_serial = p.part<primitives::movement_part>().duplicates == duplicates::last ||
                         p.primitive == primitives::scatter_reduce_rows_call ||
                         p.part<primitives::sparse_part>().is_transposed;
  return plain_loop(is_serial ? "serial_loop" : "plain_loop", ctx, p, arrays);
}

std::vector<contender> peers_of(const context& ctx, const problem& problem, const workspace& arrays) {
  [[maybe_unused]] static const bool are_known = require_known_names();
  std::vector<contender> all;
  for (const peer_row& row : rows) {
    if (row.backend != ctx.backend() || !row.is_of(problem.primitive)) continue;
    for (contender& peer : row.make(ctx, problem, arrays)) all.push_back(std::move(peer));
  }
  return all;
}

std::span<const peer_name> names() { return all_names; }

}  // namespace sheaf::bench::peers
