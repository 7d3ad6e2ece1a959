#pragma once

#include "cuda/block/tile.cuh"
#include "cuda/sort/radix/drawn_tiles.cuh"
#include "cuda/sort/radix/look_back.cuh"
#include "cuda/sort/radix/parts.hpp"

// The pass of a sort in parts. Tiles do not reach beyond a run, and look-back not beyond a part.
namespace sheaf::cuda {

/// How the numbers of a part are brought to bins.
struct part_scale {
  std::uint64_t first_number;
  std::int32_t shift;    ///< brings the distance from the first number to 32 bits: to the right, or, below 0, the left
  std::uint32_t factor;  ///< bins for each 2^32 of that
};

/// Bins ascend evenly with numbers.
__device__ __forceinline__ part_scale scale_of(const primitives::row_part& part) {
  const std::uint64_t width = part.last_number - part.first_number;
  if (width == 0) return {part.first_number, 0, 0};
  const int shift = 32 - __clzll(static_cast<long long>(width));
  const std::uint64_t scaled = shift >= 0 ? width >> shift : width << -shift;
  return {part.first_number, shift, static_cast<std::uint32_t>((std::uint64_t{radix_bins} << 32) / (scaled + 1))};
}

template <int Limbs>
struct bin_of_part {
  part_scale scale;

  __device__ __forceinline__ std::uint32_t operator()(const sort_word<Limbs>& word) const {
    const std::uint64_t distance = number_of(word) - scale.first_number;
    const std::uint64_t scaled = scale.shift >= 0 ? distance >> scale.shift : distance << -scale.shift;
    return __umulhi(static_cast<std::uint32_t>(scaled), scale.factor);
  }

  static __device__ __forceinline__ std::uint64_t number_of(const sort_word<Limbs>& word) {
    if constexpr (Limbs == 1) {
      return word.limb[0];
    } else {
      return pair_of(word, 0);
    }
  }
};

/// A tile: words of one run.
struct alignas(16) tile_of_run {
  std::uint32_t part;
  std::uint32_t begin;  ///< in the list
  std::uint32_t size;
  std::uint32_t first_tile;  ///< of the part
};

/// Tables of a sort in parts.
struct part_tables {
  words_in_parts list;
  part_scale* scales;           ///< of each part
  std::uint32_t* tiles_before;  ///< tiles of the runs before each one; one entry more than there are runs
  tile_of_run* tiles;
  std::uint32_t most_tiles;  ///< no list of so many words and runs has more

  __device__ std::uint32_t codes() const { return list.part_count * radix_bins; }
  __device__ part_scale scale(std::uint32_t part) const {
    const auto* const words = reinterpret_cast<const uint4*>(scales + part);
    const uint4 v = __ldcg(words);
    return {std::uint64_t{v.y} << 32 | v.x, static_cast<std::int32_t>(v.z), v.w};
  }
};
static_assert(sizeof(part_scale) == sizeof(uint4));

__device__ __forceinline__ tile_of_run tile_at(const part_tables& tables, std::uint32_t tile) {
  const uint4 v = __ldcg(reinterpret_cast<const uint4*>(tables.tiles + tile));
  return {v.x, v.y, v.z, v.w};
}

/// The code of a word: 256 for each part, in the order of keys.
template <int Limbs>
struct code_in_parts {
  const part_tables& tables;

