#pragma once

#include <algorithm>
#include <type_traits>

#include "cuda/device/index_guard.cuh"
#include "cuda/device/launch.cuh"
#include "cuda/device/words.cuh"
#include "primitives/movement.hpp"

// Moves records between places that an index names (the far side) and places in index order (the near side). Gather
// reads far and writes near, scatter the other way round. Records of one word have kernels of their own in
// words_movement.cuh; what is here takes any width.
namespace sheaf::cuda {

enum class direction { gather, scatter };

struct move_arguments {
  const std::byte* from;
  std::byte* to;
  const void* index;
  std::uint64_t count;
  std::uint64_t limit;  ///< index values from here on are bad
  std::uint64_t sequential_stride;
  std::uint64_t indexed_stride;
  std::uint32_t wide_index;  ///< 8-byte indices
  index_guard guard;
};

constexpr std::uint32_t most_tile_records = 1024;
constexpr std::uint64_t no_record = ~std::uint64_t{0};

// 32 bytes in flight per lane: on an H200 records of 32 to 1024 bytes gather 1 to 2 % faster than with 64, and 100-byte
// ones, which move as 4-byte words, 5 % faster than with 16.
constexpr int words_in_flight(std::size_t word_bytes) {
  return word_bytes >= 4 ? static_cast<int>(32 / word_bytes) : 8;
}

/// How a block's tile of records is cut into words; x / words_per_record is the high half of x * reciprocal, exact
/// below 2^16 words of tile.
struct tile_shape {
  std::uint32_t records;
  std::uint32_t words_per_record;
  std::uint32_t reciprocal;
};

__device__ __forceinline__ std::uint64_t index_at(const move_arguments& a, std::uint64_t i) {
  return a.wide_index != 0 ? __ldcs(static_cast<const unsigned long long*>(a.index) + i)
                           : __ldcs(static_cast<const std::uint32_t*>(a.index) + i);
}

/// The same where the list may be read again soon: L2 keeps it then.
__device__ __forceinline__ std::uint64_t index_at(const move_arguments& a, std::uint64_t i, bool again) {
  if (!again) return index_at(a, i);
  return a.wide_index != 0 ? __ldg(static_cast<const unsigned long long*>(a.index) + i)
                           : __ldg(static_cast<const std::uint32_t*>(a.index) + i);
}

__device__ __forceinline__ bool check_index(const move_arguments& a, std::uint64_t i, std::uint64_t index) {
  if (index < a.limit) return true;
  if (a.wide_index != 0) {
    report_bad_index(a.guard, i, index);
  } else {
    report_bad_index(a.guard, i, static_cast<std::uint32_t>(index));
  }
  return false;
}

// Moves the records that indexed_offset lists, word by word over the block: entry r lies sequential_tile +
// sequential_record(r) strides into the near side. Offsets inside a tile are 32 bits; it is one record where it would
// pass 4 GiB.
template <direction Direction, class Word, class NearRecord>
__device__ __forceinline__ void move_listed(const move_arguments& a, const tile_shape& tile, std::uint64_t first,
                                            std::uint32_t records, const std::uint64_t* indexed_offset,
                                            NearRecord sequential_record) {
  constexpr int in_flight = words_in_flight(sizeof(Word));
  using sequential_byte = std::conditional_t<Direction == direction::gather, std::byte, const std::byte>;
  sequential_byte* sequential_tile;
  if constexpr (Direction == direction::gather) {
    sequential_tile = a.to + first * a.sequential_stride;
  } else {
    sequential_tile = a.from + first * a.sequential_stride;
  }
  const auto sequential_stride = static_cast<std::uint32_t>(a.sequential_stride);
  const std::uint32_t words = records * tile.words_per_record;
  for (std::uint32_t w0 = threadIdx.x; w0 < words; w0 += block_threads * in_flight) {
    Word word[in_flight];
    std::uint64_t far[in_flight];
    std::uint32_t near[in_flight];
#pragma unroll
    for (int k = 0; k < in_flight; ++k) {
      const std::uint32_t w = w0 + k * block_threads;
      if (w >= words) continue;
      const std::uint32_t r = tile.words_per_record == 1 ? w : __umulhi(w, tile.reciprocal);
      const std::uint32_t byte = (w - r * tile.words_per_record) * static_cast<std::uint32_t>(sizeof(Word));
      far[k] = indexed_offset[r];
      near[k] = sequential_record(r) * sequential_stride + byte;
      if constexpr (Direction == direction::gather) {
        word[k] = far[k] != no_record ? load_word<Word>(a.from + far[k] + byte) : Word{};
      } else {
        if (far[k] == no_record) continue;
        word[k] = load_word<Word>(sequential_tile + near[k]);
        far[k] += byte;
      }
    }
#pragma unroll
    for (int k = 0; k < in_flight; ++k) {
      if (w0 + k * block_threads >= words) continue;
      if constexpr (Direction == direction::gather) {
        store_streamed(sequential_tile + near[k], word[k]);
      } else {
        if (far[k] != no_record) store_word(a.to + far[k], word[k]);
      }
    }
  }
}

// Lanes share a record (Patidar 2009, section 4.1): a tile's indices are read and checked once into shared memory, then
// neighbouring lanes move neighbouring words, so that one record costs as many sectors as it covers and the near side
// is read or written in whole lines. With `winner`, only records that winner[] names move (scatter, last writer).
template <direction Direction, class Word>
__global__ void __launch_bounds__(block_threads)
    move_collective(const __grid_constant__ move_arguments a, const tile_shape tile, const std::uint32_t* winner32,
                    const std::uint64_t* winner64) {
  __shared__ std::uint64_t indexed_offset[most_tile_records];
  const std::uint64_t first = std::uint64_t{blockIdx.x} * tile.records;
  const auto records = static_cast<std::uint32_t>(min(std::uint64_t{tile.records}, a.count - first));
  for (std::uint32_t r = threadIdx.x; r < records; r += block_threads) {
    const std::uint64_t i = first + r;
    const std::uint64_t index = index_at(a, i);
    bool moves = check_index(a, i, index);
    if (moves && winner32 != nullptr) moves = winner32[index] == static_cast<std::uint32_t>(i + 1);
    if (moves && winner64 != nullptr) moves = winner64[index] == i + 1;
    indexed_offset[r] = moves ? index * a.indexed_stride : no_record;
  }
  __syncthreads();
  move_listed<Direction, Word>(a, tile, first, records, indexed_offset, [](std::uint32_t r) { return r; });
}

// The form of He et al. 2007 (Fig. 3): a thread takes a record and moves all of it.
template <direction Direction, class Word>
__global__ void __launch_bounds__(block_threads)
    move_by_thread(const __grid_constant__ move_arguments a, std::uint32_t words_per_record) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i >= a.count) return;
  const std::uint64_t index = index_at(a, i);
  const bool good = check_index(a, i, index);
  const std::uint64_t near = i * a.sequential_stride;
  const std::uint64_t far = index * a.indexed_stride;
  for (std::uint32_t w = 0; w < words_per_record; ++w) {
    const std::uint64_t byte = std::uint64_t{w} * sizeof(Word);
    if constexpr (Direction == direction::gather) {
      store_word(a.to + near + byte, good ? load_word<Word>(a.from + far + byte) : Word{});
    } else {
      if (good) store_word(a.to + far + byte, load_word<Word>(a.from + near + byte));
    }
  }
}

