#pragma once

#include <cmath>
#include <type_traits>

#include <fmt/format.h>
#include <sheaf/error.hpp>

namespace sheaf::cli {

/// A number as Value, float or double.
/// @param place  returns where the number stands, "x.npy: [3]"; called for the message alone
/// @throws error(code) for a number that is finite and would become infinite
template <class Value, class Place>
Value narrowed(double number, error_code code, const Place& place) {
  const auto narrow = static_cast<Value>(number);
  if constexpr (std::is_same_v<Value, float>) {
    if (std::isinf(narrow) && std::isfinite(number)) {
      throw error(code, fmt::format("{} is {}, which f32 does not hold; leave out --f32", place(), number));
    }
  }
  return narrow;
}

}  // namespace sheaf::cli
