#pragma once

#include <cstddef>
#include <cstdint>
#include <ranges>
#include <type_traits>

#include <sheaf/export.hpp>

namespace sheaf {

/// A contiguous, sized range of elements that can be moved as bytes: std::vector, std::array, std::span.
template <class Range>
concept record_range = std::ranges::contiguous_range<Range> && std::ranges::sized_range<Range> &&
    std::is_trivially_copyable_v<std::ranges::range_value_t<Range>>;

/// A record_range whose elements may be written.
template <class Range>
concept record_output_range =
    record_range<Range> && !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<Range>>>;

/// A record_range of one of the four index types.
template <class Range>
concept index_range = record_range<Range> &&(std::is_same_v<std::ranges::range_value_t<Range>, std::uint32_t> ||
                                             std::is_same_v<std::ranges::range_value_t<Range>, std::uint64_t> ||
                                             std::is_same_v<std::ranges::range_value_t<Range>, std::int32_t> ||
                                             std::is_same_v<std::ranges::range_value_t<Range>, std::int64_t>);

/// A view of opaque records, to read. It owns nothing. Record i is the `record_bytes` bytes from data + i *
/// stride_bytes on. Calls take records of 1 byte to 64 KiB, at any alignment, and at any stride that is at least the
/// width.
struct const_records {
  const std::byte* data = nullptr;
  std::uint64_t count = 0;
  std::uint64_t record_bytes = 0;
  std::uint64_t stride_bytes = 0;

  constexpr const_records() = default;
  const_records(const void* first, std::uint64_t record_count, std::uint64_t bytes)
      : const_records(first, record_count, bytes, bytes) {}
  const_records(const void* first, std::uint64_t record_count, std::uint64_t bytes, std::uint64_t stride)
      : data(static_cast<const std::byte*>(first)), count(record_count), record_bytes(bytes), stride_bytes(stride) {}
  template <record_range Range>
  const_records(const Range& typed)
      : const_records(std::ranges::data(typed), std::ranges::size(typed), sizeof(std::ranges::range_value_t<Range>)) {}
};

/// A view of opaque records to write; see const_records.
struct records {
  std::byte* data = nullptr;
  std::uint64_t count = 0;
  std::uint64_t record_bytes = 0;
  std::uint64_t stride_bytes = 0;

  constexpr records() = default;
  records(void* first, std::uint64_t record_count, std::uint64_t bytes) : records(first, record_count, bytes, bytes) {}
  records(void* first, std::uint64_t record_count, std::uint64_t bytes, std::uint64_t stride)
      : data(static_cast<std::byte*>(first)), count(record_count), record_bytes(bytes), stride_bytes(stride) {}
  template <record_output_range Range>
  records(Range&& typed)
      : records(std::ranges::data(typed), std::ranges::size(typed), sizeof(std::ranges::range_value_t<Range>)) {}

  operator const_records() const { return {data, count, record_bytes, stride_bytes}; }
};

enum class index_type : std::uint8_t { u32, u64, i32, i64 };

/// Bytes of one index: 4 or 8.
constexpr std::uint64_t bytes(index_type type) { return type == index_type::u32 || type == index_type::i32 ? 4 : 8; }

/// A view of a list of record numbers, counted from 0. It owns nothing, and `data` is aligned to the type. A negative
/// number names no record.
struct index_span {
  const void* data = nullptr;
  std::uint64_t count = 0;
  index_type type = index_type::u32;

  constexpr index_span() = default;
  constexpr index_span(const void* first, std::uint64_t index_count, index_type t)
      : data(first), count(index_count), type(t) {}
  template <index_range Range>
  index_span(const Range& list)
      : index_span(std::ranges::data(list), std::ranges::size(list), type_of<std::ranges::range_value_t<Range>>()) {}

 private:
  template <class Index>
  static constexpr index_type type_of() {
    if constexpr (sizeof(Index) == 4) return std::is_signed_v<Index> ? index_type::i32 : index_type::u32;
    return std::is_signed_v<Index> ? index_type::i64 : index_type::u64;
  }
};

/// A view of an index list to write; see index_span.
struct index_output {
  void* data = nullptr;
  std::uint64_t count = 0;
  index_type type = index_type::u32;

  constexpr index_output() = default;
  constexpr index_output(void* first, std::uint64_t index_count, index_type t)
      : data(first), count(index_count), type(t) {}
  template <index_range Range>
  requires record_output_range<Range> index_output(Range&& list)
      : index_output(std::ranges::data(list), std::ranges::size(list), index_span(list).type) {}

  operator index_span() const { return {data, count, type}; }
};

/// What a call does with a bad index, which is one that names no record.
enum class bounds : std::uint8_t {
  check,  ///< a gather writes zero bytes for it, other calls skip it, and context::wait() throws the first one
  trust,  ///< the caller guarantees that there is none; a bad index is undefined behaviour
};

}  // namespace sheaf
