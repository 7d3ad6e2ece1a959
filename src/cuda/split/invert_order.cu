#include "cuda/split/invert_order.hpp"

#include "core/scratch_offsets.hpp"
#include "cuda/device/launch.cuh"
#include "cuda/movement/variants.hpp"
#include "cuda/split/passes.hpp"
#include "plan/choose.hpp"

namespace sheaf::cuda {
namespace {

using primitives::split_problem;

/// The inversion as a scatter of positions by the order.
primitives::scatter_problem scatter_of_positions(const split_problem& p, access_pattern order) {
  primitives::scatter_problem s;
  s.backend = p.backend;
  s.count = s.indexed_count = p.count;
  s.record_bytes = s.sequential_stride_bytes = s.indexed_stride_bytes = s.word_bytes = sizeof(std::uint32_t);
  s.pattern = order;
  s.bounds = bounds::trust;
  return s;
}

/// The inversion by scatter's propagation blocking.
struct bucketed_inversion {
  primitives::scatter_problem scatter;
  plan::planned plan;

  // Keys that were sorted leave an order that is sorted. Short lists do not repay the look at it.
  bucketed_inversion(const split_problem& p, const plan::scope& in)
      : scatter(
            scatter_of_positions(p, p.count < least_sampled ? access_pattern::random() : access_pattern::unknown())),
        plan(scatter_bucketed.plan(scatter, in)) {}

  static constexpr std::uint64_t least_sampled = std::uint64_t{1} << 20;
};

double random_write_seconds(const split_problem& p, const machine& m) {
  return m.random_writes(p.count, p.record_bytes, p.count * p.record_bytes);
}

__global__ void __launch_bounds__(block_threads) write_positions(std::uint32_t* position, std::uint64_t count) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i < count) position[i] = static_cast<std::uint32_t>(i);
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
    const std::uint64_t positions_bytes = core::scratch_aligned(p.count * sizeof(std::uint32_t));
    auto bucketed = std::make_shared<bucketed_inversion>(p, plan::inner_scope(in, positions_bytes));
    const plan::planned& scatter = bucketed->plan;
    const std::uint64_t scratch_bytes = positions_bytes + scatter.scratch_bytes;
    if (scatter.applicable() && scatter.seconds < random_writes && scratch_bytes <= in.scratch_limit) {
      plan.add("bucketed scatter", scatter.seconds);
      plan.scratch_bytes = scratch_bytes;
      plan.inner_calls = std::move(bucketed);
      return plan;
    }
  }
  return plan.add("random write", random_writes);
}

void invert_order(const context& ctx, const char* operation, const split_problem& p, const plan::planned& inversion,
                  const std::byte* order, void* scatter_index, std::byte* scratch) {
  const std::uint64_t blocks = ceil_div(p.count, block_threads);
  if (p.word_bytes == 8) {
    return launch(ctx, operation, scatter_positions<unsigned long long>, blocks,
                  reinterpret_cast<const unsigned long long*>(order), p.count,
                  static_cast<unsigned long long*>(scatter_index));
  }
  const auto* const numbers = reinterpret_cast<const std::uint32_t*>(order);
  if (inversion.inner_calls == nullptr) {
    return launch(ctx, operation, scatter_positions<std::uint32_t>, blocks, numbers, p.count,
                  static_cast<std::uint32_t*>(scatter_index));
  }
  auto* const positions = reinterpret_cast<std::uint32_t*>(scratch);
  launch(ctx, operation, write_positions, blocks, positions, p.count);
  const auto& bucketed = inversion.inner<bucketed_inversion>();
  scatter_bucketed.run(
      ctx, bucketed.scatter, bucketed.plan,
      {const_records(positions, p.count, sizeof(std::uint32_t)), index_span(numbers, p.count, index_type::u32),
       records(scatter_index, p.count, sizeof(std::uint32_t))},
      scratch + core::scratch_aligned(p.count * sizeof(std::uint32_t)));
}

}  // namespace sheaf::cuda
