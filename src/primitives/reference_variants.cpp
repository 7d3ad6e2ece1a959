#include "primitives/backends.hpp"

// The serial reference, a table for each primitive. Each is defined in the file that has its name.
namespace sheaf::reference {

using namespace primitives;

extern const gather_variant gather_serial;
extern const scatter_variant scatter_serial;
extern const scatter_reduce_variant scatter_reduce_serial;
extern const split_variant split_serial;
extern const row_of_entry_variant row_of_entry_serial;
extern const sort_variant sort_serial;
extern const list_variant list_serial;
extern const hash_build_variant hash_build_serial;
extern const hash_search_variant hash_search_serial;
extern const spmv_variant spmv_serial;
extern const conjugate_gradient_variant conjugate_gradient_serial;
extern const edge_sum_variant edge_sum_serial;

namespace {

constexpr variant_table tables[] = {
    table<gather_serial>,
    table<scatter_serial>,
    table<scatter_reduce_serial>,
    table<split_serial>,
    table<row_of_entry_serial>,
    table<sort_serial>,
    table<list_serial>,
    table<hash_build_serial>,
    table<hash_search_serial>,
    table<spmv_serial>,
    table<conjugate_gradient_serial>,
    table<edge_sum_serial>,
};

}  // namespace

constinit const variant_tables variants{tables};

}  // namespace sheaf::reference
