#include "primitives/reference_variants.hpp"

#include "primitives/backends.hpp"

namespace sheaf::reference {
namespace {

using namespace primitives;

constexpr const gather_variant* gather_list[] = {&reference::gather_serial};
constexpr const scatter_variant* scatter_list[] = {&reference::scatter_serial};
constexpr const scatter_reduce_variant* scatter_reduce_list[] = {&reference::scatter_reduce_serial};
constexpr const split_variant* split_list[] = {&reference::split_serial};
constexpr const row_of_entry_variant* row_of_entry_list[] = {&reference::row_of_entry_serial};
constexpr const sort_variant* sort_list[] = {&reference::sort_serial};
constexpr const list_variant* list_list[] = {&reference::list_serial};
constexpr const hash_build_variant* hash_build_list[] = {&reference::hash_build_serial};
constexpr const hash_search_variant* hash_search_list[] = {&reference::hash_search_serial};
constexpr const spmv_variant* spmv_list[] = {&reference::spmv_serial};
constexpr const conjugate_gradient_variant* conjugate_gradient_list[] = {&reference::conjugate_gradient_serial};
constexpr const edge_sum_variant* edge_sum_list[] = {&reference::edge_sum_serial};

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
    .prepare_spmv = {},
    .conjugate_gradient = conjugate_gradient_list,
    .edge_sum = edge_sum_list,
};

}  // namespace sheaf::reference
