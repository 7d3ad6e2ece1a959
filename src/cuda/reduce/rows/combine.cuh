#pragma once

#include "cuda/reduce/rows/arguments.hpp"
#include "cuda/reduce/rows/values.cuh"

// How lanes combine rows, and what becomes of their sums.
namespace sheaf::cuda {

/// The place of a lane in a row.
struct lane_place {
  std::uint32_t lane;   ///< of those that share the row
  std::uint32_t value;  ///< first value of the lane
  bool is_active;       ///< the row reaches there

  template <int Values>
  static __device__ __forceinline__ lane_place of(const reduced_rows& out, std::uint32_t chunk) {
    const std::uint32_t lanes = 1U << out.lanes_log2;
    const std::uint32_t lane = threadIdx.x & (lanes - 1);
    const std::uint32_t value = ((chunk << out.lanes_log2) + lane) * Values;
    return {lane, value, value < out.values};
  }
};

__device__ __forceinline__ std::uint64_t entry_at(const void* list, bool is_wide, std::uint64_t i) {
  return is_wide ? __ldg(static_cast<const unsigned long long*>(list) + i)
                 : __ldg(static_cast<const std::uint32_t*>(list) + i);
}

template <class T>
__device__ __forceinline__ T value_of_bits(const std::uint16_t* bits) {
  T value;
  value.bits = __ldg(bits);
  return value;
}

template <class Sum>
__device__ __forceinline__ Sum weight_at(const listed_rows& in, std::uint64_t i) {
  switch (in.weight) {
    case value_type::f16: return as_sum<Sum>(value_of_bits<float16>(static_cast<const std::uint16_t*>(in.weights) + i));
    case value_type::bf16:
      return as_sum<Sum>(value_of_bits<bfloat16>(static_cast<const std::uint16_t*>(in.weights) + i));
    case value_type::f64: return static_cast<Sum>(__ldg(static_cast<const double*>(in.weights) + i));
    default: return static_cast<Sum>(__ldg(static_cast<const float*>(in.weights) + i));
  }
}

/// The lanes of a warp that share a row with this one.
__device__ __forceinline__ std::uint32_t lanes_of_group(const reduced_rows& out) {
  const std::uint32_t lanes = 1U << out.lanes_log2;
  return (lanes == 32 ? ~0U : (1U << lanes) - 1) << (threadIdx.x % 32 & ~(lanes - 1));
}

/// The rows that entries of a list name: row(j) is that of entry j, and weight(j) its factor. `checks` says that an
/// entry may name none.
template <bool Checks, class Row, class Weight>
struct row_source {
  static constexpr bool checks = Checks;
  Row row;
  Weight weight;
};

/// Combines rows that entries j, j + 1, ... name with sum, InFlight of them, or `entries` if that is fewer. Returns how
/// many name a row.
template <class In, bool Adds, bool Weighted, int InFlight, bool IsWhole, class Sum, int Values, class Source>
__device__ __forceinline__ std::uint32_t combine_some_rows(const listed_rows& in, reduction op, std::uint64_t j,
                                                           std::uint32_t entries, const std::byte* column,
                                                           Sum (&sum)[Values], const Source& from) {
  bool names_row[InFlight];
  const std::byte* row[InFlight];
  lane_values<In, Values> loaded[InFlight];
  Sum weight[InFlight];
  std::uint32_t good = 0;
#pragma unroll
  for (int u = 0; u < InFlight; ++u) {
    names_row[u] = IsWhole || u < entries;
    std::uint64_t number = 0;
    if (names_row[u]) number = from.row(j + u);
    if constexpr (Source::checks) names_row[u] = names_row[u] && number < in.limit;
    row[u] = column + number * in.stride;
  }
  if constexpr (Weighted) {
#pragma unroll
    for (int u = 0; u < InFlight; ++u) weight[u] = IsWhole || u < entries ? from.weight(j + u) : Sum{0};
  }
#pragma unroll
  for (int u = 0; u < InFlight; ++u) {
    if (names_row[u]) loaded[u].load(row[u]);
  }
#pragma unroll
  for (int u = 0; u < InFlight; ++u) {
    if (!names_row[u]) continue;
    ++good;
    In values[Values];
    loaded[u].get(values);
#pragma unroll
    for (int v = 0; v < Values; ++v) {
      Sum operand = as_sum<Sum>(values[v]);
      if constexpr (Weighted) {
        sum[v] = multiply_add(sum[v], operand, weight[u]);
        continue;
      }
      if constexpr (Adds) {
        if (op == reduction::subtract) operand = primitives::operand<reduction::subtract>(operand);
      }
      sum[v] = combine_values<Adds>(op, sum[v], operand);
    }
  }
  return good;
}

/// Combines the rows that entries [begin, end) of a source name with sum, from the first to the last. Returns how many
/// entries name a row.
template <class In, bool Adds, bool Weighted, int InFlight, class Sum, int Values, class Source>
__device__ __forceinline__ std::uint32_t combine_rows(const listed_rows& in, reduction op, std::uint64_t begin,
                                                      std::uint64_t end, std::uint32_t value, Sum (&sum)[Values],
                                                      const Source& from) {
  const std::byte* const column = in.data + std::uint64_t{value} * sizeof(In);
  std::uint32_t good = 0;
  std::uint64_t j = begin;
  for (; j + InFlight <= end; j += InFlight) {
    good += combine_some_rows<In, Adds, Weighted, InFlight, true>(in, op, j, InFlight, column, sum, from);
  }
  if (j < end) {
    good += combine_some_rows<In, Adds, Weighted, InFlight, false>(in, op, j, static_cast<std::uint32_t>(end - j),
                                                                   column, sum, from);
  }
  return good;
}

/// As above, of the list that `in` has.
template <class In, bool Adds, bool Weighted, int InFlight, class Sum, int Values>
__device__ __forceinline__ std::uint32_t combine_listed_rows(const listed_rows& in, reduction op, std::uint64_t begin,
                                                             std::uint64_t end, std::uint32_t value,
                                                             Sum (&sum)[Values]) {
  const auto row_of = [&](std::uint64_t j) -> std::uint64_t {
    return in.index == nullptr ? j : entry_at(in.index, in.has_wide_index, j);
  };
  const auto weight_of = [&](std::uint64_t j) { return weight_at<Sum>(in, j); };
  const row_source<true, decltype(row_of), decltype(weight_of)> from{row_of, weight_of};
  return combine_rows<In, Adds, Weighted, InFlight>(in, op, begin, end, value, sum, from);
}

template <class Sum, int Values>
__device__ __forceinline__ void set_all(Sum (&sum)[Values], Sum value) {
#pragma unroll
  for (int v = 0; v < Values; ++v) sum[v] = value;
}

/// Calls body with a value of a type of out that rows of Sum become.
template <class Sum, class Body>
__device__ __forceinline__ void with_out_type(value_type type, Body body) {
  if constexpr (std::is_same_v<Sum, double>) {
    body(double{});
  } else if constexpr (std::is_same_v<Sum, float>) {
    if (type == value_type::f32) return body(float{});
    if (type == value_type::f16) return body(float16{});
    body(bfloat16{});
  } else if constexpr (std::is_signed_v<Sum>) {
    if (type == value_type::i32) return body(std::int32_t{});
    if (type == value_type::i8) return body(std::int8_t{});
    if (type == value_type::i16) return body(std::int16_t{});
    if constexpr (sizeof(Sum) == 8) body(std::int64_t{});
  } else {
    if (type == value_type::u32) return body(std::uint32_t{});
    if (type == value_type::u8) return body(std::uint8_t{});
    if (type == value_type::u16) return body(std::uint16_t{});
    if constexpr (sizeof(Sum) == 8) body(std::uint64_t{});
  }
}

/// What a row of out holds, before rows are combined with it; the identity element unless it is read.
/// MayBeProduct: rows of out may be those of a product; kernels without that branch spill fewer registers.
template <bool Adds, bool MayBeProduct, class Sum, int Values>
__device__ __forceinline__ void begin_row(const reduced_rows& out, std::uint64_t row, std::uint32_t value,
                                          Sum (&sum)[Values]) {
  if constexpr (MayBeProduct) {
    if (out.is_product) return set_all(sum, neutral<Sum>(out.op));
  }
  if (!out.reads_out) return set_all(sum, primitives::identity_of<Sum>(out.op));
  with_out_type<Sum>(out.type, [&](auto type) {
    using Out = decltype(type);
    lane_values<Out, Values> held;
    held.load_once(out.data + row * out.stride + value * sizeof(Out));
    Out values[Values];
    held.get(values);
#pragma unroll
    for (int v = 0; v < Values; ++v) sum[v] = as_sum<Sum>(values[v]);
  });
}

/// Writes alpha times the sum of a row's products, plus beta times what is there.
template <class Sum, int Values>
__device__ __forceinline__ void end_product(const reduced_rows& out, std::uint64_t row, std::uint32_t value,
                                            const Sum (&sum)[Values], bool has_entries) {
  with_out_type<Sum>(out.type, [&](auto type) {
    using Out = decltype(type);
    std::byte* const to = out.data + row * out.stride + value * sizeof(Out);
    lane_values<Out, Values> written;
    Out values[Values];
    if (out.reads_out) {
      written.load_once(to);
      written.get(values);
    }
#pragma unroll
    for (int v = 0; v < Values; ++v) {
      Sum result = static_cast<Sum>(out.alpha) * (has_entries ? sum[v] : Sum{0});
      if (out.reads_out) result += static_cast<Sum>(out.beta) * as_sum<Sum>(values[v]);
      values[v] = primitives::converted<Out>(result);
    }
    written.set(values);
    written.store(to);
  });
}

/// Writes a row of out, of what `rows` rows were combined to.
template <bool MayBeProduct, class Sum, int Values>
__device__ __forceinline__ void end_row(const reduced_rows& out, std::uint64_t row, std::uint32_t value,
                                        Sum (&sum)[Values], std::uint64_t rows) {
  if (out.counts != nullptr && value == 0) {
    if (out.has_wide_counts) {
      static_cast<std::uint64_t*>(out.counts)[row] = rows;
    } else {
      static_cast<std::uint32_t*>(out.counts)[row] = static_cast<std::uint32_t>(rows);
    }
  }
  if constexpr (MayBeProduct) {
    if (out.is_product) return end_product(out, row, value, sum, rows > 0);
  }
  if (rows == 0 && out.reads_out) return;
  with_out_type<Sum>(out.type, [&](auto type) {
    using Out = decltype(type);
    std::byte* const to = out.data + row * out.stride + value * sizeof(Out);
    lane_values<Out, Values> written;
    Out values[Values];
    if (rows == 0) {
#pragma unroll
      for (int v = 0; v < Values; ++v) values[v] = primitives::identity_of<Out>(out.op);
    } else {
      if (out.op == reduction::mean) {
#pragma unroll
        for (int v = 0; v < Values; ++v) sum[v] = primitives::mean_of(sum[v], rows + (out.reads_out ? 1 : 0));
      }
      if constexpr (std::is_floating_point_v<Sum>) {
        if (out.op == reduction::min || out.op == reduction::max) {
#pragma unroll
          for (int v = 0; v < Values; ++v) sum[v] = primitives::operand<reduction::min>(sum[v]);
        }
      }
#pragma unroll
      for (int v = 0; v < Values; ++v) values[v] = primitives::converted<Out>(sum[v]);
    }
    written.set(values);
    written.store(to);
  });
}

/// Combines what groups of lanes of a block have, by a tree over groups; the first group gets the result. All threads
/// call it. Memory is room for `Values` values of each thread.
template <bool Adds, class Sum, int Values>
__device__ __forceinline__ void combine_groups(const reduced_rows& out, Sum (&sum)[Values], Sum* memory) {
  const std::uint32_t lanes = 1U << out.lanes_log2;
  for (std::uint32_t step = row_block_threads / 2; step >= lanes; step /= 2) {
    __syncthreads();
    if (threadIdx.x >= step && threadIdx.x < 2 * step) {
#pragma unroll
      for (int v = 0; v < Values; ++v) memory[v * row_block_threads + threadIdx.x] = sum[v];
    }
    __syncthreads();
    if (threadIdx.x < step) {
      Sum other[Values];
#pragma unroll
      for (int v = 0; v < Values; ++v) other[v] = memory[v * row_block_threads + threadIdx.x + step];
      combine_lanes<Adds>(out.op, sum, other);
    }
  }
  __syncthreads();
}

/// The last of the long lists whose first piece is not past `piece`. A warp searches; all of its lanes call it.
__device__ __forceinline__ std::uint32_t list_of_piece(const long_list* lists, std::uint32_t count,
                                                       std::uint64_t piece) {
  const std::uint32_t lane = threadIdx.x % 32;
  std::uint32_t low = 0;
  while (count > 1) {
    const std::uint32_t step = (count + 31) / 32;
    const std::uint32_t at = lane * step;
    const bool has_begun = at < count && __ldcg(&lists[low + at].first_piece) <= piece;
    const std::uint32_t begun = __popc(__ballot_sync(~0U, has_begun));
    const std::uint32_t skipped = (begun - 1) * step;
    low += skipped;
    count = min(step, count - skipped);
  }
  return low;
}

/// The lists and their pieces, as numbers of long_lists::totals.
__device__ __forceinline__ unsigned long long totals_of(const long_lists& all) {
  return min(__ldcg(all.totals), ~__ldcg(all.totals + 1));
}

/// Adds a list of so many pieces to the long lists; returns whether there is room for it. Room ends once: no list has
/// any after one that has not.
static __device__ __noinline__ bool add_long_list(const long_lists& all, std::uint64_t segment, std::uint64_t pieces) {
  const unsigned long long before = atomicAdd(all.totals, (1ULL << pieces_bits) + pieces);
  if (before >> pieces_bits >= all.most_lists || (before & pieces_mask) + pieces > all.most_pieces) {
    atomicMax(all.totals + 1, ~before);
    return false;
  }
  all.lists[before >> pieces_bits] = {before & pieces_mask, segment};
  return true;
}

/// Keeps what `rows` rows of a piece were combined to.
template <class Sum, int Values>
__device__ __forceinline__ void keep_result(const long_lists& all, std::uint64_t result, std::uint32_t value,
                                            const Sum (&sum)[Values], std::uint32_t rows) {
  if (value == 0) all.rows[result] = rows;
  if (rows == 0) return;
  lane_values<Sum, Values> kept;
  kept.set(sum);
  kept.store(all.results + result * all.result_stride + value * sizeof(Sum));
}

}  // namespace sheaf::cuda
