#include "primitives/split/second_sort.hpp"

namespace sheaf::cuda {

extern constinit const primitives::split_variant split_second_sort{
    "cuda.second_sort", backend_kind::cuda, primitives::plan_second_sort, primitives::run_second_sort};

}  // namespace sheaf::cuda
