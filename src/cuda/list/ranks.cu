#include <sheaf/cuda/detail/list_operator.cuh>

#include "cuda/list/operators.hpp"

namespace sheaf::cuda {
namespace {

struct no_operator {};

}  // namespace

device_scan_operator rank_operator() noexcept {
  static constexpr no_operator none{};
  return detail::device_operator<detail::no_value>(none);
}

}  // namespace sheaf::cuda
