#pragma once

#include <cstdint>

#include "cpu/movement/index_buckets.hpp"
#include "cpu/movement/order_sample.hpp"
#include "cpu/movement/record_copy.hpp"

// What cpu.bucketed has in common for gather and scatter: when it applies, when it may pay, and how a record is copied
// to and from scratch.
namespace sheaf::cpu {

/// Widest record in bytes that a bucketed movement takes.
constexpr std::uint64_t most_bucketed_bytes = 32;

inline const char* why_not_bucketed(const primitives::movement& m) noexcept {
  if (m.record_bytes > most_bucketed_bytes) return "records of more than 32 bytes are lines by themselves";
  return nullptr;
}

/// Whether bucketing may pay: only if the pattern is random or unknown, as every other pattern has locality already.
/// Speed over page order (cpu.by_page, which gathers had too), 2^26 records, process time on two threads of a Xeon of
/// family 6 model 207, on fresh scratch and on scratch that the context had kept: scatter of 4 bytes 1.37x and 1.62x,
/// of 8 bytes 0.80x to 1.1x and 1.47x; gather of 4 bytes 1.20x and 1.70x, of 8 bytes 1.09x and 1.80x.
inline bool bucketing_may_pay(const primitives::movement& m) noexcept {
  using kind = access_pattern::kind;
  constexpr std::uint64_t least_indexed_bytes = std::uint64_t{64} << 20;
  const bool scattered = m.pattern.shape == kind::unknown || m.pattern.shape == kind::random;
  return scattered && m.indexed_bytes() >= least_indexed_bytes;
}

/// Bytes that a record takes in scratch: the next power of two, so that whole records fill a cache line.
inline std::uint64_t bucketed_record_bytes(const primitives::movement& m) noexcept {
  return std::bit_ceil(m.record_bytes);
}

/// Calls body(layout, block) with the layout of the records and a block_of_bytes that holds one.
template <class Body>
void with_bucketed_record(const primitives::movement& m, Body body) {
  with_layout(m, [&](auto layout) {
    using layout_type = decltype(layout);
    if constexpr (requires { layout.indexed_stride_bytes; }) {
      switch (bucketed_record_bytes(m)) {
        case 1: return body(layout, block_of_bytes<1>{});
        case 2: return body(layout, block_of_bytes<2>{});
        case 4: return body(layout, block_of_bytes<4>{});
        case 8: return body(layout, block_of_bytes<8>{});
        case 16: return body(layout, block_of_bytes<16>{});
        default: return body(layout, block_of_bytes<32>{});
      }
    } else if constexpr (layout_type::record_bytes <= most_bucketed_bytes) {
      body(layout, block_of_bytes<layout_type::record_bytes>{});
    }
  });
}

/// Copies a record to or from its block in scratch, which may be wider than the record.
template <class Layout>
void copy_bucketed(Layout layout, std::byte* to, const std::byte* from) noexcept {
  if constexpr (requires { layout.indexed_stride_bytes; }) {
    std::memcpy(to, from, layout.record_bytes);
  } else {
    layout.copy(to, from);
  }
}

/// Whether a sample of the list says that it is scattered; an ordered list is faster moved as it is.
template <class Index>
bool is_worth_bucketing(const primitives::movement& m, const Index* index) {
  return is_scattered(index, m.count, m.indexed_stride_bytes);
}

}  // namespace sheaf::cpu
