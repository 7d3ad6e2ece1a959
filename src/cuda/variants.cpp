#include "cuda/edges/variants.hpp"
#include "cuda/hash/variants.hpp"
#include "cuda/linked_list/variants.hpp"
#include "cuda/movement/variants.hpp"
#include "cuda/reduce/variants.hpp"
#include "cuda/sort/variants.hpp"
#include "cuda/sparse/variants.hpp"
#include "cuda/split/variants.hpp"
#include "primitives/backends.hpp"

namespace sheaf::cuda {
namespace {

using namespace primitives;

constexpr const gather_variant* gather_list[] = {&cuda::gather_direct, &cuda::gather_collective,
                                                 &cuda::gather_multipass, &cuda::gather_adaptive,
                                                 &cuda::gather_bucketed};
constexpr const scatter_variant* scatter_list[] = {
    &cuda::scatter_direct,   &cuda::scatter_collective,  &cuda::scatter_multipass,    &cuda::scatter_adaptive,
    &cuda::scatter_bucketed, &cuda::scatter_last_writer, &cuda::scatter_bucketed_last};
constexpr const prepare_variant* prepare_list[] = {&cuda::prepare_scheduled};
constexpr const scatter_reduce_variant* scatter_reduce_list[] = {
    &cuda::scatter_reduce_atomic, &cuda::scatter_reduce_sorted, &cuda::scatter_reduce_tiled,
    &cuda::scatter_reduce_bucketed};
constexpr const split_variant* split_list[] = {&cuda::split_stable, &cuda::split_unordered, &cuda::split_cub,
                                               &cuda::split_by_index};
constexpr const row_of_entry_variant* row_of_entry_list[] = {&cuda::row_of_entry};
constexpr const sort_variant* sort_list[] = {&cuda::sort_msd, &cuda::sort_onesweep, &cuda::sort_cub, &cuda::sort_lsd,
                                             &cuda::sort_counting};

constexpr const hash_build_variant* hash_build_list[] = {&cuda::hash_build_sorted};
constexpr const hash_search_variant* hash_search_list[] = {&cuda::hash_search_partitioned, &cuda::hash_search_direct,
                                                           &cuda::hash_search_multipass};
constexpr const list_variant* list_list[] = {&cuda::list_log, &cuda::list_sublist, &cuda::list_sublist_host_scan,
                                             &cuda::list_pointer_jumping};

constexpr const spmv_variant* spmv_list[] = {&cuda::spmv_rows, &cuda::spmv_merge, &cuda::spmv_two_step,
                                             &cuda::spmv_transposed};
constexpr const prepare_spmv_variant* prepare_spmv_list[] = {
    &cuda::prepare_spmv_blocked, &cuda::prepare_spmv_compressed, &cuda::prepare_spmv_segmented,
    &cuda::prepare_spmv_sliced, &cuda::prepare_spmv_transposed};
constexpr const conjugate_gradient_variant* conjugate_gradient_list[] = {
    &cuda::conjugate_gradient_persistent, &cuda::conjugate_gradient_streamed, &cuda::conjugate_gradient_sliced,
    &cuda::conjugate_gradient_separate};

constexpr const edge_sum_variant* edge_sum_list[] = {&cuda::edge_sum_atomic, &cuda::edge_sum_two_pass};
constexpr const prepare_edge_sum_variant* prepare_edge_sum_list[] = {&cuda::prepare_edge_sum_tiles,
                                                                     &cuda::prepare_edge_sum_by_node};

}  // namespace

constinit const backend_variants variants{
    .gather = gather_list,
    .scatter = scatter_list,
    .prepare = prepare_list,
    .scatter_reduce = scatter_reduce_list,
    .split = split_list,
    .row_of_entry = row_of_entry_list,
    .sort = sort_list,
    .list = list_list,
    .hash_build = hash_build_list,
    .hash_search = hash_search_list,
    .spmv = spmv_list,
    .prepare_spmv = prepare_spmv_list,
    .conjugate_gradient = conjugate_gradient_list,
    .edge_sum = edge_sum_list,
    .prepare_edge_sum = prepare_edge_sum_list,
};

}  // namespace sheaf::cuda
