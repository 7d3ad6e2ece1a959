#include "lab/description/entry.hpp"
#include "lab/description/job.hpp"

namespace sheaf::primitives {

// Each is defined in its family's folder.
extern const entry gather_entry, scatter_entry, split_entry, split_unstable_entry, split_gather_index_entry,
    split_scatter_index_entry, multi_split_entry, scatter_reduce_entry, sort_keys_entry, sort_pairs_entry,
    sort_records_entry, sort_gather_index_entry, list_rank_entry, list_scan_entry, build_hash_index_entry,
    hash_search_entry, hash_count_entry, hash_contains_entry, hash_find_entry, spmv_entry, edge_sum_entry;

std::span<const entry* const> entries() {
  static constexpr const entry* all[] = {
      &gather_entry,
      &scatter_entry,
      &split_entry,
      &split_unstable_entry,
      &split_gather_index_entry,
      &split_scatter_index_entry,
      &multi_split_entry,
      &scatter_reduce_entry,
      &sort_keys_entry,
      &sort_pairs_entry,
      &sort_records_entry,
      &sort_gather_index_entry,
      &list_rank_entry,
      &list_scan_entry,
      &build_hash_index_entry,
      &hash_search_entry,
      &hash_count_entry,
      &hash_contains_entry,
      &hash_find_entry,
      &spmv_entry,
      &edge_sum_entry,
  };
  return all;
}

}  // namespace sheaf::primitives

namespace sheaf::jobs {

const job& job_of(const problem_spec& p) { return *primitives::entry_of(p).job; }

}  // namespace sheaf::jobs
