#include "cuda/linked_list/operators.hpp"

namespace sheaf::cuda {

builtin_scan::builtin_scan(value_type type, scan_operator op) noexcept
    : function_{},
      kernels_(bytes(type) == 4 ? word_operator<std::uint32_t>(type, op, function_)
                                : word_operator<std::uint64_t>(type, op, function_)) {}

}  // namespace sheaf::cuda
