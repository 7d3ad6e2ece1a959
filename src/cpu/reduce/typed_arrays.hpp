#pragma once

#include "cpu/movement/record_copy.hpp"
#include "primitives/operators/reduce_value.hpp"
#include "primitives/operators/with_value.hpp"
#include "primitives/reduce/contract.hpp"

namespace sheaf::cpu {

/// An operation as a function object.
template <class T, reduction Op>
struct value_reduction {
  /// The slot after a value.
  T operator()(T slot, T value) const { return primitives::reduced<Op>(slot, value); }
  /// The slot after what a private slot has made of the identity element and some values. What that one subtracted is
  /// in it as a negative number, and is added.
  static T merged(T slot, T partial) {
    constexpr reduction merging = Op == reduction::subtract ? reduction::add : Op;
    return primitives::reduced<merging>(slot, partial);
  }
};

/// Calls body(index, in, out, op) with the list as unsigned numbers, typed pointers to the values and the slots, and a
/// value_reduction.
template <class Body>
void with_arrays_and_op(const primitives::scatter_reduce_problem& p, const primitives::scatter_reduce_buffers& buffers,
                        Body body) {
  with_index(buffers.index, [&](const auto* index) {
    primitives::with_value_and_op(p.type, p.op, [&](auto value, auto op) {
      using T = decltype(value);
      body(index, static_cast<const T*>(buffers.in.data), static_cast<T*>(buffers.out.data),
           value_reduction<T, decltype(op)::value>{});
    });
  });
}

}  // namespace sheaf::cpu
