#pragma once

#include "cuda/device/launch.cuh"
#include "cuda/reduce/rows/atomics.cuh"
#include "cuda/reduce/rows/calls.hpp"
#include "cuda/reduce/rows/leaders.cuh"
#include "cuda/reduce/rows/multiply.cuh"
#include "cuda/reduce/rows/products.cuh"
#include "cuda/reduce/rows/tiles.cuh"

// The bodies of row_kernels_of, for the source of each pair of types.
namespace sheaf::cuda {

/// Calls body with the values of a lane as an integral constant, of those that row_types_of chooses from.
template <class In, class Body>
void with_values_of_lane(std::uint32_t values, Body body) {
  constexpr int widest = sizeof(In) == 8 ? 2 : sizeof(In) == 4 ? 4 : 8;
  if (values == widest) return body(std::integral_constant<int, widest>{});
  if constexpr (primitives::is_small_float<In>) {
    if (values == 4) return body(std::integral_constant<int, 4>{});
  }
  body(std::integral_constant<int, 1>{});
}

inline bool adds(reduction op) noexcept {
  return op == reduction::add || op == reduction::subtract || op == reduction::mean;
}

/// Calls body with whether the operation adds, as a constant.
template <class Body>
void with_adds(reduction op, Body body) {
  if (adds(op)) return body(std::true_type{});
  body(std::false_type{});
}

inline std::uint64_t blocks_of_groups(const reduced_rows& out, std::uint64_t groups) {
  return ceil_div((groups * out.chunks) << out.lanes_log2, row_block_threads);
}

/// Blocks of kernels that go through pieces whose number the device knows.
inline std::uint64_t blocks_of_pieces(const context& ctx, std::uint64_t most) {
  constexpr std::uint64_t each = 6;
  return std::max<std::uint64_t>(1, std::min(most, each * static_cast<std::uint64_t>(state_of(ctx).multiprocessors())));
}

inline void clear_totals(const context& ctx, const long_lists& longs) {
  constexpr std::size_t words = 3;
  require(cudaMemsetAsync(longs.totals, 0, words * sizeof *longs.totals, ctx.stream()), ctx);
}

/// Queues multiply_rows() for weights of this type.
template <class In, class Sum, int Values, class Weight>
void queue_products_of(const context& ctx, const listed_rows& in, const listed_segments& segments,
                       const reduced_rows& out, const long_lists& longs) {
  constexpr bool is_wide = Values * sizeof(In) == 16;
  constexpr product_shape shape = is_wide ? shape_of_wide_lanes(Values) : shape_of_narrow_lanes;
  const std::uint64_t blocks =
      out.in_turn == nullptr ? blocks_of_groups(out, out.count) : blocks_of_slice(out) * slices_of(out);
  launch(ctx, multiply_rows<In, Sum, Values, Weight, shape.in_flight, shape.blocks>, blocks, in, segments, out, longs);
}

/// The same, if there is such a kernel for the arguments; returns whether there is.
template <class In, class Sum, int Values>
bool queue_products(const context& ctx, const listed_rows& in, const listed_segments& segments, const reduced_rows& out,
                    const long_lists& longs) {
  if constexpr (std::is_floating_point_v<Sum>) {
    if (is_plain_product<Sum>(in, segments, out)) {
      queue_products_of<In, Sum, Values, Sum>(ctx, in, segments, out, longs);
      return true;
    }
    if constexpr (!std::is_same_v<In, Sum>) {
      if (is_plain_product<In>(in, segments, out)) {
        queue_products_of<In, Sum, Values, In>(ctx, in, segments, out, longs);
        return true;
      }
    }
  }
  return false;
}

template <class In, class Sum>
void row_kernels_of<In, Sum>::segments(const context& ctx, const row_types& types, const listed_rows& in,
                                       const listed_segments& segments, const reduced_rows& out,
                                       const long_lists& longs, bool may_be_long) {
  if (out.count == 0) return;
  const bool has_lists = may_be_long && longs.most_lists > 0;
  if (has_lists || segments.faults != nullptr) clear_totals(ctx, longs);
  with_values_of_lane<In>(types.values_of_lane, [&](auto values) {
    const auto queue = [&](auto adds, auto weighted) {
      if (!weighted() || !queue_products<In, Sum, values()>(ctx, in, segments, out, longs)) {
        launch(ctx, combine_segments<In, Sum, values(), adds(), weighted()>, blocks_of_groups(out, out.count), in,
               segments, out, longs);
      }
      if (!has_lists) return;
      launch(ctx, combine_pieces<In, Sum, values(), adds(), weighted()>,
             blocks_of_pieces(ctx, longs.most_pieces * out.chunks), in, segments, out, longs);
      launch(ctx, combine_results<Sum, values(), adds()>, blocks_of_pieces(ctx, longs.most_lists * out.chunks), out,
             longs);
    };
    if constexpr (std::is_floating_point_v<Sum>) {
      if (in.weights != nullptr) return queue(std::true_type{}, std::true_type{});
    }
    with_adds(out.op, [&](auto adds) { queue(adds, std::false_type{}); });
  });
}

template <class In, class Sum>
void row_kernels_of<In, Sum>::tiles(const context& ctx, const row_types& types, const listed_rows& in,
                                    const sorted_buckets& buckets, const reduced_rows& out, const long_lists& longs) {
  if (buckets.buckets == 0) return;
  clear_totals(ctx, longs);
  launch(ctx, find_buckets, ceil_div(buckets.buckets + 1, row_block_threads), buckets, longs);
  with_values_of_lane<In>(types.values_of_lane, [&](auto values) {
    with_adds(out.op, [&](auto adds) {
      launch(ctx, combine_tiles<In, Sum, values(), adds()>, buckets.buckets + longs.most_pieces, in, buckets, out,
             longs);
      if (longs.most_lists == 0) return;
      launch(ctx, combine_results<Sum, values(), adds()>,
             blocks_of_pieces(ctx, longs.most_lists * longs.bins * out.chunks), out, longs);
    });
  });
}

template <class In, class Sum>
void row_kernels_of<In, Sum>::short_list(const context& ctx, const row_types& types, const listed_rows& in,
                                         std::uint64_t entries, std::uint32_t bin_bits, const reduced_rows& out,
                                         const index_guard& guard) {
  with_values_of_lane<In>(types.values_of_lane, [&](auto values) {
    with_adds(out.op, [&](auto adds) {
      launch(ctx, combine_rows_of_short_list<In, Sum, values(), adds()>,
             std::max<std::uint64_t>(1, ceil_div(out.count, std::uint64_t{1} << bin_bits)), in, entries, bin_bits, out,
             guard);
    });
  });
}

template <class In, class Sum>
void row_kernels_of<In, Sum>::leaders(const context& ctx, const row_types& types, const listed_rows& in,
                                      std::uint64_t entries, const reduced_rows& out, const index_guard& guard) {
  with_values_of_lane<In>(types.values_of_lane, [&](auto values) {
    with_adds(out.op, [&](auto adds) {
      launch(ctx, combine_rows_of_leaders<In, Sum, values(), adds()>, entries, in, static_cast<std::uint32_t>(entries),
             out, guard);
    });
  });
}

template <class In, class Sum>
void row_kernels_of<In, Sum>::atomics(const context& ctx, const row_types& types, const listed_rows& in,
                                      std::uint64_t entries, const reduced_rows& out, const index_guard& guard) {
  constexpr std::uint64_t least_for_several = std::uint64_t{1} << 16;  // rows; fewer leave multiprocessors idle
  with_values_of_lane<In>(types.values_of_lane, [&](auto values) {
    if (entries < least_for_several) {
      launch(ctx, add_rows_by_atomics<In, Sum, values(), 1>, blocks_of_groups(out, entries), in, entries, out, guard);
    } else {
      launch(ctx, add_rows_by_atomics<In, Sum, values(), rows_by_atomics>,
             blocks_of_groups(out, ceil_div(entries, rows_by_atomics)), in, entries, out, guard);
    }
  });
}

template <class In, class Sum>
void row_kernels_of<In, Sum>::products([[maybe_unused]] const context& ctx, [[maybe_unused]] const row_types& types,
                                       [[maybe_unused]] const listed_rows& in,
                                       [[maybe_unused]] const listed_segments& segments,
                                       [[maybe_unused]] std::uint64_t rows, [[maybe_unused]] const reduced_rows& out) {
  if constexpr (std::is_floating_point_v<Sum>) {
    with_values_of_lane<In>(types.values_of_lane, [&](auto values) {
      launch(ctx, add_products_by_atomics<In, Sum, values()>, blocks_of_groups(out, rows), in, segments, rows, out);
    });
  }
}

}  // namespace sheaf::cuda
