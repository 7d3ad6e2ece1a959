#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "lab/description/entry.hpp"

namespace sheaf::tests {

/// The message that refuses an option to a primitive that lacks it, with all primitives that have it.
inline std::string option_is_for_others(std::string_view option) {
  std::string names;
  for (const primitives::entry* const e : primitives::entries()) {
    for (const primitives::field_use& use : e->fields) {
      if (use.field->option == option) names += fmt::format("{}{}", names.empty() ? "" : ", ", e->name);
    }
  }
  return fmt::format("sheaf plan: {} is for {}\nTry: sheaf plan --help", option, names);
}

}  // namespace sheaf::tests
