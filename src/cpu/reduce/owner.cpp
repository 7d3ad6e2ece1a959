#include "cpu/reduce/numbers_in_order.hpp"
#include "cpu/reduce/owned_rows.hpp"
#include "cpu/reduce/typed_arrays.hpp"
#include "primitives/reduce/contract.hpp"

namespace sheaf::cpu {
namespace {

using namespace primitives;

owned_shape owned_shape_of_numbers(const scatter_reduce_problem& p) {
  return {.entries = p.count,
          .slots = p.indexed_count,
          .in_row_bytes = p.record_bytes,
          .out_row_bytes = p.record_bytes,
          .are_numbers = true};
}

// Owner computes: each thread owns a range of the output and reads the whole index list, so every slot takes its values
// in the order of their positions.
plan::planned plan_owner(const scatter_reduce_problem& problem, const plan::scope& scope) {
  if (problem.indexed_count > std::uint64_t{1} << 32) return plan::rejected("slots are counted in 32 bits");
  if (problem.indexed_count > problem.index_limit())
    return plan::rejected("there are more slots than entries can name");
  return price_owners(owned_shape_of_numbers(problem), problem, 1, scope.machine);
}

void run_owner(const context& ctx, const scatter_reduce_problem& problem, const plan::planned& plan,
               const scatter_reduce_buffers& b, std::byte* scratch) {
  const auto decided = plan.decided.get<owned_decision>();
  bool is_done = false;
  with_arrays_and_op(problem, b, [&](const auto* index, const auto* in, auto* out, auto op) {
    using T = std::remove_pointer_t<decltype(out)>;
    // One owner of all slots has nothing to tell apart.
    is_done = decided.threads == 1 || (decided.threads < least_owners && names_neighbours<T>(index, problem.count));
    if (!is_done) return;
    run_checked(ctx, problem, b.index, scatter_reduce_wording, [&] {
      return reduce_in_order(index, in, out, problem.count, problem.index_limit(), problem.indexed_count, op);
    });
  });
  if (is_done) return;
  const owned_reduction r{.in = static_cast<const std::byte*>(b.in.data),
                          .in_stride = problem.record_bytes,
                          .list = b.index,
                          .out = static_cast<std::byte*>(b.out.data),
                          .out_stride = problem.record_bytes,
                          .width = 1,
                          .kernels = kernels_of_rows(problem.type, problem.type, problem.op, false, 1)};
  run_checked(ctx, problem, b.index, scatter_reduce_wording,
              [&] { return combine_by_owners(r, owned_shape_of_numbers(problem), decided, scratch); });
}

}  // namespace

extern constinit const scatter_reduce_variant scatter_reduce_owner{"cpu.owner", backend_kind::cpu, plan_owner,
                                                                   run_owner};

}  // namespace sheaf::cpu
