#include "opengl/edges/variants.hpp"
#include "opengl/movement/variants.hpp"
#include "opengl/reduce/variants.hpp"
#include "opengl/sparse/variants.hpp"
#include "primitives/backends.hpp"

namespace sheaf::opengl {
namespace {

using namespace primitives;

constexpr const gather_variant* gather_list[] = {&opengl::gather_texture, &opengl::gather_vertex};
constexpr const scatter_variant* scatter_list[] = {&opengl::scatter_points};
constexpr const prepare_variant* prepare_list[] = {&opengl::prepare_resident};
constexpr const scatter_reduce_variant* scatter_reduce_list[] = {&opengl::scatter_reduce_blended};
constexpr const spmv_variant* spmv_list[] = {&opengl::spmv_texture, &opengl::spmv_packed, &opengl::spmv_fragments,
                                             &opengl::spmv_lookup, &opengl::spmv_vertex};
constexpr const prepare_spmv_variant* prepare_spmv_list[] = {
    &opengl::prepare_spmv_texture, &opengl::prepare_spmv_packed, &opengl::prepare_spmv_fragments,
    &opengl::prepare_spmv_lookup, &opengl::prepare_spmv_vertex};
constexpr const edge_sum_variant* edge_sum_list[] = {&opengl::edge_sum_points, &opengl::edge_sum_fragments};
constexpr const prepare_edge_sum_variant* prepare_edge_sum_list[] = {&opengl::prepare_edge_sum_points,
                                                                     &opengl::prepare_edge_sum_fragments};

}  // namespace

constinit const backend_variants variants{
    .gather = gather_list,
    .scatter = scatter_list,
    .prepare = prepare_list,
    .scatter_reduce = scatter_reduce_list,
    .split = {},
    .row_of_entry = {},
    .sort = {},
    .list = {},
    .hash_build = {},
    .hash_search = {},
    .spmv = spmv_list,
    .prepare_spmv = prepare_spmv_list,
    .conjugate_gradient = {},
    .edge_sum = edge_sum_list,
    .prepare_edge_sum = prepare_edge_sum_list,
};

}  // namespace sheaf::opengl
