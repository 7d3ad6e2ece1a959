#pragma once

#include "primitives/hash/search.hpp"

// The variants of this family. Each is defined in the file that has its name, with the primitive's before it.
namespace sheaf::cuda {

extern const primitives::hash_build_variant hash_build_sorted;
extern const primitives::hash_search_variant hash_search_direct;
extern const primitives::hash_search_variant hash_search_multipass;
extern const primitives::hash_search_variant hash_search_partitioned;

}  // namespace sheaf::cuda
