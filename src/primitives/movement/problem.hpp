#pragma once

#include <bit>

#include <sheaf/records.hpp>

#include "plan/correction.hpp"

namespace sheaf::primitives {

/// What plans know of a movement of records by an index list: sizes and layout, never data. The indexed side is the one
/// whose records the list names: a gather's table, a scatter's output. The sequential side lies in the order of the
/// list: a gather's output, a scatter's input.
struct movement {
  backend_kind backend = backend_kind::cpu;
  std::uint64_t count = 0;          ///< entries of the list, and records of the sequential side
  std::uint64_t indexed_count = 0;  ///< records of the indexed side
  std::uint64_t record_bytes = 0;
  std::uint64_t sequential_stride_bytes = 0;
  std::uint64_t indexed_stride_bytes = 0;
  std::uint32_t word_bytes = 1;  ///< widest power of two up to 16 that divides addresses, strides and record_bytes
  index_type index = index_type::u32;
  access_pattern pattern;
  sheaf::bounds bounds = sheaf::bounds::check;

  std::uint64_t indexed_bytes() const noexcept { return indexed_count * indexed_stride_bytes; }
  std::uint64_t sequential_bytes() const noexcept { return count * sequential_stride_bytes; }
  std::uint64_t index_bytes() const noexcept { return count * bytes(index); }
  /// The least index that names no record. Kernels and loops compare an index with it as an unsigned number of the
  /// index's width, so negative indices lie above every limit. With bounds::trust the limit is above every index.
  std::uint64_t index_limit() const noexcept;

  friend bool operator==(const movement&, const movement&) = default;
};

inline plan::measured_place place_of_movement(std::string_view primitive, const movement& p) noexcept {
  return {primitive, p.pattern.shape, p.record_bytes, p.count, p.indexed_count};
}

/// The movement that stands for all of its shape, of which a context learns (plan/learning.hpp). Its order is told
/// apart beside it, by sampled_order(): explanations, which see no list, look for the shape alone.
inline movement shape_of_movement(movement p) noexcept {
  p.count = std::bit_floor(p.count);
  p.indexed_count = std::bit_floor(p.indexed_count);
  p.pattern = access_pattern::unknown();
  return p;
}
/// The kind of order that the movement has, as given or found, else the one that a quick sample of the list finds.
access_pattern::kind sampled_order(const context& ctx, const movement& p, index_span index);

/// Throws bad_argument, naming the call, unless the three views fit together, do not overlap and ctx can reach them.
/// `writes_sequential` says which side the call writes: true for a gather, false for a scatter.
void require_fit(std::string_view call, const context& ctx, const_records sequential, std::string_view sequential_name,
                 index_span index, const_records indexed, std::string_view indexed_name, bool writes_sequential);
/// The movement between these views. Checks nothing: data may be null.
movement describe_movement(const context& ctx, const_records sequential, index_span index, const_records indexed,
                           access_pattern pattern, bounds checking);
/// Throws bad_argument, naming the call, unless the shapes of the three views fit together. Data may be null.
void require_shapes(std::string_view call, const_records sequential, std::string_view sequential_name, index_span index,
                    const_records indexed, std::string_view indexed_name);

}  // namespace sheaf::primitives
