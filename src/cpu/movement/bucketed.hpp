#pragma once

#include <cstdint>

#include "cpu/movement/buckets.hpp"
#include "cpu/movement/page_order.hpp"
#include "cpu/movement/record_copy.hpp"

// What the clustered gather and scatter share.
namespace sheaf::cpu {

constexpr std::uint64_t most_clustered_bytes = 32;

inline const char* why_not_clustered(const primitives::movement& m) noexcept {
  if (m.backend != backend_kind::cpu) return "works on host memory";
  if (m.record_bytes > most_clustered_bytes) return "records of more than 32 bytes are lines by themselves";
  return nullptr;
}

/// Whether clustering may pay: a list that is known to lie otherwise has its order already. 2^26 records over
/// cpu.by_page, process time on two threads of a Xeon of family 6 model 207: scatter of 4 bytes 1.37x on fresh scratch
/// and 1.62x on scratch that was kept, of 8 bytes 0.80x to 1.1x and 1.47x; gather of 4 bytes 1.20x and 1.70x, of 8
/// bytes 1.09x and 1.80x.
inline bool may_pay_to_cluster(const primitives::movement& m) noexcept {
  using kind = access_pattern::kind;
  constexpr std::uint64_t least_indexed_bytes = std::uint64_t{64} << 20;
  const bool scattered = m.pattern.shape == kind::unknown || m.pattern.shape == kind::random;
  return scattered && m.indexed_bytes() >= least_indexed_bytes;
}

/// Bytes that a record takes in scratch: the next power of two, so that some fill a line.
inline std::uint64_t clustered_bytes(const primitives::movement& m) noexcept { return std::bit_ceil(m.record_bytes); }

/// Calls body with the layout and with a block that holds a record.
template <class Body>
void with_clustered(const primitives::movement& m, Body body) {
  with_layout(m, [&](auto layout) {
    using layout_type = decltype(layout);
    if constexpr (requires { layout.indexed_stride_bytes; }) {
      switch (clustered_bytes(m)) {
        case 1: return body(layout, block_of_bytes<1>{});
        case 2: return body(layout, block_of_bytes<2>{});
        case 4: return body(layout, block_of_bytes<4>{});
        case 8: return body(layout, block_of_bytes<8>{});
        case 16: return body(layout, block_of_bytes<16>{});
        default: return body(layout, block_of_bytes<32>{});
      }
    } else if constexpr (layout_type::record_bytes <= most_clustered_bytes) {
      body(layout, block_of_bytes<layout_type::record_bytes>{});
    }
  });
}

/// Copies a record to or from a block, which is no wider than the records' next power of two.
template <class Layout>
void copy_clustered(Layout layout, std::byte* to, const std::byte* from) noexcept {
  if constexpr (requires { layout.indexed_stride_bytes; }) {
    std::memcpy(to, from, layout.record_bytes);
  } else {
    layout.copy(to, from);
  }
}

/// Whether the list is one that ordering helps: as cpu.by_page looks at a tile, this looks at all of it.
template <class Index>
bool is_worth_clustering(const primitives::movement& m, const Index* index) {
  return is_scattered(index, m.count, m.indexed_stride_bytes);
}

}  // namespace sheaf::cpu
