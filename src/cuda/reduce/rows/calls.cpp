#include "cuda/reduce/rows/calls.hpp"

namespace sheaf::cuda {
namespace {

constexpr std::uint64_t rounded_up(std::uint64_t count, std::uint64_t each) { return (count + each - 1) / each; }

template <class In, class Sum>
struct pair_of_types {
  using in = In;
  using sum = Sum;
};

/// Calls body with the types that rows are read and combined in.
template <class Body>
void with_row_types(const row_types& types, Body body) {
  const auto is_wide = types.sum == value_type::i64 || types.sum == value_type::u64;
  switch (types.in) {
    case value_type::f16: return body(pair_of_types<float16, float>{});
    case value_type::bf16: return body(pair_of_types<bfloat16, float>{});
    case value_type::f32: return body(pair_of_types<float, float>{});
    case value_type::f64: return body(pair_of_types<double, double>{});
    case value_type::i8:
      return is_wide ? body(pair_of_types<std::int8_t, std::int64_t>{})
                     : body(pair_of_types<std::int8_t, std::int32_t>{});
    case value_type::i16:
      return is_wide ? body(pair_of_types<std::int16_t, std::int64_t>{})
                     : body(pair_of_types<std::int16_t, std::int32_t>{});
    case value_type::i32:
      return is_wide ? body(pair_of_types<std::int32_t, std::int64_t>{})
                     : body(pair_of_types<std::int32_t, std::int32_t>{});
    case value_type::i64: return body(pair_of_types<std::int64_t, std::int64_t>{});
    case value_type::u8:
      return is_wide ? body(pair_of_types<std::uint8_t, std::uint64_t>{})
                     : body(pair_of_types<std::uint8_t, std::uint32_t>{});
    case value_type::u16:
      return is_wide ? body(pair_of_types<std::uint16_t, std::uint64_t>{})
                     : body(pair_of_types<std::uint16_t, std::uint32_t>{});
    case value_type::u32:
      return is_wide ? body(pair_of_types<std::uint32_t, std::uint64_t>{})
                     : body(pair_of_types<std::uint32_t, std::uint32_t>{});
    case value_type::u64: return body(pair_of_types<std::uint64_t, std::uint64_t>{});
  }
}

template <class Types>
using kernels_of = row_kernels_of<typename Types::in, typename Types::sum>;

}  // namespace

row_types row_types_of(value_type in, value_type sum, std::uint32_t in_word_bytes, value_type out,
                       std::uint32_t out_word_bytes) noexcept {
  const auto fits = [&](std::uint64_t values) {
    return values * bytes(in) <= in_word_bytes && std::min<std::uint64_t>(16, values * bytes(out)) <= out_word_bytes;
  };
  row_types types{in, sum, 1};
  const std::uint32_t widest = bytes(in) == 8 ? 2 : bytes(in) == 4 ? 4 : 8;
  if (fits(widest)) {
    types.values_of_lane = widest;
  } else if ((in == value_type::f16 || in == value_type::bf16) && fits(4)) {
    types.values_of_lane = 4;
  }
  return types;
}

reduced_rows rows_to_write(value_rows out, const row_types& types, reduction op, bool reads_out) noexcept {
  constexpr std::uint32_t most_lanes_log2 = 5;
  reduced_rows rows;
  rows.data = static_cast<std::byte*>(out.data);
  rows.stride = out.stride_bytes;
  rows.type = out.type;
  rows.count = out.count;
  rows.values = static_cast<std::uint32_t>(out.values_per_row);
  const std::uint64_t lanes = rounded_up(out.values_per_row, types.values_of_lane);
  while (rows.lanes_log2 < most_lanes_log2 && (std::uint64_t{1} << rows.lanes_log2) < lanes) ++rows.lanes_log2;
  rows.chunks = static_cast<std::uint32_t>(rounded_up(lanes, std::uint64_t{1} << rows.lanes_log2));
  rows.op = op;
  rows.reads_out = reads_out;
  return rows;
}

void set_counts(reduced_rows& out, values counts) noexcept {
  out.counts = counts.data;
  out.has_wide_counts = bytes(counts.type) == 8;
}

listed_rows rows_to_read(const_value_rows in) noexcept {
  listed_rows rows;
  rows.data = static_cast<const std::byte*>(in.data);
  rows.stride = in.stride_bytes;
  return rows;
}

long_list_scratch::long_list_scratch(std::uint64_t entries, std::uint64_t segments, std::uint64_t sum_row_bytes,
                                     core::scratch_arrays& place) {
  lists.most_lists = std::min(segments, entries / (std::uint64_t{longest_uncut} + 1));
  lists.most_pieces = lists.most_lists == 0 ? 0 : entries / entries_of_piece + lists.most_lists;
  take(place, sum_row_bytes);
}

long_list_scratch::long_list_scratch(std::uint64_t pairs, const sorted_buckets& buckets, std::uint64_t sum_row_bytes,
                                     core::scratch_arrays& place) {
  lists.bins = std::uint32_t{1} << buckets.bin_bits;
  lists.most_lists = std::min(buckets.buckets, pairs / (std::uint64_t{tile_pairs} + 1));
  lists.most_pieces = lists.most_lists == 0 ? 0 : pairs / tile_pairs + lists.most_lists;
  take(place, sum_row_bytes);
}

void long_list_scratch::take(core::scratch_arrays& place, std::uint64_t sum_row_bytes) {
  constexpr std::uint64_t word = 16;
  lists.totals = place.take<unsigned long long>(3);
  lists.lists = place.take<long_list>(lists.most_lists);
  lists.result_stride = rounded_up(sum_row_bytes, word) * word;
  lists.rows = place.take<std::uint32_t>(lists.most_pieces * lists.bins);
  lists.results = place.take<std::byte>(lists.most_pieces * lists.bins * lists.result_stride);
}

void combine_listed_segments(const context& ctx, const row_types& types, const listed_rows& in,
                             const listed_segments& segments, const reduced_rows& out, const long_lists& longs,
                             bool may_be_long) {
  with_row_types(types, [&]<class Types>(Types) {
    kernels_of<Types>::segments(ctx, types, in, segments, out, longs, may_be_long);
  });
}

void combine_sorted_tiles(const context& ctx, const row_types& types, const listed_rows& in,
                          const sorted_buckets& buckets, const reduced_rows& out, const long_lists& longs) {
  with_row_types(types, [&]<class Types>(Types) { kernels_of<Types>::tiles(ctx, types, in, buckets, out, longs); });
}

void combine_short_list(const context& ctx, const row_types& types, const listed_rows& in, std::uint64_t entries,
                        std::uint32_t bin_bits, const reduced_rows& out, const index_guard& guard) {
  with_row_types(
      types, [&]<class Types>(Types) { kernels_of<Types>::short_list(ctx, types, in, entries, bin_bits, out, guard); });
}

void combine_by_leaders(const context& ctx, const row_types& types, const listed_rows& in, std::uint64_t entries,
                        const reduced_rows& out, const index_guard& guard) {
  with_row_types(types, [&]<class Types>(Types) { kernels_of<Types>::leaders(ctx, types, in, entries, out, guard); });
}

void add_rows_in_any_order(const context& ctx, const row_types& types, const listed_rows& in, std::uint64_t entries,
                           const reduced_rows& out, const index_guard& guard) {
  with_row_types(types, [&]<class Types>(Types) { kernels_of<Types>::atomics(ctx, types, in, entries, out, guard); });
}

void add_products_in_any_order(const context& ctx, const row_types& types, const listed_rows& in,
                               const listed_segments& segments, std::uint64_t rows, const reduced_rows& out) {
  with_row_types(types, [&]<class Types>(Types) { kernels_of<Types>::products(ctx, types, in, segments, rows, out); });
}

}  // namespace sheaf::cuda
