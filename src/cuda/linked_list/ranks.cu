#include <sheaf/cuda/detail/list_operator.cuh>

#include "cuda/linked_list/operators.hpp"

namespace sheaf::cuda {
namespace {

struct no_operator {};

}  // namespace

detail::device_scan_operator rank_operator() noexcept {
  static constexpr no_operator none{};
  return list_kernels::device_operator<list_kernels::no_value>(none);
}

}  // namespace sheaf::cuda
