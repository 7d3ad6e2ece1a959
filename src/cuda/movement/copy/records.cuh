#pragma once

#include "cuda/device/index_guard.cuh"
#include "cuda/device/launch.cuh"
#include "cuda/device/words.cuh"
#include "primitives/movement/problem.hpp"

// Moves records of any width between the indexed side, whose positions the index names, and the sequential side, in
// index order. A gather reads the indexed side and writes the sequential one; a scatter does the reverse. Records of
// one word have faster kernels in words.cuh.
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
  std::uint32_t wide_index;  ///< 1 if indices have 8 bytes, 0 if they have 4
  index_guard guard;
};

constexpr std::uint32_t most_tile_records = 1024;
constexpr std::uint64_t no_record = ~std::uint64_t{0};  ///< offset of a record that does not move

// Words that a lane keeps in flight. They add up to 32 bytes: on an H200 records of 32 to 1024 bytes gather 1 to 2 %
// faster than with 64 bytes, and records of 100 bytes, which move as 4-byte words, 5 % faster than with 16.
constexpr int words_in_flight(std::size_t word_bytes) {
  return word_bytes >= 4 ? static_cast<int>(32 / word_bytes) : 8;
}

/// How a block's tile of records is cut into words.
struct tile_shape {
  std::uint32_t records;
  std::uint32_t words_per_record;
  std::uint32_t reciprocal;  ///< x / words_per_record is the high half of x * reciprocal, exactly, below 2^16 words
};

/// Loads index i, of either width, in a stream that leaves the cache to records.
__device__ __forceinline__ std::uint64_t index_at(const move_arguments& a, std::uint64_t i) {
  return a.wide_index != 0 ? __ldcs(static_cast<const unsigned long long*>(a.index) + i)
                           : __ldcs(static_cast<const std::uint32_t*>(a.index) + i);
}

/// Loads index i; L2 keeps its line if the list is read again soon.
__device__ __forceinline__ std::uint64_t index_at(const move_arguments& a, std::uint64_t i, bool is_read_again) {
  if (!is_read_again) return index_at(a, i);
  return a.wide_index != 0 ? __ldg(static_cast<const unsigned long long*>(a.index) + i)
                           : __ldg(static_cast<const std::uint32_t*>(a.index) + i);
}

/// Whether an index names a record; reports it if not.
__device__ __forceinline__ bool check_index(const move_arguments& args, std::uint64_t i, std::uint64_t index) {
  if (index < args.limit) return true;
  if (args.wide_index != 0) {
    report_bad_index(args.guard, i, index);
  } else {
    report_bad_index(args.guard, i, static_cast<std::uint32_t>(index));
  }
  return false;
}

// Moves the listed records of a tile, with the words shared out over the block: entry r moves between indexed_offset[r]
// on the indexed side and record first + sequential_record(r) on the sequential side. Offsets inside a tile have 32
// bits, so a tile that would pass 4 GiB is one record.
template <direction Direction, class Word, class SequentialRecord>
__device__ __forceinline__ void move_listed(const move_arguments& args, const tile_shape& tile, std::uint64_t first,
                                            std::uint32_t records, const std::uint64_t* indexed_offset,
                                            SequentialRecord sequential_record) {
  constexpr int in_flight = words_in_flight(sizeof(Word));
  using sequential_pointee = std::conditional_t<Direction == direction::gather, std::byte, const std::byte>;
  sequential_pointee* sequential_tile;
  if constexpr (Direction == direction::gather) {
    sequential_tile = args.to + first * args.sequential_stride;
  } else {
    sequential_tile = args.from + first * args.sequential_stride;
  }
  const auto sequential_stride = static_cast<std::uint32_t>(args.sequential_stride);
  const std::uint32_t words = records * tile.words_per_record;
  for (std::uint32_t w0 = threadIdx.x; w0 < words; w0 += block_threads * in_flight) {
    Word word[in_flight];
    std::uint64_t indexed_byte[in_flight];
    std::uint32_t sequential_byte[in_flight];
#pragma unroll
    for (int k = 0; k < in_flight; ++k) {
      const std::uint32_t w = w0 + k * block_threads;
      if (w >= words) continue;
      const std::uint32_t r = tile.words_per_record == 1 ? w : __umulhi(w, tile.reciprocal);
      const std::uint32_t byte = (w - r * tile.words_per_record) * static_cast<std::uint32_t>(sizeof(Word));
      indexed_byte[k] = indexed_offset[r];
      sequential_byte[k] = sequential_record(r) * sequential_stride + byte;
      if constexpr (Direction == direction::gather) {
        word[k] = indexed_byte[k] != no_record ? load_word<Word>(args.from + indexed_byte[k] + byte) : Word{};
      } else {
        if (indexed_byte[k] == no_record) continue;
        word[k] = load_word<Word>(sequential_tile + sequential_byte[k]);
        indexed_byte[k] += byte;
      }
    }
#pragma unroll
    for (int k = 0; k < in_flight; ++k) {
      if (w0 + k * block_threads >= words) continue;
      if constexpr (Direction == direction::gather) {
        store_streamed(sequential_tile + sequential_byte[k], word[k]);
      } else {
        if (indexed_byte[k] != no_record) store_word(args.to + indexed_byte[k], word[k]);
      }
    }
  }
}

