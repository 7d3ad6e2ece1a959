#include "papers/patidar2009/basic_split.hpp"

// cpu.one_step and cpu.two_step: the basic split as published, to compare with, by name only.
namespace sheaf::cpu {
namespace {

using namespace primitives;

template <bool TwoSteps>
plan::planned plan_form(const split_problem& problem, const plan::scope& scope) {
  return plan_basic_split(problem, {.has_two_steps = TwoSteps}, scope.machine);
}

template <bool TwoSteps>
void run_form(const context& ctx, const split_problem& problem, const plan::planned&, const split_buffers& buffers,
              std::byte* scratch) {
  run_basic_split(ctx, problem, {.has_two_steps = TwoSteps}, buffers, scratch);
}

}  // namespace

extern constinit const split_variant split_one_step{"cpu.one_step", backend_kind::cpu, plan_form<false>,
                                                    run_form<false>};
extern constinit const split_variant split_two_step{"cpu.two_step", backend_kind::cpu, plan_form<true>, run_form<true>};

}  // namespace sheaf::cpu
