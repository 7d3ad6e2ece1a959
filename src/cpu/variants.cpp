#include "primitives/backends.hpp"

// All variants of the CPU, a table for each primitive. Each is defined in the file that has its name.
namespace sheaf::cpu {

using namespace primitives;

extern const gather_variant gather_direct, gather_bucketed, gather_multipass;
extern const scatter_variant scatter_direct, scatter_by_page, scatter_bucketed, scatter_multipass, scatter_owner;
extern const scatter_reduce_variant scatter_reduce_owner, scatter_reduce_split, scatter_reduce_private;
extern const scatter_reduce_rows_variant scatter_reduce_rows_numbers, scatter_reduce_rows_owner,
    scatter_reduce_rows_sorted;
extern const prepare_scatter_reduce_variant prepare_scatter_reduce_by_slot;
extern const gather_reduce_variant gather_reduce_segments;
extern const split_variant split_buffered, split_by_sort, split_second_sort;
extern const row_of_entry_variant row_of_entry;
extern const sort_variant sort_msd, sort_lsd, sort_counting, sort_vqsort;
extern const list_variant list_sublist;
extern const hash_build_variant hash_build_partitioned;
extern const hash_search_variant hash_search_direct, hash_search_partitioned;
extern const spmv_variant spmv_rows, spmv_two_step, spmv_private;
extern const prepare_spmv_variant prepare_spmv_diagonals, prepare_spmv_bsr, prepare_spmv_blocked,
    prepare_spmv_transposed;
extern const spmm_variant spmm_rows, spmm_by_value, spmm_sorted;
extern const prepare_spmm_variant prepare_spmm_transposed;
extern const conjugate_gradient_variant conjugate_gradient_fused, conjugate_gradient_separate;
extern const edge_sum_variant edge_sum_owner, edge_sum_binned;
extern const prepare_edge_sum_variant prepare_edge_sum_tiles;

namespace {

constexpr variant_table tables[] = {
    table<gather_direct, gather_bucketed, gather_multipass>,
    table<scatter_direct, scatter_by_page, scatter_bucketed, scatter_multipass, scatter_owner>,
    table<scatter_reduce_owner, scatter_reduce_split, scatter_reduce_private>,
    table<scatter_reduce_rows_numbers, scatter_reduce_rows_owner, scatter_reduce_rows_sorted>,
    table<prepare_scatter_reduce_by_slot>,
    table<gather_reduce_segments>,
    table<split_buffered, split_by_sort, split_second_sort>,
    table<row_of_entry>,
    table<sort_msd, sort_lsd, sort_counting, sort_vqsort>,
    table<list_sublist>,
    table<hash_build_partitioned>,
    table<hash_search_direct, hash_search_partitioned>,
    table<spmv_rows, spmv_two_step, spmv_private>,
    table<prepare_spmv_diagonals, prepare_spmv_bsr, prepare_spmv_blocked, prepare_spmv_transposed>,
    table<spmm_rows, spmm_by_value, spmm_sorted>,
    table<prepare_spmm_transposed>,
    table<conjugate_gradient_fused, conjugate_gradient_separate>,
    table<edge_sum_owner, edge_sum_binned>,
    table<prepare_edge_sum_tiles>,
};

}  // namespace

constinit const variant_tables variants{tables};

}  // namespace sheaf::cpu
