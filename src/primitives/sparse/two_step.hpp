#pragma once

#include "plan/choose.hpp"
#include "primitives/movement/gather.hpp"

namespace sheaf::primitives {

/// The call inside the plan of a product in two steps: the gather that brings x of each entry's column beside the
/// entry. Benchmarks and tests put another choice in its place.
struct two_step_calls {
  gather_problem gather;
  std::uint64_t gather_scratch = 0;  ///< where its scratch begins in that of the product, of which it is the end
  plan::choice<gather_variant> choice;
};

}  // namespace sheaf::primitives