  __device__ std::uint32_t operator()(const sort_word<Limbs>& word) const {
    const std::uint64_t number = bin_of_part<Limbs>::number_of(word);
    std::uint32_t part = 0;
    std::uint32_t end = tables.list.part_count;
    while (end - part > 1) {
      const std::uint32_t middle = (part + end) / 2;
      if (tables.list.parts[middle].first_number <= number) {
        part = middle;
      } else {
        end = middle;
      }
    }
    return part * radix_bins + bin_of_part<Limbs>{tables.scale(part)}(word);
  }
};

/// Counts the tiles of runs. The first block calls it; afterwards all blocks call list_tiles.
template <class Block>
__device__ void count_tiles(const Block& block, const part_tables& tables) {
  constexpr std::uint32_t tile_words = Block::tuning::tile_words;
  std::uint32_t before = 0;
  for (std::uint32_t first = 0; first < tables.list.run_count; first += Block::threads) {
    const std::uint32_t run = first + threadIdx.x;
    const std::uint32_t tiles =
        run < tables.list.run_count ? (tables.list.runs[run].count + tile_words - 1) / tile_words : 0;
    std::uint32_t begin[1] = {tiles};
    scan_bins<Block::threads, Block::threads>(begin, block.shared.warp_sums);
    if (run < tables.list.run_count) tables.tiles_before[run] = before + begin[0];
    if (threadIdx.x == Block::threads - 1) block.shared.tile = begin[0] + tiles;
    __syncthreads();
    before += block.shared.tile;
    __syncthreads();
  }
  if (threadIdx.x == 0) tables.tiles_before[tables.list.run_count] = before;
}

/// Lists the tiles of runs, a warp for each run, and the scale of each part.
template <class Block>
__device__ void list_tiles(const Block& block, const part_tables& tables) {
  constexpr std::uint32_t tile_words = Block::tuning::tile_words;
  for (std::uint32_t r = block.grid_thread() / 32; r < tables.list.run_count; r += block.grid_threads() / 32) {
    const primitives::row_run run = tables.list.runs[r];
    const std::uint32_t first = __ldcg(tables.tiles_before + r);
    const std::uint32_t first_of_part = __ldcg(tables.tiles_before + tables.list.parts[run.part].first_run);
    for (std::uint32_t skipped = threadIdx.x % 32 * tile_words; skipped < run.count; skipped += 32 * tile_words) {
      tables.tiles[first + skipped / tile_words] = {run.part, run.begin + skipped, min(run.count - skipped, tile_words),
                                                    first_of_part};
    }
  }
  for (std::uint32_t part = block.grid_thread(); part < tables.list.part_count; part += block.grid_threads())
    tables.scales[part] = scale_of(tables.list.parts[part]);
}

/// Counts the words of each part's bins. A block counts neighbouring tiles, which have mostly one part.
template <class Block>
__device__ void count_bins_of_parts(const Block& block, const part_tables& tables, std::uint32_t tiles) {
  using word = typename Block::word;
  constexpr int threads = Block::threads;
  constexpr int items = Block::tuning::words_per_thread;
  auto* const counters = reinterpret_cast<std::uint32_t*>(block.staged);
  const auto hand_over = [&](std::uint32_t part) {
    __syncthreads();
    for (int bin = threadIdx.x; bin < radix_bins; bin += threads) {
      if (counters[bin] > 0) atomicAdd(block.arguments.tables.histogram + part * radix_bins + bin, counters[bin]);
      counters[bin] = 0;
    }
    __syncthreads();
  };
  for (int bin = threadIdx.x; bin < radix_bins; bin += threads) counters[bin] = 0;
  __syncthreads();
  const auto begin = static_cast<std::uint32_t>(std::uint64_t{tiles} * blockIdx.x / gridDim.x);
  const auto end = static_cast<std::uint32_t>(std::uint64_t{tiles} * (blockIdx.x + 1) / gridDim.x);
  std::uint32_t counted = tables.list.part_count;
  for (std::uint32_t t = begin; t < end; ++t) {
    const tile_of_run tile = tile_at(tables, t);
    if (tile.part != counted) {
      if (counted < tables.list.part_count) hand_over(counted);
      counted = tile.part;
    }
    const bin_of_part<word::limbs> bin_of{tables.scale(tile.part)};
    word words[items];
    block.read_words(block.shared.arrays.words[0], [&](auto load) {
#pragma unroll
      for (int k = 0; k < items; ++k) {
        if (k * threads + threadIdx.x < tile.size) words[k] = load(tile.begin + k * threads + threadIdx.x);
      }
    });
#pragma unroll
    for (int k = 0; k < items; ++k) {
      if (k * threads + threadIdx.x < tile.size) atomicAdd(&counters[bin_of(words[k])], 1U);
    }
  }
  if (counted < tables.list.part_count) hand_over(counted);
}

/// Finds where the words of each bin begin, which is a code: 256 for each part.
template <class Block>
__device__ void find_bins_of_parts(const Block& block, const part_tables& tables) {
  const radix_tables& t = block.arguments.tables;
  for (std::uint32_t part = blockIdx.x; part < tables.list.part_count; part += gridDim.x) {
    const std::uint32_t bin = threadIdx.x;
    std::uint32_t begin[1] = {bin < radix_bins ? __ldcg(t.histogram + part * radix_bins + bin) : 0};
    scan_bins<radix_bins, Block::threads>(begin, block.shared.warp_sums);
    if (bin < radix_bins) {
      t.code_begin[part * radix_bins + bin] = tables.list.parts[part].begin + begin[0];
      t.mixed_begin[part * radix_bins + bin] = not_mixed;
    }
    __syncthreads();
  }
  if (block.grid_thread() == 0) t.code_begin[tables.list.part_count * radix_bins] = block.count;
}

/// The pass, as radix_pass has it. Bins are kept beside their words.
template <class Block>
class part_pass {
 public:
  using word = typename Block::word;
  using value = sort_value<Block::values>;
  using tuning = typename Block::tuning;
  static constexpr int threads = tuning::threads;
  static constexpr int items = tuning::words_per_thread;
  static constexpr std::uint32_t tile_words = tuning::tile_words;
  static constexpr int warps = threads / 32;

