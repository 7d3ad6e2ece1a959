#pragma once

#include "cuda/sparse/segmented.hpp"
#include "cuda/sparse/sums/short_rows.cuh"

// The run of a segmented matrix: a segmented sum by each warp (Blelloch, Heroux and Zagha 1993).
namespace sheaf::cuda {

/// Parts of rows that windows cut.
template <class Sum>
struct cut_sums {
  Sum* heads = nullptr;  ///< of each window: its part of the row that it continues
  Sum* tails = nullptr;  ///< of each window: its part of the row that goes on behind it
  unsigned* done =
      nullptr;  ///< of each window in which such a row begins: parts that are there; 0 at first, and at the end
};

__device__ __forceinline__ std::uint64_t begin_of_window(const segments_shape& shape, std::uint32_t w,
                                                         const segment_window& window) {
  return min(shape.first + std::uint64_t{w} * shape.stride + window.shift, shape.end);
}

/// Where a warp begins to read, so that window_places places are there: before the window if that is the last.
__device__ __forceinline__ std::uint64_t first_read_of_window(const segments_shape& shape, std::uint64_t begin) {
  return min(begin, shape.places - window_places);
}

/// Notes a part of a row; the warp that has the last one adds all of them in their order.
template <class Sum, class Value, class Column>
__device__ __noinline__ void close_part(const product_arguments<Value, Column>& a, const segments_view& s,
                                        const cut_sums<Sum>& cuts, std::uint32_t begin, Sum* to, Sum part,
                                        std::uint32_t row) {
  constexpr unsigned unrolled = 8;
  const unsigned lane = threadIdx.x % 32;
  unsigned done = 0;
  if (lane == 0) {
    *to = part;
    __threadfence();
    done = atomicAdd(cuts.done + begin, 1U);
  }
  const std::uint32_t parts = s.windows_of_cut[begin];
  if (__shfl_sync(~0U, done, 0) + 1 < parts) return;
  if (lane == 0) cuts.done[begin] = 0;  // for the next run
  __syncwarp();
  __threadfence();
  Sum all = 0;
  for (std::uint32_t from = lane; from < parts; from += 32 * unrolled) {
    Sum read[unrolled];
#pragma unroll
    for (unsigned k = 0; k < unrolled; ++k) {
      const std::uint32_t i = from + k * 32;
      read[k] = 0;
      if (i < parts) read[k] = __ldcg(i == 0 ? cuts.tails + begin : cuts.heads + begin + i);
    }
#pragma unroll
    for (unsigned k = 0; k < unrolled; ++k) all += read[k];
  }
  all = sum_of_lanes<32>(all);
  if (lane == 0) write_result(a, row, all);
}

/// Sums all rows: those with entries a window for each warp, the empty ones in the blocks behind.
template <class Sum, class Value, class Column>
__global__ void __launch_bounds__(block_threads, 5)
    sum_windows(const __grid_constant__ product_arguments<Value, Column> a, const __grid_constant__ segments_view s,
                const __grid_constant__ cut_sums<Sum> cuts) {
  constexpr unsigned padded_places = places_of_lane + 1;  // so that lanes side by side read from different banks
  __shared__ Sum products_of_warps[warps_of_a_block][32 * padded_places];
  const unsigned lane = threadIdx.x % 32;
  const std::uint64_t number = std::uint64_t{blockIdx.x} * warps_of_a_block + threadIdx.x / 32;
  if (number >= s.shape.windows) {
    const std::uint64_t window_blocks = (s.shape.windows + warps_of_a_block - 1) / warps_of_a_block;
    if (blockIdx.x < window_blocks) return;
    const std::uint64_t step = std::uint64_t{gridDim.x - window_blocks} * block_threads;
    for (std::uint64_t i = (blockIdx.x - window_blocks) * block_threads + threadIdx.x; i < s.empty_count; i += step) {
      write_result(a, s.empty_rows[i], Sum{0});
    }
    return;
  }
  const auto w = static_cast<std::uint32_t>(number);
  const segment_window own = s.windows[w];
  const segment_window next = s.windows[w + 1];
  const unsigned described = s.lanes[number * 32 + lane];
  const std::uint64_t begin = begin_of_window(s.shape, w, own);
  const std::uint64_t end = begin_of_window(s.shape, w + 1, next);
  if (begin == end) return;
  const std::uint64_t first = first_read_of_window(s.shape, begin);
  const auto skipped = static_cast<unsigned>(begin - first);
  const auto behind = static_cast<unsigned>(end - first);

  Sum product[places_of_lane];
  Column most = 0;
  const Value* const x_from = is_compressed<Column> ? a.x + s.bases[w] : a.x;
  make_products_of_window<false>(a.columns + first + lane, a.values + first + lane, x_from,
                                 static_cast<const Value*>(nullptr), static_cast<int>(skipped - lane),
                                 static_cast<int>(behind - lane), a.last_column, product, most);
  Sum* const products = products_of_warps[threadIdx.x / 32];
#pragma unroll
  for (unsigned k = 0; k < places_of_lane; ++k) {
    const unsigned place = k * 32 + lane;
    products[place + place / places_of_lane] = place >= skipped && place < behind ? product[k] : Sum{0};
  }
  __syncwarp();

  // Each lane adds its places up to the first row that begins there, and the whole rows behind. Sums take the places of
  // products, so that neighbouring lanes write neighbouring rows.
  const bool is_continued = own.continues != 0;
  const bool goes_on = next.continues != 0;
  const auto row_of = [&](int segment) {
    const std::uint32_t at = own.row + static_cast<std::uint32_t>(segment);
    return s.rows == nullptr ? at : s.rows[at];
  };
  Sum own_product[places_of_lane];
#pragma unroll
  for (unsigned k = 0; k < places_of_lane; ++k) own_product[k] = products[lane * padded_places + k];
  __syncwarp();
  int segment = static_cast<int>(described >> 8) - (is_continued ? 0 : 1);
  const int first_segment = segment;
  Sum head = 0;
  Sum sum = 0;
  bool has_begin = false;
#pragma unroll
  for (unsigned k = 0; k < places_of_lane; ++k) {
    if ((described >> k & 1) != 0) {
      if (has_begin) {
        products[segment] = sum;
      } else {
        has_begin = true;
        head = sum;
      }
      sum = 0;
      ++segment;
    }
    sum += own_product[k];
  }
  const unsigned lanes_with_begin = __ballot_sync(~0U, has_begin ? 1 : 0);
  const unsigned up_to_own = lanes_with_begin & (~0U >> (31 - lane));
  const unsigned from_lane = up_to_own == 0 ? 0 : 31U - static_cast<unsigned>(__clz(static_cast<int>(up_to_own)));
#pragma unroll
  for (unsigned step = 1; step < 32; step *= 2) {
    const Sum before = __shfl_up_sync(~0U, sum, step);
    if (lane >= from_lane + step) sum += before;
  }
  const Sum carried = __shfl_up_sync(~0U, sum, 1);
  if (lane > 0) head += carried;
  const bool is_part = lanes_with_begin == 0;  // of one row, which began before
  if (has_begin && first_segment >= 0) products[first_segment] = head;
  if (lane == 31) products[segment] = sum;
  const int last_segment = __shfl_sync(~0U, segment, 31);
  __syncwarp();
  const int first_whole = is_continued ? 1 : 0;
  const int end_of_whole = is_part ? 0 : last_segment + (goes_on ? 0 : 1);
  for (int i = first_whole + static_cast<int>(lane); i < end_of_whole; i += 32) {
    write_result(a, row_of(i), products[i]);
  }
  if (is_continued) close_part(a, s, cuts, s.begins_of_cut[w], cuts.heads + w, products[0], row_of(0));
  if (goes_on && !is_part) close_part(a, s, cuts, w, cuts.tails + w, products[last_segment], row_of(last_segment));
}

}  // namespace sheaf::cuda
