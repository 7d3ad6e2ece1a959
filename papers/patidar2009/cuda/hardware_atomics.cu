#include "papers/patidar2009/basic_split.hpp"

// cuda.hardware_atomics: the two-step split with the hardware's atomic increments, in place of ordered ones
// (section 3.2 and Appendix A: 8 to 10, and 5 to 10 times as fast). It keeps no order, so only split_unstable can have
// it. To compare with, by name only.
namespace sheaf::cuda {
namespace {

using namespace primitives;

constexpr papers::patidar2009::basic_split_form form_without_order{.is_ordered = false};

plan::planned plan_hardware_atomics(const split_problem& problem, const plan::scope& scope) {
  return plan_basic_split(problem, form_without_order, scope.machine);
}

void run_hardware_atomics(const context& ctx, const split_problem& problem, const plan::planned&,
                          const split_buffers& buffers, std::byte* scratch) {
  run_basic_split(ctx, problem, form_without_order, buffers, scratch);
}

}  // namespace

extern constinit const split_variant split_hardware_atomics{"cuda.hardware_atomics", backend_kind::cuda,
                                                            plan_hardware_atomics, run_hardware_atomics};

}  // namespace sheaf::cuda
