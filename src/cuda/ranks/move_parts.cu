#include <type_traits>
#include <vector>

#include "cuda/block/scan.cuh"
#include "cuda/block/tile.cuh"
#include "cuda/device/launch.cuh"
#include "cuda/device/words.cuh"
#include "cuda/ranks/steps.hpp"

// Rows are moved to their parts tile by tile: a block ranks a tile's rows by part, and writes the run of each part to
// where the prefix sums of find_parts.cu say. Words are put in order in shared memory; of longer rows their numbers
// are, and each is read when its turn has come.
namespace sheaf::cuda {
namespace {

using namespace primitives;

constexpr int tile_warps = tile_threads / 32;
constexpr int part_bins = static_cast<int>(most_row_parts);

struct moved_array {
  const std::byte* from = nullptr;
  std::byte* const* to = nullptr;
};

/// What a block keeps in shared memory.
struct tile_memory {
  std::uint64_t target[part_bins];  ///< where row 0 of the sorted tile would go, if it were one of the part
  std::uint32_t begin[part_bins];   ///< of each part's run in the sorted tile
  alignas(16) std::uint32_t warp_sums[tile_warps];
  std::uint16_t part[tile_rows];  ///< of the rows of the sorted tile
  union {
    std::uint32_t counts[tile_warps * part_bins];
    std::uint64_t words[tile_rows];
  };
};

/// A tile, whose rows are ranked by part.
class ranked_tile {
 public:
  __device__ __forceinline__ ranked_tile(tile_memory& memory, const tiled_parts& of, std::uint64_t tile)
      : memory_(memory),
        first_row_(tile * tile_rows),
        size_(static_cast<std::uint32_t>(min(std::uint64_t{tile_rows}, of.rows - first_row_))) {
    const std::uint32_t first = first_item_of_thread<rows_per_thread>();
    // Rows past the end of the list come last, in the last part.
#pragma unroll
    for (int k = 0; k < rows_per_thread; ++k) {
      const std::uint32_t i = first + k * 32;
      part_.set(k, i < size_ ? __ldcs(of.part + first_row_ + i) : part_bins - 1);
    }
  }

  __device__ __forceinline__ std::uint32_t size() const { return size_; }

  /// All threads of the block call it. Rows of a part keep their order.
  __device__ __forceinline__ void rank() {
    for (int i = threadIdx.x; i < tile_warps * part_bins; i += tile_threads) memory_.counts[i] = 0;
    __syncthreads();
    std::uint32_t* const own = memory_.counts + threadIdx.x / 32 * part_bins;
#pragma unroll
    for (int k = 0; k < rows_per_thread; ++k) atomicAdd(&own[part_.get(k)], 1U);
    __syncthreads();
    std::uint32_t begin[1] = {scan_over_warps<tile_warps, part_bins>(memory_.counts)};
    scan_bins<part_bins, tile_threads>(begin, memory_.warp_sums);
    if (threadIdx.x < part_bins) memory_.begin[threadIdx.x] = begin[0];
    add_to_warps<tile_warps, part_bins>(memory_.counts, begin[0]);
    __syncthreads();
    rank_by_match<rows_per_thread, part_bins>([&](int k) { return part_.get(k); }, own, rank_);
    __syncthreads();
    stage_parts();
  }

  /// The same without an order of the rows of a part.
  __device__ __forceinline__ void rank_in_any_order() {
    if (threadIdx.x < part_bins) memory_.counts[threadIdx.x] = 0;
    __syncthreads();
    const std::uint32_t first = first_item_of_thread<rows_per_thread>();
    rank_unordered<rows_per_thread, part_bins>([&](int k) { return first + k * 32 < size_ ? part_.get(k) : no_bin; },
                                               memory_.counts, rank_);
    __syncthreads();
    std::uint32_t begin[1] = {threadIdx.x < part_bins ? memory_.counts[threadIdx.x] : 0};
    scan_bins<part_bins, tile_threads>(begin, memory_.warp_sums);
    if (threadIdx.x < part_bins) memory_.begin[threadIdx.x] = begin[0];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < rows_per_thread; ++k) rank_.add(k, memory_.begin[part_.get(k)]);
    stage_parts();
  }

