#pragma once

#include "core/scratch_offsets.hpp"
#include "cuda/device/state.hpp"
#include "cuda/reduce/rows/arguments.hpp"
#include "primitives/reduce/rows.hpp"

// Reductions of rows as the variants queue them: the kernels for the types of a call, and what they need of scratch.
// The kernels of each pair of types, of rows that are read and of sums, are compiled in a source of their own.
namespace sheaf::cuda {

/// The types of a call, and the values of a row that a lane has.
struct row_types {
  value_type in = value_type::f32;
  value_type sum = value_type::f32;
  std::uint32_t values_of_lane = 1;
};

/// Chooses the widest lanes that rows of both sides allow, which have words of so many bytes.
row_types row_types_of(value_type in, value_type sum, std::uint32_t in_word_bytes, value_type out,
                       std::uint32_t out_word_bytes) noexcept;

/// Rows of out, shared by as few lanes as have values of them.
reduced_rows rows_to_write(value_rows out, const row_types& types, reduction op, bool reads_out) noexcept;
/// Where the numbers of rows go; nowhere if counts has no data.
void set_counts(reduced_rows& out, values counts) noexcept;

listed_rows rows_to_read(const_value_rows in) noexcept;

// ---- segments

/// Scratch of what has to be combined in pieces.
struct long_list_scratch {
  long_lists lists;

  /// Of segments that do not overlap.
  long_list_scratch(std::uint64_t entries, std::uint64_t segments, std::uint64_t sum_row_bytes,
                    core::scratch_arrays& place);
  /// Of buckets.
  long_list_scratch(std::uint64_t pairs, const sorted_buckets& buckets, std::uint64_t sum_row_bytes,
                    core::scratch_arrays& place);

  /// A word that is 0 when the kernels begin.
  std::uint32_t* faults() const { return reinterpret_cast<std::uint32_t*>(lists.totals + 2); }

 private:
  void take(core::scratch_arrays& place, std::uint64_t sum_row_bytes);
};

/// Queues the reduction of segments. `may_be_long` says that some may have more than longest_uncut entries; without it,
/// long lists need no memory.
void combine_listed_segments(const context& ctx, const row_types& types, const listed_rows& in,
                             const listed_segments& segments, const reduced_rows& out, const long_lists& longs,
                             bool may_be_long);

/// Queues the reduction of a list that was sorted by the upper bits of slots; buckets.begins is scratch.
void combine_sorted_tiles(const context& ctx, const row_types& types, const listed_rows& in,
                          const sorted_buckets& buckets, const reduced_rows& out, const long_lists& longs);

/// Queues the reduction of a list that every block reads, by one kernel.
void combine_short_list(const context& ctx, const row_types& types, const listed_rows& in, std::uint64_t entries,
                        std::uint32_t bin_bits, const reduced_rows& out, const index_guard& guard);

/// Queues the reduction of a list of which every entry has a block, by one kernel. Rows of out that no entry names stay
/// as they are.
void combine_by_leaders(const context& ctx, const row_types& types, const listed_rows& in, std::uint64_t entries,
                        const reduced_rows& out, const index_guard& guard);

/// Queues additions to out, whose type is that of sums, by atomics.
void add_rows_in_any_order(const context& ctx, const row_types& types, const listed_rows& in, std::uint64_t entries,
                           const reduced_rows& out, const index_guard& guard);

/// Queues alpha times each row of x, times the entries' weights, to be added to the rows of out that a matrix's entries
/// name, by atomics. Entries of segment s are of row s of `in`.
void add_products_in_any_order(const context& ctx, const row_types& types, const listed_rows& in,
                               const listed_segments& segments, std::uint64_t rows, const reduced_rows& out);

// ---- what needs no rows

/// Queues the identity element of out.op to all rows of out.
void fill_rows(const context& ctx, value_rows out, reduction op);
/// Queues out = beta * out, of floats; zeros if beta is 0, and out is not read.
void scale_rows(const context& ctx, value_rows out, double beta);
/// Queues the numbers of rows: where they are asked for, and as the result of a count, to out. Row s has
/// ends[s] - begins[s] rows, or ends[s] where begins is null.
void write_row_counts(const context& ctx, value_rows out, bool reads_out, bool is_count, values counts,
                      const std::uint64_t* begins, const std::uint64_t* ends);

/// The same for each pair of types; see types.cu.in.
template <class In, class Sum>
struct row_kernels_of {
  static void segments(const context& ctx, const row_types& types, const listed_rows& in,
                       const listed_segments& segments, const reduced_rows& out, const long_lists& longs,
                       bool may_be_long);
  static void tiles(const context& ctx, const row_types& types, const listed_rows& in, const sorted_buckets& buckets,
                    const reduced_rows& out, const long_lists& longs);
  static void short_list(const context& ctx, const row_types& types, const listed_rows& in, std::uint64_t entries,
                         std::uint32_t bin_bits, const reduced_rows& out, const index_guard& guard);
  static void leaders(const context& ctx, const row_types& types, const listed_rows& in, std::uint64_t entries,
                      const reduced_rows& out, const index_guard& guard);
  static void atomics(const context& ctx, const row_types& types, const listed_rows& in, std::uint64_t entries,
                      const reduced_rows& out, const index_guard& guard);
  static void products(const context& ctx, const row_types& types, const listed_rows& in,
                       const listed_segments& segments, std::uint64_t rows, const reduced_rows& out);
};

}  // namespace sheaf::cuda
