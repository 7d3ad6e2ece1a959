#include "core/cpu_state.hpp"
#include "cpu/reduce/kernels.hpp"
#include "cpu/threads/parts.hpp"
#include "plan/choose.hpp"
#include "primitives/reduce/contract.hpp"

namespace sheaf::cpu {

using namespace primitives;

namespace {

using number_choice = plan::choice<scatter_reduce_variant>;

scatter_reduce_problem as_numbers(const scatter_reduce_rows_problem& p) {
  return {static_cast<const movement&>(p), p.out, p.op, p.order};
}

const char* unfit(const scatter_reduce_rows_problem& p) {
  if (p.values_per_row != 1) return "rows have more than one value";
  if (p.in != p.out || p.in > value_type::f64) return "values are of other types than the reduction of numbers takes";
  if (p.op > reduction::subtract || p.has_counts) return "the reduction of numbers does not count";
  if (p.sequential_stride_bytes != p.record_bytes || p.indexed_stride_bytes != p.record_bytes) {
    return "values do not lie side by side";
  }
  return nullptr;
}

// Rows of one value are numbers, whose reduction takes values along where it orders a list. What it begins with is
// written first where it is the identity element.
plan::planned plan_numbers(const scatter_reduce_rows_problem& p, const plan::scope& scope) {
  if (const char* const why = unfit(p)) return plan::rejected(why);
  const auto inner =
      std::make_shared<number_choice>(plan::cheapest(scatter_reduce_variants(), as_numbers(p), backend_kind::cpu, scope,
                                                     plan::forced_name("scatter_reduce", {}, scope.context)));
  if (inner->variant == nullptr) return plan::rejected("no reduction of numbers keeps to the context's limits");
  plan::planned plan;
  plan.scratch_bytes = inner->plan.scratch_bytes;
  if (!p.reads_out()) plan.add("identity", scope.machine.streamed(p.indexed_bytes(), p.indexed_bytes()));
  plan.add("numbers", inner->plan.seconds);
  plan.inner_calls = inner;
  return plan;
}

void run_numbers(const context& ctx, const scatter_reduce_rows_problem& p, const plan::planned& plan,
                 const scatter_reduce_rows_buffers& b, std::byte* scratch) {
  if (!p.reads_out()) {
    const reduction_kernels kernels = kernels_of_rows(p.in, p.out, p.op, false, 1);
    const auto threads = static_cast<std::uint64_t>(core::cpu(ctx).threads);
    for_each_range(p.indexed_count, parts_worth(p.indexed_bytes(), threads),
                   [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
                     kernels.clear(static_cast<std::byte*>(b.out.data) + begin * p.record_bytes, end - begin);
                   });
  }
  const auto& inner = plan.inner<number_choice>();
  inner.variant->run(ctx, as_numbers(p), inner.plan,
                     {const_values(b.in.data, b.in.count, p.in), b.index, values(b.out.data, b.out.count, p.out)},
                     scratch);
}

}  // namespace

extern constinit const scatter_reduce_rows_variant scatter_reduce_rows_numbers{"cpu.numbers", backend_kind::cpu,
                                                                               plan_numbers, run_numbers};

}  // namespace sheaf::cpu
