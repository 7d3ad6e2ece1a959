#pragma once

#include <sheaf/cuda/detail/list_nodes.cuh>

#include "primitives/operators/scan_value.hpp"

namespace sheaf::cuda {

/// Any built-in operator on words of 4 or 8 bytes. The switch inside costs a walk nothing, which waits for memory, and
/// keeps the kernels few.
template <class Word>
struct builtin_operator {
  value_type type;
  scan_operator op;

  template <class T>
  __device__ static Word words(T value) {
    Word word;
    memcpy(&word, &value, sizeof word);
    return word;
  }
  template <class T>
  __device__ Word apply(Word a, Word b) const {
    using primitives::scanned;
    T earlier;
    T later;
    memcpy(&earlier, &a, sizeof a);
    memcpy(&later, &b, sizeof b);
    switch (op) {
      case scan_operator::add: return words(scanned<scan_operator::add>(earlier, later));
      case scan_operator::min: return words(scanned<scan_operator::min>(earlier, later));
      case scan_operator::max: return words(scanned<scan_operator::max>(earlier, later));
      case scan_operator::mul: return words(scanned<scan_operator::mul>(earlier, later));
      case scan_operator::bit_and: return a & b;
      case scan_operator::bit_or: return a | b;
      default: return a ^ b;
    }
  }
  __device__ Word operator()(Word earlier, Word later) const {
    constexpr bool is_narrow = sizeof(Word) == 4;
    switch (type) {
      case value_type::i32:
      case value_type::i64: return apply<std::conditional_t<is_narrow, std::int32_t, std::int64_t>>(earlier, later);
      case value_type::f32:
      case value_type::f64: return apply<std::conditional_t<is_narrow, float, double>>(earlier, later);
      default: return apply<Word>(earlier, later);
    }
  }
};

}  // namespace sheaf::cuda

namespace sheaf::list_kernels {

/// A minimum or maximum of a value and itself is the value, or the NaN that it is of any values with a NaN. The other
/// operators of floats leave a value alone.
template <class Word>
struct first_result<cuda::builtin_operator<Word>, Word> {
  __device__ static __forceinline__ Word of(const cuda::builtin_operator<Word>& op, const Word& value) {
    const bool is_extreme = op.op == scan_operator::min || op.op == scan_operator::max;
    return is_extreme ? op(value, value) : value;
  }
};

}  // namespace sheaf::list_kernels
