#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "apps/sheaf/files/mesh/arrays.hpp"

namespace sheaf::io {

/// The number of an element's type in SU2's files, which is VTK's.
constexpr std::uint64_t su2_code(element_type type) noexcept {
  constexpr std::array<std::uint8_t, element_types> codes{3, 5, 9, 10, 12, 13, 14};
  return codes[static_cast<std::size_t>(type)];
}

constexpr std::optional<element_type> type_of_su2_code(std::uint64_t code) noexcept {
  for (const element_type type : all_element_types) {
    if (su2_code(type) == code) return type;
  }
  return std::nullopt;
}

}  // namespace sheaf::io
