#pragma once

#include <cstdint>
#include <cstring>

#include <sheaf/records.hpp>

namespace sheaf::cpu {

/// Calls body with a function copy(to, from) that moves one record of this width. Common widths are known when it is
/// compiled; movement goes by width, never by type.
template <class Body>
void with_record_copy(std::uint64_t record_bytes, Body body) {
  const auto fixed = [&]<std::size_t Bytes>(std::integral_constant<std::size_t, Bytes>) {
    body([](std::byte* to, const std::byte* from) { std::memcpy(to, from, Bytes); });
  };
  switch (record_bytes) {
    case 1: return fixed(std::integral_constant<std::size_t, 1>{});
    case 2: return fixed(std::integral_constant<std::size_t, 2>{});
    case 4: return fixed(std::integral_constant<std::size_t, 4>{});
    case 8: return fixed(std::integral_constant<std::size_t, 8>{});
    case 16: return fixed(std::integral_constant<std::size_t, 16>{});
    default: return body([record_bytes](std::byte* to, const std::byte* from) { std::memcpy(to, from, record_bytes); });
  }
}

/// Calls body with the list as unsigned numbers of its width: a negative one is past every limit then.
template <class Body>
void with_index(index_span index, Body body) {
  if (bytes(index.type) == 4) {
    body(static_cast<const std::uint32_t*>(index.data));
  } else {
    body(static_cast<const std::uint64_t*>(index.data));
  }
}

}  // namespace sheaf::cpu
