#pragma once

#include <limits>

#include "primitives/linked_list/contract.hpp"

namespace sheaf::cpu {

/// Successors of one type, Step entries apart: side by side, or in packed nodes.
template <class Index, int Step>
struct successors {
  using unsigned_index = std::make_unsigned_t<Index>;
  const Index* first;

  unsigned_index operator[](std::uint64_t i) const noexcept { return static_cast<unsigned_index>(first[i * Step]); }
  /// Whether node i, whose successor this is, is the last of its list.
  static bool ends_list(std::uint64_t i, unsigned_index next) noexcept {
    if constexpr (std::is_signed_v<Index>) return next == i || static_cast<Index>(next) < 0;
    return next == i || next == std::numeric_limits<unsigned_index>::max();
  }
};

/// Calls body with the list's successors.
template <class Body>
void with_successors(const primitives::list_problem& problem, const primitives::list_buffers& buffers, Body body) {
  if (problem.is_packed) {
    if (problem.successor == index_type::u32)
      return body(successors<std::uint32_t, 2>{static_cast<const std::uint32_t*>(buffers.nodes) + 1});
    return body(successors<std::int32_t, 2>{static_cast<const std::int32_t*>(buffers.nodes) + 1});
  }
  switch (problem.successor) {
    case index_type::u32:
      return body(successors<std::uint32_t, 1>{static_cast<const std::uint32_t*>(buffers.successor.data)});
    case index_type::i32:
      return body(successors<std::int32_t, 1>{static_cast<const std::int32_t*>(buffers.successor.data)});
    case index_type::u64:
      return body(successors<std::uint64_t, 1>{static_cast<const std::uint64_t*>(buffers.successor.data)});
    case index_type::i64:
      return body(successors<std::int64_t, 1>{static_cast<const std::int64_t*>(buffers.successor.data)});
  }
}

}  // namespace sheaf::cpu
