#pragma once

#include "lab/description/problem_spec.hpp"
#include "plan/choose.hpp"

namespace sheaf::primitives {

/// What every variant for a backend costs. One that runs by name only says so as its reason.
template <class Problem, class Buffers>
std::vector<variant_estimate> estimates_of(std::span<const plan::variant<Problem, Buffers>> variants,
                                           const Problem& problem, backend_kind backend, const machine& profile) {
  std::vector<variant_estimate> all;
  for (const auto& v : variants) {
    if (!v.works_on(backend)) continue;
    all.push_back(
        plan::describe(v.name, plan::corrected_plan(v, problem, plan::scope(profile)), plan::no_scratch_limit));
  }
  return all;
}

/// entry::estimates by the problem that ProblemOf(spec, backend) makes, and the variants that Variants() lists.
template <auto ProblemOf, auto Variants>
std::vector<variant_estimate> estimates_by(const problem_spec& p, backend_kind backend, const machine& profile) {
  return estimates_of(Variants(), ProblemOf(p, backend), backend, profile);
}

/// entry::has_variants by the variants that Variants() lists.
template <auto Variants>
bool any_works_on(backend_kind backend) {
  const auto all = Variants();
  return std::any_of(all.begin(), all.end(), [&](const auto& v) { return v.works_on(backend); });
}

/// entry::place by the same problem.
template <auto ProblemOf>
plan::measured_place place_by(const problem_spec& p, backend_kind backend) {
  return place_of(ProblemOf(p, backend));
}

}  // namespace sheaf::primitives
