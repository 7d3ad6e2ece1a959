#include "primitives/split/second_sort.hpp"

#include "core/scratch_offsets.hpp"
#include "plan/choose.hpp"
#include "primitives/sort/contract.hpp"

namespace sheaf::primitives {
namespace {

/// The calls inside. Their scratch lies behind the gather index, one over the other.
struct second_sort_calls {
  split_problem split;
  sort_problem sort;
  plan::choice<split_variant> chosen_split;
  plan::choice<sort_variant> chosen_sort;
};

split_problem gather_index_problem(const split_problem& problem) {
  split_problem split = problem;
  split.product = split_product::gather_index;
  return split;
}

/// The sort of positions by the gather index, whose entries are the numbers from 0 to count - 1.
sort_problem position_problem(const split_problem& problem) {
  const auto width = static_cast<std::uint32_t>(bytes(problem.index));
  sort_problem sort;
  sort.backend = problem.backend;
  sort.product = sort_product::gather_index;
  sort.count = problem.count;
  sort.key.field_count = 1;
  sort.key.bits = std::max<std::uint32_t>(1, static_cast<std::uint32_t>(std::bit_width(problem.count - 1)));
  sort.key.fields[0] = {.offset = 0, .bytes = width, .type = key_type::unsigned_integer, .bit_count = sort.key.bits};
  sort.rows = {.record_bytes = width, .in_stride_bytes = width, .out_stride_bytes = 0, .access_bytes = width};
  sort.writes_rows = false;
  sort.index = problem.index;
  return sort;
}

std::uint64_t gather_index_bytes(const split_problem& p) { return core::scratch_aligned(p.count * bytes(p.index)); }

}  // namespace

plan::planned plan_second_sort(const split_problem& problem, const plan::scope& in) {
  if (problem.product != split_product::scatter_index) return plan::rejected("makes scatter indexes");
  if (problem.checks_category()) return plan::rejected("records of bad categories have no place in a gather index");
  if (problem.count == 0) return plan::rejected("there is nothing to sort");
  const std::uint64_t own_bytes = gather_index_bytes(problem);
  const plan::scope inside = plan::inner_scope(in, own_bytes);
  const auto calls = std::make_shared<second_sort_calls>();
  calls->split = gather_index_problem(problem);
  calls->sort = position_problem(problem);
  calls->chosen_split = plan::cheapest_of_any_scratch(split_variants(), calls->split, problem.backend, inside,
                                                      plan::forced_name("split_gather_index", {}, in.context));
  calls->chosen_sort = plan::cheapest_of_any_scratch(sort_variants(), calls->sort, problem.backend, inside,
                                                     plan::forced_name("sort_gather_index", {}, in.context));
  if (calls->chosen_split.variant == nullptr) return plan::rejected("no split can make the gather index");
  if (calls->chosen_sort.variant == nullptr) return plan::rejected("no sort can put positions in order");
  plan::planned plan;
  plan.add("split", calls->chosen_split.plan.seconds);
  // It is queued behind the split, and the device is busy meanwhile. On a CPU a short sort takes less than a launch.
  plan.add("second sort", std::max(0.0, calls->chosen_sort.plan.seconds - in.machine.launch_seconds));
  plan.scratch_bytes =
      own_bytes + std::max(calls->chosen_split.plan.scratch_bytes, calls->chosen_sort.plan.scratch_bytes);
  plan.inner_calls = calls;
  return plan;
}

void run_second_sort(const context& ctx, const split_problem& problem, const plan::planned& plan,
                     const split_buffers& buffers, std::byte* scratch) {
  const auto& calls = plan.inner<second_sort_calls>();
  const index_output gather_index(scratch, problem.count, problem.index);
  std::byte* const inner_scratch = scratch + gather_index_bytes(problem);
  split_buffers split = buffers;
  split.index = gather_index;
  calls.chosen_split.variant->run(ctx, calls.split, calls.chosen_split.plan, split, inner_scratch);
  sort_buffers sort;
  sort.in = const_records(scratch, problem.count, bytes(problem.index));
  sort.index = buffers.index;
  calls.chosen_sort.variant->run(ctx, calls.sort, calls.chosen_sort.plan, sort, inner_scratch);
}

}  // namespace sheaf::primitives
