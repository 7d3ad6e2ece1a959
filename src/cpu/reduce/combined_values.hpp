#pragma once

#include "cpu/threads/instruction_sets.hpp"
#include "primitives/reduce/rows.hpp"

// What the loops of kernels.cpp and scatter_kernels.cpp do with one value.
namespace sheaf::cpu {

template <reduction Op, class In, class Sum>
[[gnu::always_inline]] inline Sum taken(Sum sum, In value) {
  return primitives::combined<Op>(sum, primitives::operand<Op>(primitives::converted<Sum>(value)));
}
template <class In, class Sum>
[[gnu::always_inline]] inline Sum taken(Sum sum, In value, Sum weight) {
  return sum + weight * primitives::converted<Sum>(value);
}

template <class In>
[[gnu::always_inline]] inline const In* row_at(const std::byte* base, std::uint64_t offset) {
  return reinterpret_cast<const In*>(base + offset);
}

}  // namespace sheaf::cpu
