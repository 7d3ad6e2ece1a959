#include "bench/peers/linked_list.hpp"
#include "bench/peers/list.hpp"
#include "bench/peers/movement.hpp"
#include "bench/peers/sort.hpp"
#include "bench/peers/split.hpp"

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
#if SHEAF_BENCH_HAS_TBB
    {"sort_keys", cpu, tbb_sorts},
    {"sort_pairs", cpu, tbb_sorts},
    {"sort_records", cpu, tbb_sorts},
    {"sort_gather_index", cpu, tbb_sorts},
#endif
  };
  return rows;
}

}  // namespace sheaf::bench::peers::host
