#pragma once

#include "primitives/operators/reduce_value.hpp"
#include "primitives/operators/with_value.hpp"
#include "primitives/scatter_reduce.hpp"

namespace sheaf::cpu {

/// Calls body(in, out, op) with typed pointers to the values and the slots, and with op(slot, value) -> new slot.
template <class Body>
void with_values_and_op(const primitives::scatter_reduce_problem& p, const primitives::scatter_reduce_buffers& b,
                        Body body) {
  primitives::with_value_and_op(p.type, p.op, [&](auto value, auto op) {
    using T = decltype(value);
    body(static_cast<const T*>(b.in.data), static_cast<T*>(b.out.data),
         [](T slot, T other) { return primitives::reduced<decltype(op)::value>(slot, other); });
  });
}

}  // namespace sheaf::cpu
