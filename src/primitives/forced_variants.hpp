#pragma once

#include <string_view>

namespace sheaf::primitives {

/// Checks what SHEAF_VARIANT forces. @throws error(bad_argument) listing the names that there are, for a primitive or a
/// variant that is none of them
void require_known_variant(std::string_view primitive, std::string_view variant);

}  // namespace sheaf::primitives
