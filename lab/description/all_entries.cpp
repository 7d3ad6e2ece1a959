#include "lab/description/entry.hpp"

namespace sheaf::primitives {

// Each is defined in the file of its primitive.
extern const entry gather_entry;
extern const entry scatter_entry;
extern const entry split_entry;
extern const entry split_unstable_entry;
extern const entry split_gather_index_entry;
extern const entry split_scatter_index_entry;
extern const entry multi_split_entry;
extern const entry scatter_reduce_entry;
extern const entry sort_keys_entry;
extern const entry sort_pairs_entry;
extern const entry sort_records_entry;
extern const entry sort_gather_index_entry;
extern const entry list_rank_entry;
extern const entry list_scan_entry;
extern const entry build_hash_index_entry;
extern const entry hash_search_entry;
extern const entry hash_count_entry;
extern const entry hash_contains_entry;
extern const entry hash_find_entry;
extern const entry spmv_entry;
extern const entry edge_sum_entry;

std::span<const entry* const> entries() {
  static const entry* const all[] = {
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
