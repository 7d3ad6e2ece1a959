#include "lab/peers/edges.hpp"
#include "lab/peers/hash_table.hpp"
#include "lab/peers/linked_list.hpp"
#include "lab/peers/list.hpp"
#include "lab/peers/movement.hpp"
#include "lab/peers/sort.hpp"
#include "lab/peers/sparse/rows.hpp"
#include "lab/peers/split.hpp"

namespace sheaf::bench::peers::device {

std::span<const peer_row> all() {
  constexpr backend_kind cuda = backend_kind::cuda;
  static constexpr peer_row rows[] = {
      {"gather", cuda, gathers},
      {"scatter", cuda, scatters},
      {"scatter", cuda, last_writer_scatters},
      {"split", cuda, split_peers},
      {"split_unstable", cuda, split_peers},
      {"split_gather_index", cuda, split_index_peers},
      {"split_scatter_index", cuda, split_index_peers},
      {"scatter_reduce", cuda, reduce_peers},
      {"sort_keys", cuda, sort_keys_peers},
      {"sort_pairs", cuda, sort_pairs_peers},
      {"sort_records", cuda, sort_records_peers},
      {"sort_gather_index", cuda, sort_index_peers},
      {"list_rank", cuda, host::list_walks_for_devices},
      {"list_scan", cuda, array_scans},
      {"list_scan", cuda, host::list_walks_for_devices},
      {"build_hash_index", cuda, open_addressing},
      {"hash_search", cuda, open_addressing},
      {"hash_contains", cuda, open_addressing},
      {"hash_find", cuda, open_addressing},
      {"spmv", cuda, cusparse_rows},
      {"edge_sum", cuda, edge_atomics},
  };
  return rows;
}

}  // namespace sheaf::bench::peers::device
