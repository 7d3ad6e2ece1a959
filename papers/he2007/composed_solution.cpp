#include "papers/he2007/composed_solution.hpp"

#include <string>

namespace sheaf::bench::papers::he2007 {

conjugate_gradient_result composed_solution(const context& ctx, const product_call& product, const_values b, values x,
                                            std::uint64_t iterations, const solve_listener& listener) {
  const auto tell = [&](solve_step step) {
    if (listener.step_done != nullptr) listener.step_done(listener.state, step);
  };
  const auto apply = [&](const context&, const_values in, values out) {
    tell(solve_step::vectors);
    product(in, out);
    tell(solve_step::product);
  };
  const std::string variant = std::string(name(ctx.backend())) + ".separate";
  return conjugate_gradient(ctx, apply, b, x, {.tolerance = 0, .iteration_limit = iterations, .variant = variant});
}

}  // namespace sheaf::bench::papers::he2007
