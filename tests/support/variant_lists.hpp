#pragma once

#include <algorithm>
#include <span>
#include <string>

#include <sheaf/context.hpp>

namespace sheaf::tests {

/// How many variants of a list work on a backend's memory.
template <class Variant>
std::size_t count_of(std::span<const Variant> variants, backend_kind backend) {
  return static_cast<std::size_t>(
      std::count_if(variants.begin(), variants.end(), [&](const Variant& v) { return v.works_on(backend); }));
}

/// Their names, "reference.serial, cpu.direct".
template <class Variant>
std::string names_of(std::span<const Variant> variants, backend_kind backend) {
  std::string names;
  for (const Variant& v : variants) {
    if (v.works_on(backend)) names += (names.empty() ? "" : ", ") + std::string(v.name);
  }
  return names;
}

}  // namespace sheaf::tests
