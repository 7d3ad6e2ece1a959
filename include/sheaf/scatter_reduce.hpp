#pragma once

#include <cstdint>
#include <ranges>
#include <string_view>
#include <type_traits>

#include <sheaf/context.hpp>
#include <sheaf/export.hpp>
#include <sheaf/plan.hpp>
#include <sheaf/records.hpp>

namespace sheaf {

/// Signed and unsigned integers and IEEE 754 floats of 4 or 8 bytes.
enum class value_type : std::uint8_t { i32, u32, i64, u64, f32, f64 };

/// Bytes of one value: 4 or 8.
constexpr std::uint64_t bytes(value_type type) {
  return type == value_type::i64 || type == value_type::u64 || type == value_type::f64 ? 8 : 4;
}

/// The C++ types of the six value types.
template <class T>
concept reducible_value =
    std::is_same_v<T, std::int32_t> || std::is_same_v<T, std::uint32_t> || std::is_same_v<T, std::int64_t> ||
    std::is_same_v<T, std::uint64_t> || std::is_same_v<T, float> || std::is_same_v<T, double>;

/// std::vector, std::array, std::span of such values.
template <class Range>
concept value_range = std::ranges::contiguous_range<Range> && std::ranges::sized_range<Range> &&
    reducible_value<std::ranges::range_value_t<Range>>;

/// The value_type of a C++ type.
template <reducible_value T>
constexpr value_type value_type_of() {
  if constexpr (std::is_same_v<T, std::int32_t>) return value_type::i32;
  if constexpr (std::is_same_v<T, std::uint32_t>) return value_type::u32;
  if constexpr (std::is_same_v<T, std::int64_t>) return value_type::i64;
  if constexpr (std::is_same_v<T, std::uint64_t>) return value_type::u64;
  if constexpr (std::is_same_v<T, float>) return value_type::f32;
  return value_type::f64;
}

/// Numbers side by side to read, aligned to their type. A view that owns nothing.
struct const_values {
  const void* data = nullptr;
  std::uint64_t count = 0;
  value_type type = value_type::f32;

  constexpr const_values() = default;
  constexpr const_values(const void* first, std::uint64_t value_count, value_type t)
      : data(first), count(value_count), type(t) {}
  template <value_range Range>
  const_values(const Range& list)
      : const_values(std::ranges::data(list), std::ranges::size(list),
                     value_type_of<std::ranges::range_value_t<Range>>()) {}
};

/// Numbers to change; see const_values.
struct values {
  void* data = nullptr;
  std::uint64_t count = 0;
  value_type type = value_type::f32;

  constexpr values() = default;
  constexpr values(void* first, std::uint64_t value_count, value_type t) : data(first), count(value_count), type(t) {}
  template <value_range Range>
  requires record_output_range<Range> values(Range&& list)
      : values(std::ranges::data(list), std::ranges::size(list), value_type_of<std::ranges::range_value_t<Range>>()) {}

  operator const_values() const { return {data, count, type}; }
};

/// The operation that combines values of one record of out. Sums of integers wrap around. For floats -0 is below +0,
/// and a minimum or maximum of values with a NaN among them is the positive quiet NaN.
enum class reduction : std::uint8_t { add, min, max };

/// What the order of additions of floats may depend on.
enum class reduction_order : std::uint8_t {
  deterministic,  ///< on the positions alone: one variant gives the same sum in every run
  unordered,      ///< on which worker comes first, as with atomics on CUDA: the last bits differ from run to run
};

struct scatter_reduce_options {
  access_pattern pattern = access_pattern::unknown();
  sheaf::bounds bounds = sheaf::bounds::check;
  reduction_order order = reduction_order::deterministic;
  std::string_view variant = {};  ///< takes this variant and not the planner's choice, "cuda.atomic"
};

/// out[index[i]] = out[index[i]] op in[i] for every i; an index may repeat (Ujaldon and Saltz 2005 do this by
/// blending).
/// @param in     values of out's type.
/// @param index  as many as in has values.
/// @param out    values that in's are combined with; may not overlap in or index.
/// A bad index changes nothing and surfaces at ctx.wait(). Integers, minima and maxima are bit-identical on every
/// backend; options.order says whether sums of floats are the same in every run. Queued on ctx: returns before the work
/// is done on CUDA, after it on the CPU.
/// @throws error(bad_argument) if lengths or types disagree, spans overlap or are not in ctx's memory.
SHEAF_API void scatter_reduce(const context& ctx, const_values in, index_span index, values out, reduction op,
                              const scatter_reduce_options& options = {});

/// What scatter_reduce would do with views of these shapes; their data is not touched and may be null.
SHEAF_API explanation explain_scatter_reduce(const context& ctx, const_values in, index_span index, values out,
                                             reduction op, const scatter_reduce_options& options = {});

}  // namespace sheaf
