#pragma once

#include "lab/description/job.hpp"
#include "lab/inputs/pattern.hpp"

// Copies of a problem's arrays have the same kind of inputs, from other seeds.
namespace sheaf::jobs {

constexpr std::uint64_t records_seed = 20070715;
constexpr std::uint64_t wiped_seed = records_seed + 1;

inline inputs::pattern pattern_of_copy(const problem_spec& p, std::uint64_t copy) {
  inputs::pattern pattern = p.pattern;
  pattern.seed += copy;
  return pattern;
}

/// Fills an output with what no answer has, so that the answer of an earlier call cannot pass for this one's.
inline void wipe(const context& ctx, records output) { inputs::fill_records(ctx, output, wiped_seed); }

inline void fill_index_list(const context& ctx, const problem_spec& p, std::uint64_t copy, records list) {
  inputs::fill_index(ctx, pattern_of_copy(p, copy), p.indexed_count(), {list.data, p.count, p.index});
}

}  // namespace sheaf::jobs
