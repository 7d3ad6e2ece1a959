#include "cuda/split/steps.hpp"

#include "cuda/device/launch.cuh"
#include "cuda/movement/bucketed_positions.hpp"
#include "cuda/split/passes.hpp"
#include "plan/choose.hpp"

namespace sheaf::cuda {
namespace {

using primitives::split_problem;

// Keys that were sorted leave an order that is sorted. Short lists do not repay the look at it.
access_pattern pattern_of_inversion(const split_problem& p) {
  constexpr std::uint64_t least_sampled = std::uint64_t{1} << 20;
  return p.count < least_sampled ? access_pattern::random() : access_pattern::unknown();
}

double random_write_seconds(const split_problem& p, const machine& m) {
  return m.random_writes(p.count, p.record_bytes, p.count * p.record_bytes);
}

/// Scatters positions by one write at random each.
template <class Number>
__global__ void __launch_bounds__(block_threads)
    scatter_positions(const Number* order, std::uint64_t count, Number* scatter_index) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i >= count) return;
  const Number record = __ldcs(order + i);
  if (record < count) scatter_index[record] = static_cast<Number>(i);
}

}  // namespace

plan::planned plan_inversion(const split_problem& p, const plan::scope& in) {
  plan::planned plan;
  const double random_writes = random_write_seconds(p, in.machine);
  if (p.word_bytes == sizeof(std::uint32_t)) {
    auto bucketed = std::make_shared<bucketed_positions>(p.count, pattern_of_inversion(p), in);
    const plan::planned& scatter = bucketed->plan();
    if (scatter.applicable() && scatter.seconds < random_writes && scatter.scratch_bytes <= in.scratch_limit) {
      plan.add("bucketed scatter", scatter.seconds);
      plan.scratch_bytes = scatter.scratch_bytes;
      plan.inner_calls = std::move(bucketed);
      return plan;
    }
  }
  return plan.add("random write", random_writes);
}

void invert_order(const context& ctx, const split_problem& problem, const plan::planned& inversion,
                  const std::byte* order, void* scatter_index, std::byte* scratch) {
  const std::uint64_t blocks = ceil_div(problem.count, block_threads);
  if (problem.word_bytes == 8) {
    return launch(ctx, scatter_positions<unsigned long long>, blocks,
                  reinterpret_cast<const unsigned long long*>(order), problem.count,
                  static_cast<unsigned long long*>(scatter_index));
  }
  const auto* const numbers = reinterpret_cast<const std::uint32_t*>(order);
  if (inversion.inner_calls == nullptr) {
    return launch(ctx, scatter_positions<std::uint32_t>, blocks, numbers, problem.count,
                  static_cast<std::uint32_t*>(scatter_index));
  }
  inversion.inner<bucketed_positions>().scatter(ctx, numbers, static_cast<std::uint32_t*>(scatter_index), scratch);
}

}  // namespace sheaf::cuda
