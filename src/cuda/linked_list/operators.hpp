#pragma once

#include <sheaf/cuda/detail/list_arguments.hpp>

#include "primitives/linked_list/contract.hpp"

// The kernels that the library brings: each in a file that compiles include/sheaf/cuda/detail/list_operator.cuh once.
namespace sheaf::cuda {

/// For ranks, which have no values.
detail::device_scan_operator rank_operator() noexcept;

/// A built-in operator, which lives as long as the object.
class builtin_scan {
 public:
  builtin_scan(value_type type, scan_operator op) noexcept;
  builtin_scan(const builtin_scan&) = delete;
  builtin_scan& operator=(const builtin_scan&) = delete;

  const detail::device_scan_operator& kernels() const noexcept { return kernels_; }

 private:
  alignas(8) unsigned char function_[8];
  detail::device_scan_operator kernels_;
};

/// Kernels for built-in operators on words of 4 or 8 bytes; `function` is a builtin_operator<Word>.
template <class Word>
detail::device_scan_operator word_operator(value_type type, scan_operator op, unsigned char* function) noexcept;

}  // namespace sheaf::cuda
