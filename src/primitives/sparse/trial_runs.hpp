#pragma once

#include "primitives/sparse/prepare_spmv.hpp"

// Sizes do not tell of every preparation whether its runs are the fastest. The plan of one of which they do not has a
// term for trial runs, and prepare_spmv makes and times it where another plan is little cheaper.
namespace sheaf::primitives {

constexpr const char* trial_term = "trial runs";

inline void add_trial_runs(plan::planned& plan, double run_seconds) {
  constexpr double runs = 3;
  plan.add(trial_term, runs * run_seconds);
}

inline bool has_trial_runs(const plan::planned& plan) noexcept {
  return std::any_of(plan.terms.begin(), plan.terms.begin() + plan.term_count,
                     [](const auto& term) { return std::string_view(term.what) == trial_term; });
}

}  // namespace sheaf::primitives