  /// Loads the thread's rows from Begin on. There is one for each of `words`.
  template <int Begin, int Items, class Word>
  __device__ __forceinline__ void load(const std::byte* from, Word (&words)[Items]) const {
    const std::uint32_t first = first_item_of_thread<rows_per_thread>();
#pragma unroll
    for (int k = 0; k < Items; ++k) {
      const std::uint32_t i = first + (Begin + k) * 32;
      if (i < size_) words[k] = __ldcs(reinterpret_cast<const Word*>(from) + first_row_ + i);
    }
  }
  /// Puts these into the sorted tile.
  template <int Begin, int Items, class Word>
  __device__ __forceinline__ void stage(const Word (&words)[Items]) const {
    Word* const staged = reinterpret_cast<Word*>(memory_.words);
    const std::uint32_t first = first_item_of_thread<rows_per_thread>();
#pragma unroll
    for (int k = 0; k < Items; ++k) {
      if (first + (Begin + k) * 32 < size_) staged[rank_.get(Begin + k)] = words[k];
    }
  }

  /// Writes the number in the tile of each row of the sorted tile.
  __device__ __forceinline__ void stage_order(std::uint16_t* order) const {
    const std::uint32_t first = first_item_of_thread<rows_per_thread>();
#pragma unroll
    for (int k = 0; k < rows_per_thread; ++k) {
      if (first + k * 32 < size_) order[rank_.get(k)] = static_cast<std::uint16_t>(first + k * 32);
    }
  }

  /// Writes the sorted tile where target says.
  template <class Word>
  __device__ __forceinline__ void write() const {
    const Word* const staged = reinterpret_cast<const Word*>(memory_.words);
#pragma unroll
    for (int k = 0; k < rows_per_thread; ++k) {
      const std::uint32_t i = k * tile_threads + threadIdx.x;
      if (i < size_) *reinterpret_cast<Word*>(memory_.target[memory_.part[i]] + i * sizeof(Word)) = staged[i];
    }
  }

 private:
  __device__ __forceinline__ void stage_parts() const {
    const std::uint32_t first = first_item_of_thread<rows_per_thread>();
#pragma unroll
    for (int k = 0; k < rows_per_thread; ++k) {
      if (first + k * 32 < size_) memory_.part[rank_.get(k)] = static_cast<std::uint16_t>(part_.get(k));
    }
  }

  tile_memory& memory_;
  std::uint64_t first_row_;
  std::uint32_t size_;
  packed_numbers<rows_per_thread> part_;
  packed_numbers<rows_per_thread> rank_;
};

/// Sets where the runs of a tile go, of words of so many bytes.
__device__ __forceinline__ void set_targets(tile_memory& memory, const tiled_parts& of, std::uint64_t tile,
                                            std::byte* part_begin, std::uint32_t width) {
  const std::uint32_t part = threadIdx.x;
  if (part >= of.parts) return;
  const std::int64_t shift =
      static_cast<std::int64_t>(of.before[tile * of.parts + part]) - static_cast<std::int64_t>(memory.begin[part]);
  memory.target[part] = reinterpret_cast<std::uint64_t>(part_begin) +
                        static_cast<std::uint64_t>(shift * static_cast<std::int64_t>(width));
}

struct no_word {};

/// @tparam First   a word of the first array, which is loaded before rows are ranked
/// @tparam Second  of another, or no_word. Half of it is loaded while the first is written.
template <class First, class Second, bool KeepsOrder>
__global__ void __launch_bounds__(tile_threads, 2)
    move_tiles(const tiled_parts of, std::uint64_t first_tile, const moved_array first_array,
               const moved_array second_array) {
  extern __shared__ __align__(16) unsigned char dynamic[];
  auto& memory = *reinterpret_cast<tile_memory*>(dynamic);
  const std::uint64_t tile = first_tile + blockIdx.x;
  ranked_tile rows(memory, of, tile);
  First words[rows_per_thread];
  rows.load<0>(first_array.from, words);
  if constexpr (KeepsOrder) {
    rows.rank();
  } else {
    rows.rank_in_any_order();
  }
  const auto aim = [&](const moved_array& array, std::uint32_t width) {
    set_targets(memory, of, tile, threadIdx.x < of.parts ? array.to[threadIdx.x] : nullptr, width);
  };
  aim(first_array, sizeof(First));
  rows.stage<0>(words);
  __syncthreads();
  if constexpr (std::is_same_v<Second, no_word>) {
    rows.write<First>();
  } else {
    constexpr int half = rows_per_thread / 2;
    Second more[half];
    rows.load<0>(second_array.from, more);
    rows.write<First>();
    __syncthreads();
    aim(second_array, sizeof(Second));
    rows.stage<0>(more);
    rows.load<half>(second_array.from, more);
    rows.stage<half>(more);
    __syncthreads();
    rows.write<Second>();
  }
}

/// Rows of any width, word by word.
struct moved_rows {
  const std::byte* from = nullptr;
  std::uint64_t stride = 0;
  std::byte* const* to = nullptr;
  std::uint32_t width = 0;
};

/// As many blocks have a tile: each ranks all of it, which takes a small part of the time, and moves some of its rows.
/// Else the last tiles of a chunk would take long by themselves.
constexpr std::uint32_t pieces_of_tile = 4;

template <class Word>
__global__ void __launch_bounds__(tile_threads, 2)
    move_rows_of_tiles(const tiled_parts of, std::uint64_t first_tile, const __grid_constant__ moved_rows array) {
  extern __shared__ __align__(16) unsigned char dynamic[];
  auto& memory = *reinterpret_cast<tile_memory*>(dynamic);
  const std::uint64_t tile = first_tile + blockIdx.x / pieces_of_tile;
  ranked_tile rows(memory, of, tile);
  rows.rank();
  set_targets(memory, of, tile, threadIdx.x < of.parts ? array.to[threadIdx.x] : nullptr, array.width);
  auto* const order = reinterpret_cast<std::uint16_t*>(memory.words);
  rows.stage_order(order);
  __syncthreads();
  const std::uint32_t piece = blockIdx.x % pieces_of_tile;
  const std::uint32_t end = rows.size() * (piece + 1) / pieces_of_tile;
  const std::uint32_t words = array.width / static_cast<std::uint32_t>(sizeof(Word));
  const std::uint32_t step_rows = tile_threads / words;
  const std::uint32_t step_words = tile_threads % words;
  std::uint32_t row = rows.size() * piece / pieces_of_tile + threadIdx.x / words;
  std::uint32_t word = threadIdx.x % words;
  const std::byte* const from = array.from + tile * tile_rows * array.stride;
  constexpr int at_once = 4;
  while (row < end) {
    Word moved[at_once];
    std::uint64_t target[at_once];
    std::uint32_t count = 0;
#pragma unroll
    for (int k = 0; k < at_once; ++k) {
      if (row >= end) break;
      count = k + 1;
      moved[k] = load_word<Word>(from + order[row] * array.stride + word * sizeof(Word));
      target[k] = memory.target[memory.part[row]] + std::uint64_t{row} * array.width + word * sizeof(Word);
      row += step_rows;
      word += step_words;
      if (word >= words) {
        word -= words;
        ++row;
      }
    }
#pragma unroll
    for (int k = 0; k < at_once; ++k) {
      if (k < count) store_streamed(reinterpret_cast<std::byte*>(target[k]), moved[k]);
    }
  }
}

std::uint64_t tiles_in(const tiled_parts& of, std::uint64_t chunk) {
  const std::uint64_t first = chunk * of.chunk_tiles;
  return first < of.tiles ? std::min(of.tiles - first, of.chunk_tiles) : 0;
}

}  // namespace

