#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <ranges>
#include <span>
#include <string_view>
#include <type_traits>

#include <sheaf/context.hpp>
#include <sheaf/error.hpp>
#include <sheaf/export.hpp>
#include <sheaf/plan.hpp>
#include <sheaf/records.hpp>

namespace sheaf {

/// How the bytes of a key field are read as a number.
enum class key_type : std::uint8_t {
  unsigned_integer,  ///< little-endian, 1 to 32 bytes
  signed_integer,    ///< little-endian in two's complement, 1 to 32 bytes
  floating,          ///< IEEE 754 of 2, 4 or 8 bytes, little-endian, in the standard's total order: NaN with the sign
                     ///< bit, -infinity, ..., -0, +0, ..., infinity, NaN without it; NaN by their bits
  bytes,             ///< 1 to 32 bytes compared from the first to the last as memcmp does: strings, big-endian integers
};

/// Integers of up to 128 bits, float and double.
template <class T>
concept sortable_number = (std::is_floating_point_v<T> && sizeof(T) <= 8) || requires {
  requires static_cast<T>(1) / 2 == static_cast<T>(0);  // integers, also __int128
};

/// A contiguous, sized range of sortable numbers, which are their own keys: std::vector, std::array, std::span.
template <class Range>
concept sort_key_range = record_range<Range> && sortable_number<std::ranges::range_value_t<Range>>;

/// One part of a key: bytes of a row, and how they compare.
struct key_field {
  std::uint64_t offset = 0;  ///< byte of the row at which the field begins
  std::uint32_t bytes = 0;   ///< width of the field
  key_type type = key_type::unsigned_integer;
  bool descending = false;
  /// The lowest of the number's bits by which rows are compared. Bit 0 is the lowest bit of the number; in a field of
  /// type bytes, that is the lowest bit of the last byte. The bits are those of the unsigned number that ascends in the
  /// field's order: the sign bit is flipped in signed integers and in floats whose sign bit is 0, all bits are flipped
  /// in other floats, and in descending fields all bits are flipped once more. Ranges of these bits compare as unsigned
  /// numbers.
  std::uint32_t first_bit = 0;
  std::uint32_t bit_count = 0;  ///< number of bits by which rows are compared; 0: all bits from first_bit on

  friend constexpr bool operator==(const key_field&, const key_field&) = default;
};

/// What rows are compared by: 1 to 8 fields of at most 256 bits together. A field decides where all fields before it
/// are equal.
struct sort_key {
  static constexpr std::size_t most_fields = 8;
  static constexpr std::uint32_t most_bits = 256;

  std::array<key_field, most_fields> fields{};
  std::size_t count = 0;

  constexpr sort_key(key_field only) : fields{only}, count(1) {}
  /// @throws error(bad_argument) for more than most_fields.
  sort_key(std::initializer_list<key_field> in_order) {
    if (in_order.size() > most_fields) throw error(error_code::bad_argument, "sort_key: more than 8 fields");
    for (const key_field& f : in_order) fields[count++] = f;
  }
  /// The key of a number of C++ type T that begins at byte `offset` of the row.
  template <sortable_number T>
  static constexpr sort_key of(bool descending = false, std::uint64_t offset = 0) {
    return key_field{offset, sizeof(T), type_of<T>(), descending};
  }

