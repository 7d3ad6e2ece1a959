#include "lab/peers/edges.hpp"
#include "lab/peers/hash_table.hpp"
#include "lab/peers/linked_list.hpp"
#include "lab/peers/list.hpp"
#include "lab/peers/movement.hpp"
#include "lab/peers/sort.hpp"
#include "lab/peers/sparse/rows.hpp"
#include "lab/peers/split.hpp"

namespace sheaf::bench::peers::host {

std::span<const peer_row> all() {
  constexpr backend_kind cpu = backend_kind::cpu;
  static constexpr peer_row rows[] = {
    {"gather", cpu, gathers},
    {"scatter", cpu, scatters},
    {"split", cpu, split_peers},
    {"split_unstable", cpu, split_peers},
    {"split_gather_index", cpu, split_peers},
    {"split_scatter_index", cpu, split_peers},
    {"scatter_reduce", cpu, reduce_peers},
    {"sort_keys", cpu, std_sorts},
    {"sort_pairs", cpu, std_sorts},
    {"sort_records", cpu, std_sorts},
    {"sort_gather_index", cpu, std_sorts},
    {"list_rank", cpu, list_walks},
    {"list_scan", cpu, list_walks},
    {"build_hash_index", cpu, sorted_arrays},
    {"hash_search", cpu, unordered_maps},
    {"hash_search", cpu, binary_searches},
    {"hash_search", cpu, open_addressing},
    {"hash_count", cpu, unordered_maps},
    {"hash_count", cpu, binary_searches},
    {"hash_contains", cpu, unordered_maps},
    {"hash_contains", cpu, binary_searches},
    {"hash_contains", cpu, open_addressing},
    {"hash_find", cpu, unordered_maps},
    {"hash_find", cpu, binary_searches},
    {"hash_find", cpu, open_addressing},
    {"spmv", cpu, product_loops},
    {"spmv", cpu, eigen_rows},
    {"edge_sum", cpu, edge_loops},
#if SHEAF_BENCH_HAS_TBB
    {"sort_keys", cpu, tbb_sorts},
    {"sort_pairs", cpu, tbb_sorts},
    {"sort_records", cpu, tbb_sorts},
    {"sort_gather_index", cpu, tbb_sorts},
#endif
#if SHEAF_BENCH_HAS_VQSORT
    {"sort_keys", cpu, vectorized_sorts},
    {"sort_pairs", cpu, vectorized_sorts},
    {"sort_gather_index", cpu, vectorized_sorts},
#endif
#if SHEAF_BENCH_HAS_SPREADSORT
    {"sort_keys", cpu, spreading_sorts},
    {"sort_pairs", cpu, spreading_sorts},
    {"sort_gather_index", cpu, spreading_sorts},
#endif
  };
  return rows;
}

}  // namespace sheaf::bench::peers::host
