#pragma once

#include <sheaf/csr.hpp>

#include "lab/description/job.hpp"

namespace sheaf::jobs {

/// The arrays of an spmv's problem, as its call takes them.
struct product_views {
  csr_view a;
  const_values x;
  values y;
};

product_views views_of_product(const problem_spec& p, const array_set& arrays);

}  // namespace sheaf::jobs
