#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include <sheaf/context.hpp>
#include <sheaf/export.hpp>
#include <sheaf/plan.hpp>
#include <sheaf/records.hpp>

namespace sheaf {

/// How the bits of a record are numbered.
enum class bit_order : std::uint8_t {
  little_endian,  ///< bit 0 is the lowest bit of byte 0, bit 8 the lowest of byte 1, as in a little-endian word
  from_left,      ///< bit 0 is the highest bit of byte 0, bit 8 the highest of byte 1 (Patidar and Narayanan 2009)
};

/// A field of 1 to 96 neighbouring bits of a record, read as an unsigned number. It may cross bytes. Its first bit is
/// the lowest of the number with bit_order::little_endian, the highest with bit_order::from_left.
struct bit_field {
  static constexpr std::uint32_t most_bits = 96;
  static constexpr std::uint32_t most_counted_bits = 32;  ///< a field of more bits has categories, but no offsets

  std::uint64_t first = 0;  ///< number of the first bit in the record
  std::uint32_t count = 8;  ///< bits of the field
  bit_order order = bit_order::little_endian;

  friend constexpr bool operator==(const bit_field&, const bit_field&) = default;
};

/// Where the category of each record is found.
struct split_key {
  enum class kind : std::uint8_t {
    record_bits,  ///< a bit field of the record itself
    key_bits,     ///< a bit field of keys[i]
    category,     ///< keys[i] is the category of record i: 1, 2 or 4 bytes, unsigned, below `categories`
  };
  kind from = kind::record_bits;
  const_records keys{};          ///< as many keys as there are records, at any stride; empty for record_bits
  bit_field bits{};              ///< the field that holds the category; unused for kind::category
  std::uint64_t categories = 0;  ///< number of categories: 2^bits.count, or for kind::category 1 to 2^32; 0 where the
                                 ///< field has more than 32 bits, whose categories are not counted

  static split_key of_record(bit_field bits) { return {kind::record_bits, {}, bits, numbers(bits)}; }
  static split_key of(const_records keys, bit_field bits) { return {kind::key_bits, keys, bits, numbers(bits)}; }
  static split_key category(const_records category_of_record, std::uint64_t categories) {
    return {kind::category, category_of_record, {}, categories};
  }

