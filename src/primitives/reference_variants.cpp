#include "primitives/backends.hpp"

// A table for each primitive, with the calls that ask for its variants: the serial reference, which works on host
// memory, and what works on any backend: preparations that keep what they are given, and products that are another
// call's.
namespace sheaf::reference {

using namespace primitives;

extern const gather_variant gather_serial;
extern const scatter_variant scatter_serial;
extern const prepare_variant prepare_kept;
extern const scatter_reduce_variant scatter_reduce_serial;
extern const scatter_reduce_rows_variant scatter_reduce_rows_serial;
extern const prepare_scatter_reduce_variant prepare_scatter_reduce_kept;
extern const gather_reduce_variant gather_reduce_serial;
extern const split_variant split_serial;
extern const row_of_entry_variant row_of_entry_serial;
extern const sort_variant sort_serial;
extern const list_variant list_serial;
extern const hash_build_variant hash_build_serial;
extern const hash_search_variant hash_search_serial;
extern const spmv_variant spmv_serial;
extern const prepare_spmv_variant prepare_spmv_kept;
extern const spmm_variant spmm_serial;
extern const spmm_variant spmm_vector;
extern const prepare_spmm_variant prepare_spmm_kept;
extern const conjugate_gradient_variant conjugate_gradient_serial;
extern const edge_sum_variant edge_sum_serial;
extern const prepare_edge_sum_variant prepare_edge_sum_kept;

namespace {

// A multi_split goes by the variants that are forced for its split and its gather.
constexpr variant_table tables[] = {
    table<gather_serial>.called("gather"),
    table<scatter_serial>.called("scatter"),
    table<prepare_kept>.called("prepare_gather prepare_scatter"),
    table<scatter_reduce_serial>.called("scatter_reduce"),
    table<scatter_reduce_rows_serial>.called("scatter_reduce_rows"),
    table<prepare_scatter_reduce_kept>.called("prepare_scatter_reduce"),
    table<gather_reduce_serial>.called("gather_reduce"),
    table<split_serial>.called("split split_unstable split_gather_index split_scatter_index"),
    table<row_of_entry_serial>,
    table<sort_serial>.called("sort_records sort_pairs sort_gather_index"),
    table<list_serial>.called("list_rank list_scan"),
    table<hash_build_serial>.called("build_hash_index"),
    table<hash_search_serial>.called("hash_search hash_count hash_contains hash_find"),
    table<spmv_serial>.called("spmv"),
    table<prepare_spmv_kept>.called("prepare_spmv"),
    table<spmm_serial, spmm_vector>.called("spmm"),
    table<prepare_spmm_kept>.called("prepare_spmm"),
    table<conjugate_gradient_serial>.called("conjugate_gradient"),
    table<edge_sum_serial>.called("edge_sum"),
    table<prepare_edge_sum_kept>.called("prepare_edge_sum"),
};

}  // namespace

constinit const variant_tables variants{tables};

}  // namespace sheaf::reference
