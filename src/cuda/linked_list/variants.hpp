#pragma once

#include "primitives/linked_list/contract.hpp"

// The variants of this family. Each is defined in the file that has its name.
namespace sheaf::cuda {

extern const primitives::list_variant list_log;
extern const primitives::list_variant list_sublist;
extern const primitives::list_variant list_sublist_host_scan;
extern const primitives::list_variant list_pointer_jumping;

}  // namespace sheaf::cuda