void move_rows_to_parts(const context& ctx, const tiled_parts& of, std::uint64_t chunk,
                        std::span<const rows_to_parts> arrays, bool keeps_order) {
  const std::uint64_t tiles = tiles_in(of, chunk);
  if (tiles == 0) return;
  const run_scope scope(ctx, "move to parts");
  const std::uint64_t first_tile = chunk * of.chunk_tiles;
  std::vector<rows_to_parts> words;
  for (const rows_to_parts& array : arrays) {
    if (are_words(array.rows)) {
      words.push_back(array);
      continue;
    }
    const moved_rows moved{array.rows.data, array.rows.stride_bytes, array.to,
                           static_cast<std::uint32_t>(array.rows.record_bytes)};
    with_word(array.word_bytes, [&](auto word) {
      launch_shared(ctx, move_rows_of_tiles<decltype(word)>, tiles * pieces_of_tile, tile_threads, sizeof(tile_memory),
                    of, first_tile, moved);
    });
  }
  const auto queue = [&](auto first, auto second, auto keeps, const rows_to_parts& a, const rows_to_parts& b) {
    launch_shared(ctx, move_tiles<decltype(first), decltype(second), keeps()>, tiles, tile_threads, sizeof(tile_memory),
                  of, first_tile, moved_array{a.rows.data, a.to}, moved_array{b.rows.data, b.to});
  };
  const auto with_width = [](const rows_to_parts& array, auto use) {
    array.rows.record_bytes == 8 ? use(0ULL) : use(0U);
  };
  for (std::size_t a = 0; a < words.size(); a += 2) {
    with_width(words[a], [&](auto first) {
      if (arrays.size() == 1 && !keeps_order) {
        queue(first, no_word{}, std::false_type(), words[a], words[a]);
      } else if (a + 1 == words.size()) {
        queue(first, no_word{}, std::true_type(), words[a], words[a]);
      } else {
        with_width(words[a + 1], [&](auto second) { queue(first, second, std::true_type(), words[a], words[a + 1]); });
      }
    });
  }
}

}  // namespace sheaf::cuda
