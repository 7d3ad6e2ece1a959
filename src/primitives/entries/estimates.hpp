#pragma once

#include <span>
#include <string>
#include <vector>

#include "plan/choose.hpp"

namespace sheaf::primitives {

/// What every variant for the problem's backend costs. One that runs by name only says so as its reason.
template <class Problem, class Buffers>
std::vector<variant_estimate> estimates_of(std::span<const plan::variant<Problem, Buffers>> variants,
                                           const Problem& problem, const machine& profile) {
  std::vector<variant_estimate> all;
  for (const auto& v : variants) {
    if (!v.works_on(problem.backend)) continue;
    all.push_back(plan::describe(v.name, v.plan(problem, profile), plan::no_scratch_limit));
  }
  return all;
}

}  // namespace sheaf::primitives
