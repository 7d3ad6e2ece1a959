#pragma once

#include "primitives/backends.hpp"

namespace sheaf::papers {

/// Forms of all papers that are variants of a primitive, on the backends of this build. All run by name only, so that a
/// program that adds them to the lists (primitives::add_variants) still chooses as the library does.
extern const primitives::variant_tables variants;

}  // namespace sheaf::papers
