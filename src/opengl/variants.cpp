#include "primitives/backends.hpp"

// All variants of OpenGL, a table for each primitive. Each is defined in the file that has its name.
namespace sheaf::opengl {

using namespace primitives;

extern const gather_variant gather_texture, gather_vertex;
extern const scatter_variant scatter_points;
extern const prepare_variant prepare_resident;
extern const scatter_reduce_variant scatter_reduce_blended;
extern const spmv_variant spmv_texture, spmv_packed, spmv_fragments, spmv_lookup, spmv_vertex;
extern const prepare_spmv_variant prepare_spmv_texture, prepare_spmv_packed, prepare_spmv_fragments,
    prepare_spmv_lookup, prepare_spmv_vertex;
extern const edge_sum_variant edge_sum_points, edge_sum_fragments;
extern const prepare_edge_sum_variant prepare_edge_sum_points, prepare_edge_sum_fragments;

namespace {

constexpr variant_table tables[] = {
    table<gather_texture, gather_vertex>,
    table<scatter_points>,
    table<prepare_resident>,
    table<scatter_reduce_blended>,
    table<spmv_texture, spmv_packed, spmv_fragments, spmv_lookup, spmv_vertex>,
    table<prepare_spmv_texture, prepare_spmv_packed, prepare_spmv_fragments, prepare_spmv_lookup, prepare_spmv_vertex>,
    table<edge_sum_points, edge_sum_fragments>,
    table<prepare_edge_sum_points, prepare_edge_sum_fragments>,
};

}  // namespace

constinit const variant_tables variants{tables};

}  // namespace sheaf::opengl
