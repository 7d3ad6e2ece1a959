#pragma once

#include <span>
#include <string>
#include <vector>

#include "plan/choose.hpp"

namespace sheaf::primitives {

/// What every variant of a list costs on a problem. One that runs by name only says so as its reason.
template <class Problem, class Buffers>
std::vector<variant_estimate> estimates_of(std::span<const plan::variant<Problem, Buffers>> variants,
                                           const Problem& problem, const machine& profile) {
  std::vector<variant_estimate> all;
  for (const auto& v : variants) all.push_back(plan::describe(v.name, v.plan(problem, profile)));
  return all;
}

}  // namespace sheaf::primitives
