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

builtin_scan::builtin_scan(value_type type, scan_operator op) noexcept
    : function_{},
      kernels_(bytes(type) == 4 ? word_operator<std::uint32_t>(type, op, function_)
                                : word_operator<std::uint64_t>(type, op, function_)) {}

}  // namespace sheaf::cuda
