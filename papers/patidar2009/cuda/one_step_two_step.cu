#include "papers/patidar2009/basic_split.hpp"

// cuda.one_step and cuda.two_step, the basic split as published: ordered increments, and records that go straight to
// the output, or to their place in the segment first. To compare with, by name only.
namespace sheaf::cuda {
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

extern constinit const split_variant split_one_step{"cuda.one_step", backend_kind::cuda, plan_form<false>,
                                                    run_form<false>};
extern constinit const split_variant split_two_step{"cuda.two_step", backend_kind::cuda, plan_form<true>,
                                                    run_form<true>};

}  // namespace sheaf::cuda