// ---- launches

inline move_arguments arguments_of(const primitives::movement& p, const std::byte* from, std::byte* to,
                                   const index_span& index, const index_guard& guard) {
  return {from,
          to,
          index.data,
          p.count,
          p.index_limit(),
          p.sequential_stride_bytes,
          p.indexed_stride_bytes,
          bytes(p.index) == 8 ? 1U : 0U,
          guard};
}

inline std::uint32_t words_per_record(const primitives::movement& p) {
  return static_cast<std::uint32_t>(p.record_bytes / p.word_bytes);
}

/// Records of a tile: what the lanes of a block keep in flight, fewer where that would leave multiprocessors idle. Of a
/// tile that is filtered only one record in `kept_of` moves; it is as much larger, while offsets and words of all of it
/// fit their numbers.
inline tile_shape shape_of(const primitives::movement& p, std::uint32_t parallelism, std::uint64_t kept_of = 1) {
  const std::uint32_t words = words_per_record(p);
  const auto in_flight = static_cast<std::uint32_t>(words_in_flight(p.word_bytes));
  const std::uint64_t wanted = std::uint64_t{block_threads} * in_flight * kept_of / words;
  const std::uint64_t shared_out = ceil_div(p.count, std::uint64_t{parallelism} * 4);
  const std::uint64_t sequential_fits =
      ~std::uint32_t{0} / p.sequential_stride_bytes;  // offsets inside a tile are 32 bits
  const std::uint64_t words_fit = (std::uint64_t{1} << 16) / words;
  const std::uint64_t most = std::min({wanted, std::uint64_t{most_tile_records}, sequential_fits, words_fit});
  return {.records = static_cast<std::uint32_t>(std::max<std::uint64_t>(1, std::min(most, shared_out))),
          .words_per_record = words,
          .reciprocal = words == 1 ? 0 : static_cast<std::uint32_t>((std::uint64_t{1} << 32) / words + 1)};
}

template <direction Direction>
void launch_collective(const context& ctx, const primitives::movement& p, const move_arguments& a,
                       const std::uint32_t* winner32 = nullptr, const std::uint64_t* winner64 = nullptr) {
  const tile_shape tile = shape_of(p, static_cast<std::uint32_t>(state_of(ctx).multiprocessors()));
  with_word(p.word_bytes, [&](auto word) {
    launch(ctx, "cuda.collective", move_collective<Direction, decltype(word)>, ceil_div(p.count, tile.records), a, tile,
           winner32, winner64);
  });
}

template <direction Direction>
void launch_by_thread(const context& ctx, const primitives::movement& p, const move_arguments& a) {
  with_word(p.word_bytes, [&](auto word) {
    launch(ctx, "cuda.thread_per_record", move_by_thread<Direction, decltype(word)>, ceil_div(p.count, block_threads),
           a, words_per_record(p));
  });
}

}  // namespace sheaf::cuda
