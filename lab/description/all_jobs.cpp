#include "lab/description/job.hpp"

namespace sheaf::jobs {

// Each is defined in the file of its family.
extern const job gather_job;
extern const job scatter_job;
extern const job split_job;
extern const job split_unstable_job;
extern const job split_gather_index_job;
extern const job split_scatter_index_job;
extern const job multi_split_job;
extern const job scatter_reduce_job;
extern const job sort_keys_job;
extern const job sort_pairs_job;
extern const job sort_records_job;
extern const job sort_gather_index_job;
extern const job list_rank_job;
extern const job list_scan_job;
extern const job build_hash_index_job;
extern const job hash_search_job;
extern const job hash_count_job;
extern const job hash_contains_job;
extern const job hash_find_job;
extern const job spmv_job;
extern const job edge_sum_job;

std::span<const job* const> jobs() {
  static const job* const all[] = {
      &gather_job,
      &scatter_job,
      &split_job,
      &split_unstable_job,
      &split_gather_index_job,
      &split_scatter_index_job,
      &multi_split_job,
      &scatter_reduce_job,
      &sort_keys_job,
      &sort_pairs_job,
      &sort_records_job,
      &sort_gather_index_job,
      &list_rank_job,
      &list_scan_job,
      &build_hash_index_job,
      &hash_search_job,
      &hash_count_job,
      &hash_contains_job,
      &hash_find_job,
      &spmv_job,
      &edge_sum_job,
  };
  return all;
}

}  // namespace sheaf::jobs
