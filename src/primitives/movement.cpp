#include "primitives/movement.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <sheaf/error.hpp>

#include "core/context_state.hpp"

namespace sheaf::primitives {
namespace {

template <class... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) {
  throw error(error_code::bad_argument, fmt::format(format, std::forward<Args>(args)...));
}

// Bytes from the first to past the last byte of the records; the views were checked not to wrap.
std::uint64_t extent(const_records r) { return r.count == 0 ? 0 : (r.count - 1) * r.stride_bytes + r.record_bytes; }

void require_shape(std::string_view call, const_records r, std::string_view what) {
  if (r.record_bytes == 0 || r.record_bytes > most_record_bytes) {
    refuse("{}: {} has records of {} bytes, not 1 to {}", call, what, r.record_bytes, most_record_bytes);
  }
  if (r.stride_bytes < r.record_bytes) {
    refuse("{}: {} has a stride of {} bytes, less than its records' {}", call, what, r.stride_bytes, r.record_bytes);
  }
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (r.stride_bytes > most || (r.count > 0 && r.count - 1 > (most - r.record_bytes) / r.stride_bytes)) {
    refuse("{}: {} has {} records {} bytes apart, more than memory can hold", call, what, r.count, r.stride_bytes);
  }
}

void require_memory(std::string_view call, const context& ctx, const void* data, std::uint64_t byte_count,
                    std::string_view what) {
  if (byte_count == 0) return;
  if (data == nullptr) refuse("{}: {} is null", call, what);
  ctx.state().require_reachable(data, call, what);
}

void require_apart(std::string_view call, const void* a, std::uint64_t a_bytes, std::string_view a_name, const void* b,
                   std::uint64_t b_bytes, std::string_view b_name) {
  const auto a_first = reinterpret_cast<std::uintptr_t>(a);
  const auto b_first = reinterpret_cast<std::uintptr_t>(b);
  if (a_bytes > 0 && b_bytes > 0 && a_first < b_first + b_bytes && b_first < a_first + a_bytes) {
    refuse("{}: {} overlaps {}", call, a_name, b_name);
  }
}

}  // namespace

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
  if (reinterpret_cast<std::uintptr_t>(index.data) % bytes(index.type) != 0) {
    refuse("{}: index is not aligned to its {} bytes", call, bytes(index.type));
  }
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
