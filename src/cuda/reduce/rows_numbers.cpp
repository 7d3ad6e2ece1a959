#include "cuda/reduce/rows/calls.hpp"
#include "cuda/reduce/rows/cost.hpp"
#include "plan/choose.hpp"
#include "primitives/reduce/contract.hpp"

// The variant cuda.numbers for rows of one value: the reduction of numbers, which takes values along where it sorts a
// list. What it begins with is written first where it is the identity element.
namespace sheaf::cuda {
namespace {

using namespace primitives;

using number_choice = plan::choice<scatter_reduce_variant>;

scatter_reduce_problem numbers_of(const scatter_reduce_rows_problem& p) {
  return {static_cast<const movement&>(p), p.out, p.op, p.order};
}

const char* unfit(const scatter_reduce_rows_problem& p) {
  if (p.values_per_row != 1) return "rows have more than one value";
  if (p.in != p.out || p.in > value_type::f64) return "values are of other types than the reduction of numbers takes";
  if (p.op > reduction::subtract || p.has_counts) return "the reduction of numbers does not count";
  if (p.count == 0) return "the list is empty";
  if (p.sequential_stride_bytes != p.record_bytes || p.indexed_stride_bytes != p.record_bytes) {
    return "values do not lie side by side";
  }
  return nullptr;
}

plan::planned plan_numbers(const scatter_reduce_rows_problem& p, const plan::scope& scope) {
  if (const char* const why = unfit(p)) return plan::rejected(why);
  const auto inner =
      std::make_shared<number_choice>(plan::cheapest(scatter_reduce_variants(), numbers_of(p), backend_kind::cuda,
                                                     scope, plan::forced_name("scatter_reduce", {}, scope.context)));
  if (inner->variant == nullptr) return plan::rejected("no reduction of numbers keeps to the context's limits");
  plan::planned plan;
  plan.scratch_bytes = inner->plan.scratch_bytes;
  if (!p.reads_out()) {
    plan.add("identity",
             scope.machine.step_seconds + rows_written_seconds(p.indexed_count, p.record_bytes, false, scope.machine));
  }
  plan.add("numbers", inner->plan.seconds);
  plan.inner_calls = inner;
  return plan;
}

void run_numbers(const context& ctx, const scatter_reduce_rows_problem& p, const plan::planned& plan,
                 const scatter_reduce_rows_buffers& b, std::byte* scratch) {
  const device_scope current_device(ctx.device());
  if (!p.reads_out()) fill_rows(ctx, b.out, p.op);
  const auto& inner = plan.inner<number_choice>();
  inner.variant->run(ctx, numbers_of(p), inner.plan,
                     {const_values(b.in.data, b.in.count, p.in), b.index, values(b.out.data, b.out.count, p.out)},
                     scratch);
}

}  // namespace

extern constinit const scatter_reduce_rows_variant scatter_reduce_rows_numbers{"cuda.numbers", backend_kind::cuda,
                                                                               plan_numbers, run_numbers};

}  // namespace sheaf::cuda
