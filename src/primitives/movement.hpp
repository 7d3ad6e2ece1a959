#pragma once

#include <cstdint>
#include <string_view>

#include <sheaf/context.hpp>
#include <sheaf/plan.hpp>
#include <sheaf/records.hpp>

namespace sheaf::primitives {

/// What decides how records move through an index: sizes and layout, never data. `far` is the side that the index
/// reaches (a gather's table, a scatter's output), `near` the side in index order.
struct movement {
  backend_kind backend = backend_kind::cpu;
  std::uint64_t count = 0;          ///< indices, and records of the near side
  std::uint64_t indexed_count = 0;  ///< records that the index may name
  std::uint64_t record_bytes = 0;
  std::uint64_t sequential_stride_bytes = 0;
  std::uint64_t indexed_stride_bytes = 0;
  std::uint32_t word_bytes = 1;  ///< widest power of two up to 16 that divides addresses, strides and the width
  index_type index = index_type::u32;
  access_pattern pattern;
  sheaf::bounds bounds = sheaf::bounds::check;

  std::uint64_t indexed_bytes() const noexcept { return indexed_count * indexed_stride_bytes; }
  std::uint64_t sequential_bytes() const noexcept { return count * sequential_stride_bytes; }
  std::uint64_t index_bytes() const noexcept { return count * bytes(index); }
  /// Index values from here on name no record: what a worker compares the index's bits with, read as unsigned of its
  /// own width. Negative values are past every record then, and trust compares with what no index reaches.
  std::uint64_t index_limit() const noexcept;

  friend bool operator==(const movement&, const movement&) = default;
};

/// Throws bad_argument, naming the call, unless the three views fit together and ctx can reach them.
void require_fit(std::string_view call, const context& ctx, const_records near, std::string_view sequential_name,
                 index_span index, const_records far, std::string_view indexed_name, bool writes_sequential);
movement describe_movement(const context& ctx, const_records near, index_span index, const_records far,
                           access_pattern pattern, bounds checking);
/// The same without looking at memory, for explanations: data may be null.
void require_shapes(std::string_view call, const_records near, std::string_view sequential_name, index_span index,
                    const_records far, std::string_view indexed_name);

}  // namespace sheaf::primitives
