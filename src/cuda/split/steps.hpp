#pragma once

#include "cuda/split/passes.hpp"

// The steps of which the split variants consist around their passes (passes.hpp).
namespace sheaf::cuda {

// ---- one pass over words: which problems can have it, and the pass that a problem describes (steps.cpp)

/// Why no pass over words can run the problem; null if one can.
const char* word_pass_rejection(const primitives::split_problem& problem);

/// The problem as one pass over all categories.
split_pass word_pass_of(const primitives::split_problem& problem, const primitives::split_buffers& buffers);

/// Queues the zero offsets of an empty list; returns whether the list is empty.
bool split_empty_list(const context& ctx, const primitives::split_problem& problem,
                      const primitives::split_buffers& buffers);

// ---- more categories than one pass has bins: LSD radix passes over the bits of the category, for cuda.stable and
// cuda.unordered. Words that hold their own key move between the output and scratch (digit_passes.cu); separate keys
// are sorted together with the records or their numbers (separate_keys.cu).

/// Bits that the passes sort by. Bad categories, if there can be any, count as one more category.
std::uint32_t sorted_bits(const primitives::split_problem& problem);
/// Stable passes that the problem takes.
std::uint32_t pass_count(const primitives::split_problem& problem);

plan::planned plan_digit_passes(const primitives::split_problem& problem, const plan::scope& scope, bool stable);
void run_digit_passes(const context& ctx, const primitives::split_problem& problem, const plan::planned& plan,
                      const split_pass& pass, bool stable, std::byte* scratch);

/// The passes over separate keys, which the two functions above choose.
plan::planned plan_separate_keys(const primitives::split_problem& problem, const plan::scope& scope, bool stable);
void run_separate_keys(const context& ctx, const primitives::split_problem& problem, const plan::planned& plan,
                       const split_pass& pass, bool stable, std::byte* scratch);

/// Queues a binary search for each category: offsets[c] = the first of `count` sorted words whose field `bits` is not
/// below c, for c up to `categories`. Where a list was split in several passes, no pass knows these offsets.
/// Does nothing if offsets is null.
void find_offsets(const context& ctx, const void* words, std::uint32_t word_bytes, std::uint64_t count,
                  const bit_field& bits, std::uint64_t categories, std::uint64_t* offsets);

// ---- inversion of a permutation: the order of a split (numbers of the records, in output order) becomes its scatter
// index (the output position of each record)

/// Plans the inversion: by the bucketed scatter where that is faster, else by a write at random for each number.
plan::planned plan_inversion(const primitives::split_problem& problem, const plan::scope& in);

/// Queues scatter_index[order[i]] = i for every i below problem.count, as planned; entries of order that are
/// not record numbers are left out. Both lists have numbers of problem.word_bytes, 4 or 8.
void invert_order(const context& ctx, const primitives::split_problem& problem, const plan::planned& inversion,
                  const std::byte* order, void* scatter_index, std::byte* scratch);

}  // namespace sheaf::cuda
