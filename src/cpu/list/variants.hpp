#pragma once

#include "primitives/list_scan.hpp"

// The variants of this folder. Each is defined in the file that has its name.
namespace sheaf::cpu {

extern const primitives::list_variant list_sublist;

}  // namespace sheaf::cpu
