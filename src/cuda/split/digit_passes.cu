#include "cuda/split/steps.hpp"

#include "core/scratch_offsets.hpp"
#include "cuda/device/launch.cuh"
#include "cuda/split/cost.hpp"

namespace sheaf::cuda {
namespace {

using primitives::split_problem;

/// Bits of the first pass over words that hold their key. An unordered first pass may take more of them.
std::uint32_t first_pass_bits(std::uint32_t bits, std::uint32_t word_bytes, bool stable) {
  if (stable || (word_bytes != 4 && word_bytes != 8)) {
    return bits / static_cast<std::uint32_t>(ceil_div(bits, digit_bits));
  }
  constexpr std::uint32_t wide_bits = 11;
  const auto later_passes = static_cast<std::uint32_t>(ceil_div(bits - std::min(bits, wide_bits), digit_bits));
  const std::uint32_t bits_left = bits - later_passes * digit_bits;
  return bits_left > digit_bits ? bits_left : bits / (later_passes + 1);
}

/// Sorts words that hold their key, pass by pass from the lowest digit on, between `out` and `other_words`.
void run_word_passes(const context& ctx, split_pass pass, bool stable, std::byte* other_words,
                     std::byte* pass_scratch) {
  const std::uint64_t categories = pass.categories;
  std::uint64_t* const offsets = pass.offsets;
  const bit_field key = pass.bits;
  const std::uint32_t first = first_pass_bits(key.count, pass.word_bytes, stable);
  const auto later_passes = static_cast<std::uint32_t>(ceil_div(key.count - first, digit_bits));
  std::byte* const out = pass.out;
  pass.offsets = nullptr;
  for (std::uint32_t i = 0; i <= later_passes; ++i) {
    const std::uint32_t low = i == 0 ? 0 : first + (key.count - first) * (i - 1) / later_passes;
    const std::uint32_t high = i == 0 ? first : first + (key.count - first) * i / later_passes;
    const bool writes_out = (later_passes - i) % 2 == 0;
    pass.bits = primitives::part_of(key, low, high - low);
    pass.categories = std::uint64_t{1} << (high - low);
    pass.out = writes_out ? out : other_words;
    if (i == 0 && !stable) {
      run_unordered_pass(ctx, pass, pass_scratch);
    } else {
      run_stable_pass(ctx, pass, pass_scratch);
    }
    pass.in = pass.out;
  }
  find_offsets(ctx, out, pass.word_bytes, pass.count, key, categories, offsets);
}

}  // namespace

std::uint32_t sorted_bits(const split_problem& p) {
  if (!p.has_separate_key()) return p.bits.count;
  return primitives::category_bits(p.categories + (p.checks_category() ? 1 : 0));
}

std::uint32_t pass_count(const split_problem& p) {
  return p.categories <= narrow_bins ? 1 : static_cast<std::uint32_t>(ceil_div(sorted_bits(p), digit_bits));
}

plan::planned plan_digit_passes(const split_problem& problem, const plan::scope& scope, bool stable) {
  if (problem.has_separate_key()) return plan_separate_keys(problem, scope, stable);
  const machine& m = scope.machine;
  const std::uint32_t first = first_pass_bits(problem.bits.count, problem.word_bytes, stable);
  const auto later_passes = static_cast<std::uint32_t>(ceil_div(problem.bits.count - first, digit_bits));
  plan::planned plan = passes_cost(problem, m, first, later_passes, stable);
  plan.scratch_bytes =
      core::scratch_aligned(problem.count * problem.word_bytes) +
      std::max(stable_scratch_bytes(problem.count, problem.word_bytes), stable ? 0 : unordered_scratch_bytes);
  return plan;
}

void run_digit_passes(const context& ctx, const split_problem& p, const plan::planned& plan, const split_pass& pass,
                      bool stable, std::byte* scratch) {
  if (p.has_separate_key()) return run_separate_keys(ctx, p, plan, pass, stable, scratch);
  run_word_passes(ctx, pass, stable, scratch, scratch + core::scratch_aligned(p.count * p.word_bytes));
}

}  // namespace sheaf::cuda