 private:
  static constexpr std::uint64_t numbers(bit_field bits) {
    return bits.count > bit_field::most_counted_bits ? 0 : std::uint64_t{1} << bits.count;
  }
};

struct split_options {
  std::string_view variant = {};  ///< name of the variant to run, such as "cuda.stable"; empty: the planner's choice
};

/// Brings the records of each category together: those of category 0 first, then those of category 1, and so on, each
/// category in the order of `in`.
/// @param in       records of 1 byte to 64 KiB, at any stride.
/// @param key      where the category of a record is found.
/// @param out      as many records as in, as wide, at any stride; may not overlap in or the keys.
/// @param offsets  empty, or key.categories + 1 values in ctx's memory: category c begins at record offsets[c] of out
///                 and ends before offsets[c + 1]. They may not overlap another array. A key of more than 32 bits has
///                 more categories than memory has offsets for: they must be empty.
/// A record of a bad category, which only kind::category can have, is left out, and the first surfaces at ctx.wait() as
/// error(bad_index). Records of out from offsets[key.categories] on then keep their value.
/// @throws error(bad_argument) if counts or widths disagree, the bits are none, more than 96 or outside the record,
/// kind::category has none or more than 2^32, offsets are asked for of a key of more than 32 bits, an output overlaps
/// another array, or an array is not in ctx's memory; error(no_variant) on OpenGL; and what every call may throw (see
/// context).
/// The result is bit-identical on every backend. The call is queued on ctx: it returns before its work is done on CUDA,
/// after it on the CPU. Source: Patidar and Narayanan 2009, sections 3.1, 3.2 and 3.4 (split8 and split).
SHEAF_API void split(const context& ctx, const_records in, const split_key& key, records out,
                     std::span<std::uint64_t> offsets = {}, const split_options& options = {});

/// Splits as split does, but may write the records of a category in any order, which may be faster. Where the order
/// depends on which worker comes first, it differs from run to run. Everything else is as for split. Source: split8ns
/// of Patidar and Narayanan 2009.
SHEAF_API void split_unstable(const context& ctx, const_records in, const split_key& key, records out,
                              std::span<std::uint64_t> offsets = {}, const split_options& options = {});

/// Writes the gather index of a split: split's out[i] is in[gather_index[i]]. The records do not move and need not be
/// in ctx's memory.
/// @param key           of kind key_bits or category; only its keys are read.
/// @param gather_index  as many entries as keys, aligned to their type; entries of 4 bytes for fewer than 2^32 (u32) or
///                      2^31 (i32) records. It may not overlap keys or offsets.
/// Entries from offsets[key.categories] on keep their value. Offsets, bad categories, errors, determinism and synchrony
/// are as for split. Source: splitGatherIndex, section 3.3 of Patidar and Narayanan 2009.
SHEAF_API void split_gather_index(const context& ctx, const split_key& key, index_output gather_index,
                                  std::span<std::uint64_t> offsets = {}, const split_options& options = {});

/// Writes the scatter index of a split: split's out[scatter_index[i]] is in[i]. It is the inverse of the gather index.
/// The entry of a record of a bad category keeps its value. Everything else is as for split_gather_index. Source:
/// splitScatterIndex of Patidar and Narayanan 2009.
SHEAF_API void split_scatter_index(const context& ctx, const split_key& key, index_output scatter_index,
                                   std::span<std::uint64_t> offsets = {}, const split_options& options = {});

/// The categories of records that may belong to several, as compressed rows. Record r belongs to the categories
/// category[first[r]] to category[first[r + 1] - 1]. All arrays lie in ctx's memory.
struct membership {
  std::span<const std::uint64_t> first;  ///< one more than there are records; ascending from 0 to category.count
  const_records category;                ///< category numbers: 1, 2 or 4 bytes, unsigned, below `categories`
  std::uint64_t categories = 0;          ///< number of categories, 1 to 2^32
};

/// Writes every record once for each category that it belongs to, category by category, the records of a category in
/// the order of `in`.
/// @param in       of.first.size() - 1 records, at any stride.
/// @param out      of.category.count records as wide as in's.
/// @param sources  empty (count 0), or as long as out: sources[i] is the number of the record of `in` that out[i] is.
///                 Entries are wide enough for all records, as those of a split's gather index.
/// @param offsets  as for split.
/// No output may overlap another array. If of.first does not ascend, the contents of out, sources and offsets are
/// unspecified. If a category is bad, the contents of out and sources past offsets[of.categories] are unspecified, and
/// the first bad one surfaces at ctx.wait(). Nothing outside of the arrays is written. Errors, determinism and
/// synchrony are as for split; options.variant is that of the split inside. Source: Patidar and Narayanan 2009,
/// sections 3 and 5.2.
SHEAF_API void multi_split(const context& ctx, const_records in, const membership& of, records out,
                           index_output sources = {}, std::span<std::uint64_t> offsets = {},
                           const split_options& options = {});
/// Writes the sources of multi_split alone, without moving records. There are of.first.size() - 1 records. Everything
/// else is as for multi_split.
SHEAF_API void multi_split_index(const context& ctx, const membership& of, index_output sources,
                                 std::span<std::uint64_t> offsets = {}, const split_options& options = {});

/// What split, or if `stable` is false split_unstable, would do with views of these shapes. Their data is not read and
/// may be null.
SHEAF_API explanation explain_split(const context& ctx, const_records in, const split_key& key, bool stable = true,
                                    const split_options& options = {});
/// What split_gather_index would do with an index of this type.
SHEAF_API explanation explain_split_gather_index(const context& ctx, const split_key& key, index_type type,
                                                 const split_options& options = {});
/// What split_scatter_index would do with an index of this type.
SHEAF_API explanation explain_split_scatter_index(const context& ctx, const split_key& key, index_type type,
                                                  const split_options& options = {});

}  // namespace sheaf
