#include "primitives/split/second_sort.hpp"

namespace sheaf::cpu {

extern constinit const primitives::split_variant split_second_sort{
    "cpu.second_sort", backend_kind::cpu, primitives::plan_second_sort, primitives::run_second_sort};

}  // namespace sheaf::cpu
