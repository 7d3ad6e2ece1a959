#pragma once

#include <optional>

#include "apps/sheaf/files/npy.hpp"

namespace sheaf::io {

/// A field of a structure by its name, or by its title; that of a structure inside a structure by both names with a
/// point between them, "position.x". A field whose own name has a point comes first. The offset is from the outermost
/// structure on. Padding has no name.
/// @returns nothing for a type without such a field, or with several
std::optional<npy_field> find_field(const npy_type& type, std::string_view name);

/// The names of the fields, for messages: "id, position.x, position.y", of many the first.
std::string field_names(const npy_type& type);

}  // namespace sheaf::io
