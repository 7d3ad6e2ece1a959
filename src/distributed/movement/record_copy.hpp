#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace sheaf::distributed {

/// Copies of records of the widths that have loads and stores of their own; 0: any width.
template <std::uint64_t Bytes>
struct record_copy {
  [[gnu::always_inline]] static void run(std::byte* to, const std::byte* from, std::uint64_t bytes) noexcept {
    std::memcpy(to, from, Bytes == 0 ? bytes : Bytes);
  }
};

/// Calls use(copy) with the copy of records of this width.
template <class Use>
void with_width(std::uint64_t bytes, Use use) {
  switch (bytes) {
    case 1: return use(record_copy<1>{});
    case 2: return use(record_copy<2>{});
    case 4: return use(record_copy<4>{});
    case 8: return use(record_copy<8>{});
    case 16: return use(record_copy<16>{});
    default: return use(record_copy<0>{});
  }
}

}  // namespace sheaf::distributed
