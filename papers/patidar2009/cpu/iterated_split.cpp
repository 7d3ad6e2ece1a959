#include "papers/patidar2009/split_sort.hpp"

// cpu.iterated_split: the split to many categories, by 8 bits at a time, and of indexes (Algorithm 3 and section 3.3),
// to compare with, by name only.
namespace sheaf::cpu {
namespace {

using namespace primitives;

plan::planned plan_iterated(const split_problem& problem, const plan::scope& scope) {
  return papers::patidar2009::plan_iterated_split(problem, scope, steps_of_split_sort);
}

void run_iterated(const context& ctx, const split_problem& problem, const plan::planned& plan,
                  const split_buffers& buffers, std::byte* scratch) {
  papers::patidar2009::run_iterated_split(ctx, problem, plan, buffers, scratch, steps_of_split_sort);
}

}  // namespace

extern constinit const split_variant split_iterated{"cpu.iterated_split", backend_kind::cpu, plan_iterated,
                                                    run_iterated};

}  // namespace sheaf::cpu
