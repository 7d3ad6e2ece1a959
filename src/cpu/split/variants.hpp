#pragma once

#include "primitives/split/contract.hpp"

// The variants of this folder. Each is defined in the file that has its name.
namespace sheaf::cpu {

extern const primitives::split_variant split_buffered;

extern const primitives::row_of_entry_variant row_of_entry;

}  // namespace sheaf::cpu
