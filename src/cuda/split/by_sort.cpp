#include "primitives/split/by_sort.hpp"

#include "cuda/device/state.hpp"
#include "cuda/split/steps.hpp"

// The variant cuda.by_sort, for more than 32 bits: the cheapest sort by them. A scatter index is the inverse of the
// order that the sort of record numbers leaves.
namespace sheaf::cuda {
namespace {

using namespace primitives;

constexpr order_inversion inversion_of_order{plan_inversion, invert_order};

plan::planned plan_by_sort(const split_problem& problem, const plan::scope& scope) {
  return plan_sorted_split(problem, scope, inversion_of_order);
}

void run_by_sort(const context& ctx, const split_problem& problem, const plan::planned& plan, const split_buffers& b,
                 std::byte* scratch) {
  const device_scope current_device(ctx.device());
  run_sorted_split(ctx, problem, plan, b, inversion_of_order, scratch);
}

}  // namespace

extern constinit const split_variant split_by_sort{"cuda.by_sort", backend_kind::cuda, plan_by_sort, run_by_sort};

}  // namespace sheaf::cuda
