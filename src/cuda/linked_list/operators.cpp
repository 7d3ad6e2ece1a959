#include "cuda/linked_list/operators.hpp"

namespace sheaf::cuda {

builtin_scan::builtin_scan(value_type type, scan_operator op) noexcept
    : function_{},
      kernels_(bytes(type) == 4 ? words_4_operator(type, op, function_) : words_8_operator(type, op, function_)) {}

}  // namespace sheaf::cuda
