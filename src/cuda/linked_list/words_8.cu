#include <sheaf/cuda/detail/list_operator.cuh>

#include "cuda/linked_list/builtin_operator.cuh"
#include "cuda/linked_list/operators.hpp"

namespace sheaf::cuda {

detail::device_scan_operator words_8_operator(value_type type, scan_operator op, unsigned char* function) noexcept {
  return list_kernels::device_operator<std::uint64_t>(*new (function) builtin_operator<std::uint64_t>{type, op});
}

}  // namespace sheaf::cuda
