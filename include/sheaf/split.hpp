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
  little_endian,  ///< bit 0 is the lowest of byte 0, bit 8 the lowest of byte 1, as in a little-endian word
  from_left,      ///< bit 0 is the highest of byte 0, bit 8 the highest of byte 1, as in Patidar and Narayanan 2009
};

/// 1 to 32 neighbouring bits of a record, which may cross bytes, read as an unsigned number: of little_endian bits the
/// first is the lowest, of bits from_left the highest.
struct bit_field {
  std::uint64_t first = 0;
  std::uint32_t count = 8;
  bit_order order = bit_order::little_endian;

  friend constexpr bool operator==(const bit_field&, const bit_field&) = default;
};

/// What says which category each record belongs to.
struct split_key {
  enum class kind : std::uint8_t {
    record_bits,  ///< a bit field of the record itself
    key_bits,     ///< a bit field of keys[i]
    category,     ///< keys[i] is the category of record i: 1, 2 or 4 bytes, unsigned, below `categories`
  };
  kind from = kind::record_bits;
  const_records keys{};  ///< as many as there are records; none for record_bits
  bit_field bits{};
  std::uint64_t categories = 0;  ///< 2^bits.count, or the caller's number, 1 to 2^32

  static split_key of_record(bit_field bits) { return {kind::record_bits, {}, bits, numbers(bits)}; }
  static split_key of(const_records keys, bit_field bits) { return {kind::key_bits, keys, bits, numbers(bits)}; }
  static split_key category(const_records category_of_record, std::uint64_t categories) {
    return {kind::category, category_of_record, {}, categories};
  }

 private:
  static constexpr std::uint64_t numbers(bit_field bits) {
    return bits.count > 32 ? 0 : std::uint64_t{1} << bits.count;
  }
};

struct split_options {
  std::string_view variant = {};  ///< takes this variant whatever the planner thinks, "cuda.look_back"
};

/// Moves records so that those of category 0 come first, then those of category 1, and so on, each category in the
/// order of `in` (Patidar and Narayanan 2009, sections 3.1, 3.2 and 3.4: split8 and split).
/// @param in       records of 1 byte to 64 KiB, at any stride.
/// @param key      where a record's category comes from.
/// @param out      as many records as in, as wide; may not overlap in or the keys.
/// @param offsets  empty, or key.categories + 1 values: category c begins at record offsets[c] of out and ends before
///                 offsets[c + 1].
/// A record of a bad category (kind::category alone) is left out; the first surfaces at ctx.wait(), and records of out
/// from offsets[key.categories] on keep their value. Bit-identical on every backend. Queued on ctx: returns before the
/// work is done on CUDA, after it on the CPU.
/// @throws error(bad_argument) if counts or widths disagree, the bits lie outside the record, there are no or more than
/// 2^32 categories, spans overlap or are not in ctx's memory.
SHEAF_API void split(const context& ctx, const_records in, const split_key& key, records out,
                     std::span<std::uint64_t> offsets = {}, const split_options& options = {});

/// The same with the records of a category in any order, which is faster (split8ns): where the order comes from which
/// worker was first, it differs from run to run.
SHEAF_API void split_unstable(const context& ctx, const_records in, const split_key& key, records out,
                              std::span<std::uint64_t> offsets = {}, const split_options& options = {});

/// Where the records of a split come from (splitGatherIndex, section 3.3): split's out[i] is in[gather_index[i]]. The
/// records do not move and need not be where the index is made.
/// @param key           of kind key_bits or category: its keys are all that is read.
/// @param gather_index  as many entries as keys; 4-byte ones for fewer than 2^32 (u32) or 2^31 (i32) records.
/// The rest as for split; entries from offsets[key.categories] on keep their value.
SHEAF_API void split_gather_index(const context& ctx, const split_key& key, index_output gather_index,
                                  std::span<std::uint64_t> offsets = {}, const split_options& options = {});

/// Where the records of a split go (splitScatterIndex): split's out[scatter_index[i]] is in[i]. The inverse of
/// split_gather_index; the entry of a record of a bad category keeps its value.
SHEAF_API void split_scatter_index(const context& ctx, const split_key& key, index_output scatter_index,
                                   std::span<std::uint64_t> offsets = {}, const split_options& options = {});

/// The categories of records that are in several, in compressed rows: those of record r are
/// category[first[r]] to category[first[r + 1] - 1].
struct membership {
  std::span<const std::uint64_t> first;  ///< records + 1 values, ascending from 0 to category.count
  const_records category;                ///< 1, 2 or 4 bytes, unsigned, below `categories`
  std::uint64_t categories = 0;
};

/// Writes every record once for each category that it is in, category by category, each in the order of `in`
/// (Patidar and Narayanan 2009, section 3 and 5.2).
/// @param out      of.category.count records as wide as in's.
/// @param sources  empty (count 0), or as long as out: the number of the record of `in` that each one is.
/// @param offsets  as for split.
/// Where the rows do not ascend, and past offsets[of.categories] where a category is bad, the result is unspecified,
/// inside the arrays. The rest as for split.
SHEAF_API void multi_split(const context& ctx, const_records in, const membership& of, records out,
                           index_output sources = {}, std::span<std::uint64_t> offsets = {},
                           const split_options& options = {});
/// The same without moving records: sources alone, of.first.size() - 1 being the number of records.
SHEAF_API void multi_split_index(const context& ctx, const membership& of, index_output sources,
                                 std::span<std::uint64_t> offsets = {}, const split_options& options = {});

/// What split, split_unstable and the index forms would do with views of these shapes; data may be null.
SHEAF_API explanation explain_split(const context& ctx, const_records in, const split_key& key, bool stable = true,
                                    const split_options& options = {});
SHEAF_API explanation explain_split_gather_index(const context& ctx, const split_key& key, index_type type,
                                                 const split_options& options = {});
SHEAF_API explanation explain_split_scatter_index(const context& ctx, const split_key& key, index_type type,
                                                  const split_options& options = {});

}  // namespace sheaf
