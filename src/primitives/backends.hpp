#pragma once

#include <span>
#include <vector>

#include "primitives/edges/edge_sum.hpp"
#include "primitives/edges/prepare.hpp"
#include "primitives/hash/search.hpp"
#include "primitives/linked_list/contract.hpp"
#include "primitives/movement/gather.hpp"
#include "primitives/movement/prepare.hpp"
#include "primitives/movement/scatter.hpp"
#include "primitives/reduce/contract.hpp"
#include "primitives/sort/contract.hpp"
#include "primitives/sparse/conjugate_gradient.hpp"
#include "primitives/sparse/prepare_spmv.hpp"
#include "primitives/sparse/spmv.hpp"
#include "primitives/split/contract.hpp"

// What a backend brings to the primitives: one list of variants for each. A primitive's list is those of all backends
// of this build.
namespace sheaf {

namespace primitives {

template <class Variant>
using variant_list = std::span<const Variant* const>;

/// What a backend brings. A primitive that it does not have is an empty list.
struct backend_variants {
  variant_list<gather_variant> gather = {};
  variant_list<scatter_variant> scatter = {};
  variant_list<prepare_variant> prepare = {};
  variant_list<scatter_reduce_variant> scatter_reduce = {};
  variant_list<split_variant> split = {};
  variant_list<row_of_entry_variant> row_of_entry = {};
  variant_list<sort_variant> sort = {};
  variant_list<list_variant> list = {};
  variant_list<hash_build_variant> hash_build = {};
  variant_list<hash_search_variant> hash_search = {};
  variant_list<spmv_variant> spmv = {};
  variant_list<prepare_spmv_variant> prepare_spmv = {};
  variant_list<conjugate_gradient_variant> conjugate_gradient = {};
  variant_list<edge_sum_variant> edge_sum = {};
  variant_list<prepare_edge_sum_variant> prepare_edge_sum = {};
};

/// The backends of this build, the reference first. src/composition defines it.
std::span<const backend_variants* const> variants_of_backends() noexcept;

/// Those, and behind them what add_variants() added.
std::span<const backend_variants* const> all_backends();

/// Adds variants to the lists of all primitives, for a program that compares them with the library's own. They must
/// live as long as the program. To be called before there is a context or another thread. @throws std::logic_error once
/// a list has been asked for, because lists are made once.
void add_variants(const backend_variants& more);

/// A primitive's variants, backend by backend.
template <class Variant>
std::vector<Variant> variants_of(variant_list<Variant> backend_variants::*primitive) {
  std::vector<Variant> all;
  for (const backend_variants* const backend : all_backends()) {
    for (const Variant* const v : backend->*primitive) all.push_back(*v);
  }
  return all;
}

}  // namespace primitives

// Defined by the backends, in their variants.cpp.
namespace reference {
extern const primitives::backend_variants variants;
}
namespace cpu {
extern const primitives::backend_variants variants;
}
namespace cuda {
extern const primitives::backend_variants variants;
}
namespace opengl {
extern const primitives::backend_variants variants;
}

}  // namespace sheaf
