#include <sheaf/cuda/detail/list_operator.cuh>

#include "cuda/linked_list/builtin_operator.cuh"
#include "cuda/linked_list/operators.hpp"

namespace sheaf::cuda {

detail::device_scan_operator words_4_operator(value_type type, scan_operator op, unsigned char* function) noexcept {
  return list_kernels::device_operator<std::uint32_t>(*new (function) builtin_operator<std::uint32_t>{type, op});
}

}  // namespace sheaf::cuda
