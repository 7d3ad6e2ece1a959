#pragma once

#include <functional>

#include <sheaf/conjugate_gradient.hpp>

// Conjugate gradient as the NAS benchmark composes it of products and of steps on vectors, each a call of its own. So
// products can be timed in the run that they are a share of.
namespace sheaf::bench::papers::he2007 {

/// What a solution is made of.
enum class solve_step : std::uint8_t { vectors, product };
constexpr std::size_t solve_steps = 2;

/// Queues w = A v.
using product_call = std::function<void(const_values v, values w)>;

/// What is told of the steps.
struct solve_listener {
  void* state = nullptr;
  void (*step_done)(void* state, solve_step step) = nullptr;  ///< the work of a step is queued
};

/// Solves A x = b from the x that is there, by at most so many iterations, with the vector steps of the library's
/// variant `separate` and products by the caller's call: one for each iteration, one for the residual of the result,
/// and one for the start unless x is 0.
conjugate_gradient_result composed_solution(const context& ctx, const product_call& product, const_values b, values x,
                                            std::uint64_t iterations, const solve_listener& listener = {});

}  // namespace sheaf::bench::papers::he2007
