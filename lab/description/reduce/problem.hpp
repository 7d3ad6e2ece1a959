#pragma once

#include <sheaf/scatter_reduce.hpp>

#include "lab/description/problem_spec.hpp"

namespace sheaf::primitives {

struct reduce_part {
  reduction op = reduction::add;
  reduction_order order = reduction_order::deterministic;
};

}  // namespace sheaf::primitives
