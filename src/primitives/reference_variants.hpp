#pragma once

#include "primitives/edges/edge_sum.hpp"
#include "primitives/hash/search.hpp"
#include "primitives/linked_list/contract.hpp"
#include "primitives/movement/gather.hpp"
#include "primitives/movement/scatter.hpp"
#include "primitives/reduce/contract.hpp"
#include "primitives/sort/contract.hpp"
#include "primitives/sparse/conjugate_gradient.hpp"
#include "primitives/sparse/spmv.hpp"
#include "primitives/split/contract.hpp"

// The variants of the serial reference. Each is defined in the file that has its name.
namespace sheaf::reference {

extern const primitives::gather_variant gather_serial;

extern const primitives::scatter_variant scatter_serial;

extern const primitives::scatter_reduce_variant scatter_reduce_serial;

extern const primitives::split_variant split_serial;

extern const primitives::row_of_entry_variant row_of_entry_serial;

extern const primitives::sort_variant sort_serial;

extern const primitives::list_variant list_serial;

extern const primitives::hash_build_variant hash_build_serial;

extern const primitives::hash_search_variant hash_search_serial;

extern const primitives::spmv_variant spmv_serial;

extern const primitives::conjugate_gradient_variant conjugate_gradient_serial;

extern const primitives::edge_sum_variant edge_sum_serial;

}  // namespace sheaf::reference
