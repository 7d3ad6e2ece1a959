#include "cpu/edges/variants.hpp"
#include "cpu/hash/variants.hpp"
#include "cpu/linked_list/variants.hpp"
#include "cpu/movement/variants.hpp"
#include "cpu/reduce/variants.hpp"
#include "cpu/sort/variants.hpp"
#include "cpu/sparse/variants.hpp"
#include "cpu/split/variants.hpp"
#include "primitives/backends.hpp"

namespace sheaf::cpu {
namespace {

using namespace primitives;

constexpr const gather_variant* gather_list[] = {&cpu::gather_direct, &cpu::gather_bucketed, &cpu::gather_multipass};
constexpr const scatter_variant* scatter_list[] = {&cpu::scatter_direct, &cpu::scatter_by_page, &cpu::scatter_bucketed,
                                                   &cpu::scatter_multipass, &cpu::scatter_owner};
constexpr const scatter_reduce_variant* scatter_reduce_list[] = {&cpu::scatter_reduce_owner, &cpu::scatter_reduce_split,
                                                                 &cpu::scatter_reduce_private};
constexpr const split_variant* split_list[] = {&cpu::split_buffered};
constexpr const row_of_entry_variant* row_of_entry_list[] = {&cpu::row_of_entry};
constexpr const sort_variant* sort_list[] = {&cpu::sort_msd, &cpu::sort_lsd, &cpu::sort_counting, &cpu::sort_vqsort};
constexpr const list_variant* list_list[] = {&cpu::list_sublist};
constexpr const hash_build_variant* hash_build_list[] = {&cpu::hash_build_partitioned};
constexpr const hash_search_variant* hash_search_list[] = {&cpu::hash_search_direct, &cpu::hash_search_partitioned};
constexpr const spmv_variant* spmv_list[] = {&cpu::spmv_rows, &cpu::spmv_two_step, &cpu::spmv_private};
constexpr const prepare_spmv_variant* prepare_spmv_list[] = {&cpu::prepare_spmv_diagonals, &cpu::prepare_spmv_blocked,
                                                             &cpu::prepare_spmv_transposed};
constexpr const conjugate_gradient_variant* conjugate_gradient_list[] = {&cpu::conjugate_gradient_fused,
                                                                         &cpu::conjugate_gradient_separate};
constexpr const edge_sum_variant* edge_sum_list[] = {&cpu::edge_sum_owner, &cpu::edge_sum_binned};
constexpr const prepare_edge_sum_variant* prepare_edge_sum_list[] = {&cpu::prepare_edge_sum_tiles};

}  // namespace

constinit const backend_variants variants{
    .gather = gather_list,
    .scatter = scatter_list,
    .prepare = {},
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

}  // namespace sheaf::cpu