 private:
  template <class T>
  static constexpr key_type type_of() {
    if constexpr (std::is_floating_point_v<T>) return key_type::floating;
    return static_cast<T>(-1) < static_cast<T>(0) ? key_type::signed_integer : key_type::unsigned_integer;
  }
};

/// One array of values for sort_pairs, and the array to which it is written in the order of the keys.
struct sort_column {
  const_records in;
  records out;
};

struct sort_options {
  std::string_view variant = {};  ///< name of the variant to run, such as "cuda.sample"; empty: the planner's choice
};

/// Options of the calls on ranges of numbers.
struct sort_number_options {
  bool descending = false;
  std::string_view variant = {};  ///< name of the variant to run, such as "cuda.sample"; empty: the planner's choice
};

/// Sorts rows by a key that lies in them, stably: rows of equal keys keep their order.
/// @param in   rows of 1 byte to 64 KiB, at any stride.
/// @param key  its fields lie inside a row.
/// @param out  as many rows as in, as wide, at any stride; may not overlap in.
/// @throws error(bad_argument) if counts or widths disagree, a field lies outside the row or has a width or bits that
/// its type cannot have, the key has no or too many fields or bits, out overlaps in, or an array is not in ctx's
/// memory; error(no_variant) on OpenGL; and what every call may throw (see context).
/// The result is bit-identical on every backend. The call is queued on ctx: on CUDA it returns before its work
/// is done, on the CPU after.
/// Scratch of the variant that the planner chooses: at most 64 MiB more than 1.1 times the bytes that are sorted, for
/// numbers of 4, 8 or 16 bytes side by side that are compared by all of their bits and sorted alone, and for sort_pairs
/// of such numbers of 4 or 8 bytes with keys_out and one array of values of 4 or 8; at most 64 MiB more than 45 bytes a
/// row for everything else, sort_gather_index among it. A variant that is forced by name may take more. The explain_
/// calls say how much each takes. Source: He et al. 2007, section 4.1; Patidar and Narayanan 2009, section 5.1.
SHEAF_API void sort_records(const context& ctx, const_records in, const sort_key& key, records out,
                            const sort_options& options = {});

/// Sorts up to 8 arrays of values by keys in an array of their own, stably.
/// @param keys      rows that hold the keys.
/// @param keys_out  the rows of keys in order, as many and as wide; an empty view (null, count 0) if they are not
///                  wanted.
/// @param values    arrays of as many values as there are keys, of 1 byte to 64 KiB each, and their outputs, as many
///                  and as wide. No output may overlap another array.
/// Errors, determinism, synchrony and scratch are those of sort_records.
SHEAF_API void sort_pairs(const context& ctx, const_records keys, const sort_key& key, records keys_out,
                          std::span<const sort_column> values, const sort_options& options = {});

/// Finds the order into which sort_records would bring rows, without moving them (argsort): its out[i] would be
/// in[gather_index[i]].
/// @param gather_index  as many entries as rows, aligned to their type; u32 entries for fewer than 2^32
///                      rows, i32 entries for fewer than 2^31. It may not overlap in.
/// Errors, determinism, synchrony and scratch are those of sort_records.
SHEAF_API void sort_gather_index(const context& ctx, const_records in, const sort_key& key, index_output gather_index,
                                 const sort_options& options = {});

/// sort_records for a range of numbers that are their own keys. `sorted` is a range of as many numbers of the same
/// type.
template <std::ranges::range Keys, std::ranges::range Sorted>
void sort_keys(const context& ctx, const Keys& keys, Sorted&& sorted, const sort_number_options& options = {}) {
  constexpr bool has_keys = sort_key_range<Keys>;
  constexpr bool has_output =
      std::same_as<std::ranges::range_value_t<Keys>, std::ranges::range_value_t<Sorted>> && record_output_range<Sorted>;
  static_assert(has_keys, "sort_keys: keys is not a vector, array or span of numbers of at most 16 bytes");
  static_assert(has_output, "sort_keys: sorted is not a vector, array or span of the keys' type that may be written");
  if constexpr (has_keys && has_output) {
    sort_records(ctx, keys, sort_key::of<std::ranges::range_value_t<Keys>>(options.descending), sorted,
                 {options.variant});
  }
}

/// sort_pairs for a range of numbers and one range of values. Each is written to a range of its own type and length.
template <std::ranges::range Keys, std::ranges::range SortedKeys, std::ranges::range Values,
          std::ranges::range SortedValues>
void sort_pairs(const context& ctx, const Keys& keys, SortedKeys&& keys_out, const Values& values,
                SortedValues&& values_out, const sort_number_options& options = {}) {
  constexpr bool has_keys = sort_key_range<Keys>;
  constexpr bool has_keys_out =
      std::same_as<std::ranges::range_value_t<Keys>, std::ranges::range_value_t<SortedKeys>> &&
      record_output_range<SortedKeys>;
  constexpr bool has_values = record_range<Values>;
  constexpr bool has_values_out =
      std::same_as<std::ranges::range_value_t<Values>, std::ranges::range_value_t<SortedValues>> &&
      record_output_range<SortedValues>;
  static_assert(has_keys, "sort_pairs: keys is not a vector, array or span of numbers of at most 16 bytes");
  static_assert(has_keys_out,
                "sort_pairs: keys_out is not a vector, array or span of the keys' type that may be written");
  static_assert(has_values, "sort_pairs: values is not a vector, array or span of trivially copyable values");
  static_assert(has_values_out,
                "sort_pairs: values_out is not a vector, array or span of the values' type that may be written");
  if constexpr (has_keys && has_keys_out && has_values && has_values_out) {
    const sort_column column{values, values_out};
    sort_pairs(ctx, keys, sort_key::of<std::ranges::range_value_t<Keys>>(options.descending), keys_out,
               std::span(&column, 1), {options.variant});
  }
}

/// What sort_records would do with views of these shapes. Their data is not read and may be null. The rows of the
/// output are assumed to lie side by side.
SHEAF_API explanation explain_sort_records(const context& ctx, const_records in, const sort_key& key,
                                           const sort_options& options = {});
/// What sort_pairs would do, with or without keys_out, whose rows are assumed to lie side by side.
SHEAF_API explanation explain_sort_pairs(const context& ctx, const_records keys, const sort_key& key, bool writes_keys,
                                         std::span<const sort_column> values, const sort_options& options = {});
/// What sort_gather_index would do with an index of this type.
SHEAF_API explanation explain_sort_gather_index(const context& ctx, const_records in, const sort_key& key,
                                                index_type type, const sort_options& options = {});

}  // namespace sheaf
