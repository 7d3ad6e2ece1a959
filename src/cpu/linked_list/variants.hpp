#pragma once

#include "primitives/linked_list/contract.hpp"

// The variants of this folder. Each is defined in the file that has its name.
namespace sheaf::cpu {

extern const primitives::list_variant list_sublist;

}  // namespace sheaf::cpu
