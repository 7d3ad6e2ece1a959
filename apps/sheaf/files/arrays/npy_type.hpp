#pragma once

#include "apps/sheaf/files/arrays/python_literal.hpp"
#include "apps/sheaf/files/npy.hpp"

namespace sheaf::io {

/// The type that a descr describes; `header` is the text that the descr was read from. @throws error(bad_input)
npy_type read_npy_type(const python_value& descr, std::string_view header, const std::string& origin);

}  // namespace sheaf::io
