#include "primitives/movement.hpp"

#include <algorithm>
#include <limits>

#include "primitives/views.hpp"

namespace sheaf::primitives {

std::uint64_t movement::index_limit() const noexcept {
  if (bounds == sheaf::bounds::trust) return std::numeric_limits<std::uint64_t>::max();
  switch (index) {
    case index_type::i32: return std::min<std::uint64_t>(far_count, std::uint64_t{1} << 31);
    case index_type::i64: return std::min<std::uint64_t>(far_count, std::uint64_t{1} << 63);
    default: return far_count;
  }
}

void require_shapes(std::string_view call, const_records near, std::string_view near_name, index_span index,
                    const_records far, std::string_view far_name) {
  require_shape(call, near, near_name);
  require_shape(call, far, far_name);
  if (near.record_bytes != far.record_bytes) {
    refuse("{}: {} has records of {} bytes, {} of {}", call, near_name, near.record_bytes, far_name, far.record_bytes);
  }
  if (near.count != index.count) {
    refuse("{}: index has {} entries, {} has {} records", call, index.count, near_name, near.count);
  }
  if (index.count > std::numeric_limits<std::uint64_t>::max() / 16) {
    refuse("{}: index has {} entries, more than memory can hold", call, index.count);
  }
}

void require_fit(std::string_view call, const context& ctx, const_records near, std::string_view near_name,
                 index_span index, const_records far, std::string_view far_name, bool writes_near) {
  require_shapes(call, near, near_name, index, far, far_name);
  const std::uint64_t index_bytes = index.count * bytes(index.type);
  require_aligned(call, index.data, bytes(index.type), "index");
  require_memory(call, ctx, near.data, extent(near), near_name);
  require_memory(call, ctx, index.data, index_bytes, "index");
  require_memory(call, ctx, far.data, extent(far), far_name);
  require_apart(call, near.data, extent(near), near_name, far.data, extent(far), far_name);
  const const_records written = writes_near ? near : far;
  require_apart(call, written.data, extent(written), writes_near ? near_name : far_name, index.data, index_bytes,
                "index");
}

movement describe_movement(const context& ctx, const_records near, index_span index, const_records far,
                           access_pattern pattern, bounds checking) {
  const std::uint64_t bits = reinterpret_cast<std::uintptr_t>(near.data) | reinterpret_cast<std::uintptr_t>(far.data) |
                             near.stride_bytes | far.stride_bytes | near.record_bytes | 16;
  return {.backend = ctx.backend(),
          .count = index.count,
          .far_count = far.count,
          .record_bytes = near.record_bytes,
          .near_stride_bytes = near.stride_bytes,
          .far_stride_bytes = far.stride_bytes,
          .word_bytes = static_cast<std::uint32_t>(bits & (~bits + 1)),
          .index = index.type,
          .pattern = pattern,
          .bounds = checking};
}

}  // namespace sheaf::primitives