  __device__ __forceinline__ part_pass(const Block& block, const part_tables& tables, std::uint32_t tiles)
      : block_(block), tables_(tables), tiles_(block, tiles) {}

  __device__ __forceinline__ void move_tiles() {
    tiles_.for_each([&](std::uint32_t tile) {
      const tile_of_run at = tile_at(tables_, tile);
      at.size == tile_words ? move_tile<true>(tile, at) : move_tile<false>(tile, at);
    });
  }

 private:
  template <bool Full>
  __device__ __forceinline__ void move_tile(std::uint32_t tile, const tile_of_run& at) {
    word* const staged = reinterpret_cast<word*>(block_.staged);
    const std::uint32_t first = first_item_of_thread<items>();
    word words[items];
    block_.read_words(block_.shared.arrays.words[0], [&](auto load) {
#pragma unroll
      for (int k = 0; k < items; ++k) {
        words[k] = Full || first + k * 32 < at.size ? load(at.begin + first + k * 32) : word_of_ones<word::limbs>();
      }
    });
    const bin_of_part<word::limbs> bin_of{tables_.scale(at.part)};
    packed_bytes<items> held;
    packed_numbers<items> rank;
    const std::uint32_t aggregate = tuning::has_values ? rank_in_order<Full>(tile, at, words, bin_of, held, rank)
                                                       : rank_in_any_order<Full>(tile, at, words, bin_of, held, rank);
    // Without values, words past the end of the tile have no rank.
    const auto has_rank = [&](int k) { return Full || tuning::has_values || first + k * 32 < at.size; };
#pragma unroll
    for (int k = 0; k < items; ++k) {
      if (has_rank(k)) staged[rank.get(k)] = words[k];
    }
    auto* const staged_bins =
        block_.staged + tile_words * std::max<std::size_t>(sizeof(word), value_bytes_of(Block::values));
#pragma unroll
    for (int k = 0; k < items; ++k) {
      if (has_rank(k)) staged_bins[rank.get(k)] = static_cast<unsigned char>(held.get(k));
    }
    place_bins(tile, at, aggregate);
    __syncthreads();
    tiles_.draw(0);
    packed_bytes<items> bins;
    auto* const words_to = static_cast<word*>(block_.arguments.buffers[2]);
    write_runs<Full, threads>(
        staged, at.size, [&](std::uint32_t i, const word&) -> std::uint32_t { return staged_bins[i]; },
        block_.shared.bin_offset, bins, [&](std::uint32_t i, const word& w) { words_to[i] = w; });
    if constexpr (tuning::has_values) {
      __syncthreads();
      const auto* const values = static_cast<const value*>(block_.arguments.values[0]);
      move_values_of_tile<Full, threads, tuning::values_at_once>(
          [&](std::uint32_t i) { return value_at(values, at.begin + i); }, reinterpret_cast<value*>(staged), at.size,
          rank, bins, block_.shared.bin_offset, static_cast<value*>(block_.arguments.values[2]));
    }
  }

