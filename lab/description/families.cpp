#include "lab/description/sweep.hpp"

namespace sheaf::primitives {

// Each is defined in its folder.
extern const family movement_family, split_family, reduce_family, sort_family, list_family, hash_family, sparse_family,
    edge_family;

std::span<const family* const> all_families() {
  static constexpr const family* all[] = {&movement_family, &split_family, &reduce_family, &sort_family,
                                          &list_family,     &hash_family,  &sparse_family, &edge_family};
  return all;
}

}  // namespace sheaf::primitives
