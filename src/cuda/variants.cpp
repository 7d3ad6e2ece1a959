#include "primitives/backends.hpp"

// All variants of CUDA, a table for each primitive. Each is defined in the file that has its name.
namespace sheaf::cuda {

using namespace primitives;

extern const gather_variant gather_direct, gather_collective, gather_multipass, gather_adaptive, gather_bucketed;
extern const scatter_variant scatter_direct, scatter_collective, scatter_multipass, scatter_adaptive, scatter_bucketed,
    scatter_last_writer, scatter_bucketed_last;
extern const prepare_variant prepare_scheduled;
extern const scatter_reduce_variant scatter_reduce_atomic, scatter_reduce_sorted, scatter_reduce_tiled,
    scatter_reduce_bucketed;
extern const scatter_reduce_rows_variant scatter_reduce_rows_short, scatter_reduce_rows_leaders,
    scatter_reduce_rows_atomic, scatter_reduce_rows_sorted, scatter_reduce_rows_counted, scatter_reduce_rows_numbers;
extern const prepare_scatter_reduce_variant prepare_scatter_reduce_by_slot;
extern const gather_reduce_variant gather_reduce_segments;
extern const split_variant split_stable, split_unordered, split_cub, split_by_index, split_by_sort, split_second_sort;
extern const row_of_entry_variant row_of_entry;
extern const sort_variant sort_by_sample, sort_onesweep, sort_cub, sort_lsd, sort_counting;
extern const hash_build_variant hash_build_sorted;
extern const hash_search_variant hash_search_partitioned, hash_search_direct, hash_search_multipass;
extern const list_variant list_log, list_sublist, list_sublist_host_scan, list_pointer_jumping;
extern const spmv_variant spmv_rows, spmv_merge, spmv_two_step, spmv_atomic, spmv_fixed_point;
extern const prepare_spmv_variant prepare_spmv_blocked, prepare_spmv_bsr, prepare_spmv_compressed,
    prepare_spmv_segmented, prepare_spmv_sliced, prepare_spmv_sliced_ell, prepare_spmv_transposed;
extern const spmm_variant spmm_rows, spmm_transposed, spmm_atomic;
extern const prepare_spmm_variant prepare_spmm_transposed;
extern const conjugate_gradient_variant conjugate_gradient_persistent, conjugate_gradient_streamed,
    conjugate_gradient_sliced, conjugate_gradient_separate;
extern const edge_sum_variant edge_sum_atomic, edge_sum_two_pass, edge_sum_bucketed;
extern const prepare_edge_sum_variant prepare_edge_sum_tiles, prepare_edge_sum_by_node;

namespace {

constexpr variant_table tables[] = {
    table<gather_direct, gather_collective, gather_multipass, gather_adaptive, gather_bucketed>,
    table<scatter_direct, scatter_collective, scatter_multipass, scatter_adaptive, scatter_bucketed,
          scatter_last_writer, scatter_bucketed_last>,
    table<prepare_scheduled>,
    table<scatter_reduce_atomic, scatter_reduce_sorted, scatter_reduce_tiled, scatter_reduce_bucketed>,
    table<scatter_reduce_rows_short, scatter_reduce_rows_leaders, scatter_reduce_rows_atomic,
          scatter_reduce_rows_sorted, scatter_reduce_rows_counted, scatter_reduce_rows_numbers>,
    table<prepare_scatter_reduce_by_slot>,
    table<gather_reduce_segments>,
    table<split_stable, split_unordered, split_cub, split_by_index, split_by_sort, split_second_sort>,
    table<row_of_entry>,
    table<sort_by_sample, sort_onesweep, sort_cub, sort_lsd, sort_counting>,
    table<hash_build_sorted>,
    table<hash_search_partitioned, hash_search_direct, hash_search_multipass>,
    table<list_log, list_sublist, list_sublist_host_scan, list_pointer_jumping>,
    table<spmv_rows, spmv_merge, spmv_two_step, spmv_atomic, spmv_fixed_point>,
    table<prepare_spmv_blocked, prepare_spmv_bsr, prepare_spmv_compressed, prepare_spmv_segmented, prepare_spmv_sliced,
          prepare_spmv_sliced_ell, prepare_spmv_transposed>,
    table<spmm_rows, spmm_transposed, spmm_atomic>,
    table<prepare_spmm_transposed>,
    table<conjugate_gradient_persistent, conjugate_gradient_streamed, conjugate_gradient_sliced,
          conjugate_gradient_separate>,
    table<edge_sum_atomic, edge_sum_two_pass, edge_sum_bucketed>,
    table<prepare_edge_sum_tiles, prepare_edge_sum_by_node>,
};

}  // namespace

constinit const variant_tables variants{tables};

}  // namespace sheaf::cuda