// Collective movement: lanes share a record (Patidar and Narayanan 2009, section 4.1). A tile's indices are read and
// checked once, into shared memory. Then neighbouring lanes move neighbouring words, so that accesses coalesce: a
// record costs as many sectors as it covers, and the sequential side is read or written in whole lines. With a winner
// table of either width, position i moves only if winner[index] is i + 1 (scatter, last writer).
template <direction Direction, class Word>
__global__ void __launch_bounds__(block_threads)
    move_collective(const __grid_constant__ move_arguments args, const tile_shape tile, const std::uint32_t* winner32,
                    const std::uint64_t* winner64) {
  __shared__ std::uint64_t indexed_offset[most_tile_records];
  const std::uint64_t first = std::uint64_t{blockIdx.x} * tile.records;
  const auto records = static_cast<std::uint32_t>(min(std::uint64_t{tile.records}, args.count - first));
  for (std::uint32_t record = threadIdx.x; record < records; record += block_threads) {
    const std::uint64_t i = first + record;
    const std::uint64_t index = index_at(args, i);
    bool moves = check_index(args, i, index);
    if (moves && winner32 != nullptr) moves = winner32[index] == static_cast<std::uint32_t>(i + 1);
    if (moves && winner64 != nullptr) moves = winner64[index] == i + 1;
    indexed_offset[record] = moves ? index * args.indexed_stride : no_record;
  }
  __syncthreads();
  move_listed<Direction, Word>(args, tile, first, records, indexed_offset, [](std::uint32_t r) { return r; });
}

// ---- launches

inline move_arguments arguments_of(const primitives::movement& problem, const std::byte* from, std::byte* to,
                                   const index_span& index, const index_guard& guard) {
  return {from,
          to,
          index.data,
          problem.count,
          problem.index_limit(),
          problem.sequential_stride_bytes,
          problem.indexed_stride_bytes,
          bytes(problem.index) == 8 ? 1U : 0U,
          guard};
}

/// Words that a record of this problem is moved as.
inline std::uint32_t words_per_record(const primitives::movement& p) {
  return static_cast<std::uint32_t>(p.record_bytes / p.word_bytes);
}

/// The tile of a block: the records that its lanes keep in flight, or fewer if that would leave multiprocessors idle.
/// If a pass filters the tile, and moves one record in `filter_ratio`, the tile is larger by that ratio, as far as
/// offsets and word numbers of the whole tile fit their types.
inline tile_shape shape_of(const primitives::movement& problem, std::uint32_t parallelism,
                           std::uint64_t filter_ratio = 1) {
  const std::uint32_t words = words_per_record(problem);
  const auto in_flight = static_cast<std::uint32_t>(words_in_flight(problem.word_bytes));
  const std::uint64_t in_flight_records = std::uint64_t{block_threads} * in_flight * filter_ratio / words;
  const std::uint64_t balanced = ceil_div(problem.count, std::uint64_t{parallelism} * 4);
  const std::uint64_t offsets_fit =
      ~std::uint32_t{0} / problem.sequential_stride_bytes;  // offsets in a tile have 32 bits
  const std::uint64_t words_fit = (std::uint64_t{1} << 16) / words;
  const std::uint64_t most = std::min({in_flight_records, std::uint64_t{most_tile_records}, offsets_fit, words_fit});
  return {.records = static_cast<std::uint32_t>(std::max<std::uint64_t>(1, std::min(most, balanced))),
          .words_per_record = words,
          .reciprocal = words == 1 ? 0 : static_cast<std::uint32_t>((std::uint64_t{1} << 32) / words + 1)};
}

/// Launches cuda.collective's kernel; winner tables are scatter_last_writer.cu's.
template <direction Direction>
void launch_collective(const context& ctx, const primitives::movement& p, const move_arguments& a,
                       const std::uint32_t* winner32 = nullptr, const std::uint64_t* winner64 = nullptr) {
  const tile_shape tile = shape_of(p, static_cast<std::uint32_t>(state_of(ctx).multiprocessors()));
  with_word(p.word_bytes, [&](auto word) {
    launch(ctx, move_collective<Direction, decltype(word)>, ceil_div(p.count, tile.records), a, tile, winner32,
           winner64);
  });
}

}  // namespace sheaf::cuda
