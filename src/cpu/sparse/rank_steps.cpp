#include "primitives/sparse/rank_steps.hpp"

#include <atomic>

#include "core/parallel_tasks.hpp"
#include "cpu/sparse/vector_steps.hpp"

// What conjugate gradient between ranks does with the vectors of one rank: the kernels and the order of sums of
// cpu.fused, so that one rank, or many, get its bits.
namespace sheaf::cpu {
namespace {

using primitives::most_rank_sums;
using primitives::rank_state;
using primitives::rank_sums;
using primitives::rank_system;

static_assert(primitives::rank_block_rows == block_values);

/// Calls work(block) for the blocks of a rank.
template <class Work>
void for_blocks(const context& ctx, const rank_system& system, Work work) {
  constexpr std::uint64_t blocks_of_task = 64;
  core::for_each_task((system.blocks + blocks_of_task - 1) / blocks_of_task, static_cast<std::uint64_t>(ctx.threads()),
                      [&](std::uint64_t task) {
                        const std::uint64_t end = std::min(system.blocks, (task + 1) * blocks_of_task);
                        for (std::uint64_t block = task * blocks_of_task; block < end; ++block) {
                          const std::uint64_t first = block * block_values;
                          work(value_range_of_block{first, std::min(system.product.rows, first + block_values)});
                        }
                      });
}

void read_diagonal_of_rank(const context& ctx, const rank_system& system, const csr_view& a, std::uint64_t first_row) {
  for_blocks(ctx, system,
             [&](value_range_of_block at) { read_diagonal(system.product, a, system.inverse, at, first_row); });
}

/// The sums of a block, after what they are made of.
void sum_block(const rank_system& s, const vector_kernels& kernels, rank_sums what, value_range_of_block at,
               double* to) {
  const auto keep = [&](const residual_sums& sums) {
    to[0] = sums.squared;
    if (s.has_jacobi) to[1] = sums.with_z;
  };
  switch (what) {
    case rank_sums::start_values:
      to[0] = kernels.dot(s.b, s.b, at);
      to[1] = static_cast<double>(kernels.nonzeros(s.b, at));
      to[2] = static_cast<double>(kernels.nonzeros(s.x[0], at));
      to[3] = !s.has_jacobi || kernels.invert(s.inverse, s.inverse, at) ? 0 : 1;
      break;
    case rank_sums::start_residual:
      keep(kernels.sums_of_residual(s.r, s.inverse, at));
      kernels.step_direction(s.p, s.r, s.inverse, 0, at);
      break;
    case rank_sums::curvature: to[0] = kernels.dot(s.p, s.q, at); break;
    case rank_sums::residual: keep(kernels.step_residual(s.r, s.q, s.inverse, s.state->steps.alpha(), at)); break;
    case rank_sums::confirmation: keep(kernels.sums_of_residual(s.r, s.inverse, at)); break;
    case rank_sums::result: keep(kernels.sums_of_residual(s.q, s.inverse, at)); break;
  }
}

void sum(const context& ctx, const rank_system& system, rank_sums what) {
  const bool is_amid = what == rank_sums::curvature || what == rank_sums::residual;
  if (is_amid && system.state->waits_for_host()) return;
  const vector_kernels& kernels = vector_kernels_of(system.product);
  const std::uint64_t count = system.count_of(what);
  for_blocks(ctx, system, [&](value_range_of_block at) {
    sum_block(system, kernels, what, at, system.sums + (system.first_block + at.block()) * count);
  });
}

void take(const context&, const rank_system& system, rank_sums what) {
  const std::uint64_t count = system.count_of(what);
  double sums[most_rank_sums]{};
  for (std::uint64_t k = 0; k < count; ++k) sums[k] = sum_of_blocks(system.sums + k, system.all_blocks, count);
  if (count == 1) sums[1] = sums[0];  // z = r
  system.state->take(what, system.goals, sums);
}

void step_vectors(const context& ctx, const rank_system& system) {
  const rank_state& state = *system.state;
  if (state.has_step == 0 && state.has_direction == 0) return;
  const vector_kernels& kernels = vector_kernels_of(system.product);
  for_blocks(ctx, system, [&](value_range_of_block at) {
    if (state.has_step != 0) kernels.step_solution(system.x[state.from], system.x[state.to], system.p, state.alpha, at);
    if (state.has_direction != 0) kernels.step_direction(system.p, system.r, system.inverse, state.beta, at);
  });
}

}  // namespace

constinit const primitives::rank_steps steps_of_rank{read_diagonal_of_rank, sum, take, step_vectors};

}  // namespace sheaf::cpu