  /// Ranks words stably. Leaves their bins in `held`. @return  words of bin threadIdx.x
  template <bool Full>
  __device__ __forceinline__ std::uint32_t rank_in_order(std::uint32_t tile, const tile_of_run& at,
                                                         const word (&words)[items],
                                                         const bin_of_part<word::limbs>& bin_of,
                                                         packed_bytes<items>& held, packed_numbers<items>& rank) {
    auto* const warp_bins = reinterpret_cast<std::uint32_t*>(block_.staged);
    std::uint32_t* const own_bins = warp_bins + threadIdx.x / 32 * radix_bins;
    const std::uint32_t first = first_item_of_thread<items>();
    for (int i = threadIdx.x; i < warps * radix_bins; i += threads) warp_bins[i] = 0;
    __syncthreads();
    // Words past the end of the tile come last, in the last bin.
#pragma unroll
    for (int k = 0; k < items; ++k) {
      const std::uint32_t bin = Full || first + k * 32 < at.size ? bin_of(words[k]) : radix_bins - 1;
      held.set(k, bin);
      atomicAdd(&own_bins[bin], 1U);
    }
    __syncthreads();
    const std::uint32_t bin = threadIdx.x;
    const std::uint32_t past_end = bin == radix_bins - 1 ? tile_words - at.size : 0;
    const std::uint32_t counted = scan_over_warps<warps, radix_bins>(warp_bins);
    const std::uint32_t aggregate = counted - past_end;
    const std::uint32_t begin = begin_of_bin(tile, at, counted, aggregate);
    add_to_warps<warps, radix_bins>(warp_bins, begin);
    __syncthreads();
    rank_by_match<items, radix_bins>([&](int k) { return held.get(k); }, own_bins, rank);
    __syncthreads();
    return aggregate;
  }

  /// The same in any order, for words without values: equal ones are the same.
  template <bool Full>
  __device__ __forceinline__ std::uint32_t rank_in_any_order(std::uint32_t tile, const tile_of_run& at,
                                                             const word (&words)[items],
                                                             const bin_of_part<word::limbs>& bin_of,
                                                             packed_bytes<items>& held, packed_numbers<items>& rank) {
    auto* const bins = reinterpret_cast<std::uint32_t*>(block_.staged);
    const std::uint32_t first = first_item_of_thread<items>();
    if (threadIdx.x < radix_bins) bins[threadIdx.x] = 0;
#pragma unroll
    for (int k = 0; k < items; ++k) held.set(k, bin_of(words[k]) & 0xff);
    __syncthreads();
    rank_unordered<items, radix_bins, Full>(
        [&](int k) { return Full || first + k * 32 < at.size ? held.get(k) : no_bin; }, bins, rank);
    __syncthreads();
    const std::uint32_t aggregate = threadIdx.x < radix_bins ? bins[threadIdx.x] : 0;
    begin_of_bin(tile, at, aggregate, aggregate);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < items; ++k) rank.add(k, block_.shared.bin_begin[held.get(k)]);
    return aggregate;
  }

  /// Where bin threadIdx.x begins in the sorted tile, which is kept, too. Publishes how many words it has.
  __device__ __forceinline__ std::uint32_t begin_of_bin(std::uint32_t tile, const tile_of_run& at,
                                                        std::uint32_t counted, std::uint32_t aggregate) {
    const std::uint32_t bin = threadIdx.x;
    if (bin < radix_bins && tile > at.first_tile) publish(states(), tile, aggregate + 1);
    std::uint32_t begin[1] = {counted};
    scan_bins<radix_bins, threads>(begin, block_.shared.warp_sums);
    if (bin < radix_bins) block_.shared.bin_begin[bin] = begin[0];
    return begin[0];
  }

  /// Looks back for where bin threadIdx.x of the tile goes, and publishes where the bin continues.
  __device__ __forceinline__ void place_bins(std::uint32_t tile, const tile_of_run& at, std::uint32_t aggregate) {
    const std::uint32_t bin = threadIdx.x;
    if (bin >= radix_bins) return;
    const std::uint32_t prefix = tile == at.first_tile
                                     ? __ldcg(block_.arguments.tables.code_begin + at.part * radix_bins + bin)
                                     : look_back(states(), tile);
    publish(states(), tile, inclusive_prefix_flag + prefix + aggregate);
    block_.shared.bin_offset[bin] = prefix - block_.shared.bin_begin[bin];
  }

  __device__ __forceinline__ tile_state* states() const { return block_.arguments.tables.tile_states[0]; }

  const Block& block_;
  const part_tables& tables_;
  drawn_tiles<Block> tiles_;
};

}  // namespace sheaf::cuda
