#pragma once

#include "lab/description/entry.hpp"

namespace sheaf::bench {

/// What a row measures: a call of a primitive on generated arrays, whose name begins the row's.
using problem = primitives::problem_spec;
using primitives::name;

}  // namespace sheaf::bench
