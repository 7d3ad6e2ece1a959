#include "lab/description/found_order.hpp"

#include "lab/description/seeds.hpp"
#include "lab/inputs/pattern_function.hpp"
#include "plan/list_glance.hpp"
#include "primitives/movement/found_order.hpp"

namespace sheaf::primitives {

access_pattern found_order(const problem_spec& problem, backend_kind backend) {
  if (!looks_at_order(backend, problem.count)) return access_pattern::unknown();
  const inputs::pattern pattern = jobs::pattern_of_copy(problem, 0);
  const std::uint64_t records = problem.indexed_count();
  return plan::order_at_a_glance(problem.count, records,
                                 [&](std::uint64_t first, std::uint64_t count, std::uint64_t* to) {
                                   for (std::uint64_t i = 0; i < count; ++i)
                                     to[i] = inputs::pattern_entry(pattern, first + i, records);
                                 });
}

}  // namespace sheaf::primitives
