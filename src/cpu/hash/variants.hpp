#pragma once

#include "primitives/hash/search.hpp"

// The variants of this folder. Each is defined in the file that has its name.
namespace sheaf::cpu {

extern const primitives::hash_build_variant hash_build_partitioned;

extern const primitives::hash_search_variant hash_search_direct;
extern const primitives::hash_search_variant hash_search_partitioned;

}  // namespace sheaf::cpu
