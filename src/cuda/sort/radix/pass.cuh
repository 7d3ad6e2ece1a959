#pragma once

#include "cuda/block/tile.cuh"
#include "cuda/sort/radix/drawn_tiles.cuh"
#include "cuda/sort/radix/histogram.cuh"
#include "cuda/sort/radix/look_back.cuh"

// One pass: every tile is ranked by a digit, sorted in shared memory, and written as whole runs to the places that
// look-back yields. Words are read once and written once.
namespace sheaf::cuda {

/// A pass over the list by one of the Digits, that of block.shared.pass.digit. Each phase builds the digit's reader
/// anew, so that it holds no registers in between.
template <class Block, class Digits>
class radix_pass {
 public:
  using digit_type = typename Digits::digit;
  using word = typename Block::word;
  using value = sort_value<Block::values>;
  using tuning = typename Block::tuning;
  static constexpr int threads = tuning::threads;
  static constexpr int items = tuning::words_per_thread;
  static constexpr std::uint32_t tile_words = tuning::tile_words;
  static constexpr int warps = threads / 32;

  __device__ __forceinline__ radix_pass(const Block& block, const Digits& digits)
      : block_(block), digits_(digits), tiles_(block, block.tiles()) {}

  __device__ __forceinline__ void move_tiles() {
    tiles_.for_each([&](std::uint32_t tile) {
      if (block_.count - tile * tile_words >= tile_words) {
        move_tile<true>(tile);
      } else {
        move_tile<false>(tile);
      }
    });
  }

 private:
  template <bool Full>
  __device__ __forceinline__ void move_tile(std::uint32_t tile) {
    word* const staged = reinterpret_cast<word*>(block_.staged);
    std::uint32_t* const warp_bins = reinterpret_cast<std::uint32_t*>(block_.staged);
    std::uint32_t* const own_bins = warp_bins + threadIdx.x / 32 * radix_bins;
    const std::uint32_t begin = tile * tile_words;
    const std::uint32_t size = block_.count - begin;
    const std::uint32_t first = first_item_of_thread<items>();
    word words[items];
    block_.read_words(block_.shared.pass.words, [&](auto load) {
#pragma unroll
      for (int k = 0; k < items; ++k) {
        words[k] = Full || first + k * 32 < size ? load(begin + first + k * 32) : word_of_ones<word::limbs>();
      }
    });
    for (int i = threadIdx.x; i < warps * radix_bins; i += threads) warp_bins[i] = 0;
    __syncthreads();
    // Words past the end of the list come last, in the last bin.
    const auto digit = digits_.at(block_.shared.pass.digit);
    packed_bytes<items> held;
#pragma unroll
    for (int k = 0; k < items; ++k) {
      const std::uint32_t bin = Full || first + k * 32 < size ? digit(words[k]) : radix_bins - 1;
      if constexpr (digit_type::is_expensive) held.set(k, bin);
      atomicAdd(&own_bins[bin], 1U);
    }
    __syncthreads();
    const std::uint32_t aggregate = scan_bins_of_tile(tile, warp_bins);
    __syncthreads();
    packed_numbers<items> rank;
    const auto again = digits_.at(block_.shared.pass.digit);
    rank_by_match<items, radix_bins>(
        [&](int k) {
          if constexpr (digit_type::is_expensive) return held.get(k);
          return Full || first + k * 32 < size ? again(words[k]) : radix_bins - 1;
        },
        own_bins, rank);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < items; ++k) staged[rank.get(k)] = words[k];
    // Expensive digits are staged beside their words.
    auto* const staged_bins =
        block_.staged + tile_words * std::max<std::size_t>(sizeof(word), value_bytes_of(Block::values));
    if constexpr (digit_type::is_expensive) {
#pragma unroll
      for (int k = 0; k < items; ++k) staged_bins[rank.get(k)] = static_cast<unsigned char>(held.get(k));
    }
    place_bins(tile, aggregate);
    __syncthreads();
    tiles_.draw(block_.shared.pass.index);
    packed_bytes<items> bins;
    const auto store_all = [&](auto store) {
      const auto digit_again = digits_.at(block_.shared.pass.digit);
      write_runs<Full, threads>(
          staged, size,
          [&](std::uint32_t i, const word& w) -> std::uint32_t {
            if constexpr (digit_type::is_expensive) return staged_bins[i];
            return digit_again(w);
          },
          block_.shared.bin_offset, bins, store);
    };
    word* const words_to = static_cast<word*>(block_.shared.pass.words_to);
    if (words_to != nullptr) {
      store_all([&](std::uint32_t i, const word& w) { words_to[i] = w; });
    } else {
      store_all([&](std::uint32_t i, const word& w) {
        write_word<word::limbs>(block_.arguments.target, block_.arguments.transform, i, w);
      });
    }
    if constexpr (tuning::has_values) {
      __syncthreads();
      const auto* const values = static_cast<const value*>(block_.shared.pass.values);
      move_values_of_tile<Full, threads, tuning::values_at_once>(
          [&](std::uint32_t i) { return value_at(values, begin + i); }, reinterpret_cast<value*>(staged), size, rank,
          bins, block_.shared.bin_offset, static_cast<value*>(block_.shared.pass.values_to));
    }
  }

  // Returns the tile's count of bin threadIdx.x, its aggregate, and publishes it, except for tile 0, which will publish
  // an inclusive prefix alone, so that every look-back ends there at the latest. Replaces the counts of the warps by
  // the places of their words in the sorted tile.
  __device__ __forceinline__ std::uint32_t scan_bins_of_tile(std::uint32_t tile, std::uint32_t* warp_bins) {
    const std::uint32_t bin = threadIdx.x;
    std::uint32_t begin[1] = {};
    if (tile == 0) {  // the first tile learns from the histogram where bins begin in the list
      if (bin < radix_bins)
        begin[0] = __ldcg(block_.arguments.tables.histogram + block_.shared.pass.digit * radix_bins + bin);
      scan_bins<radix_bins, threads>(begin, block_.shared.warp_sums);
      if (bin < radix_bins) block_.shared.bin_offset[bin] = begin[0];
      __syncthreads();
    }
    const std::uint32_t aggregate = scan_over_warps<warps, radix_bins>(warp_bins);
    if (bin < radix_bins) {
      if (tile > 0) publish(tile_states(), tile, aggregate + 1);
      // The state that the next pass will use.
      block_.arguments.tables.tile_states[1 - block_.shared.pass.index % 2][tile * radix_bins + bin] = 0;
    }
    begin[0] = aggregate;
    scan_bins<radix_bins, threads>(begin, block_.shared.warp_sums);
    if (bin < radix_bins) block_.shared.bin_begin[bin] = begin[0];
    add_to_warps<warps, radix_bins>(warp_bins, begin[0]);
    return aggregate;
  }

  // Looks back for the place in the list of bin threadIdx.x of the tile, and publishes where the bin continues.
  __device__ __forceinline__ void place_bins(std::uint32_t tile, std::uint32_t aggregate) {
    const std::uint32_t bin = threadIdx.x;
    if (bin >= radix_bins) return;
    const bool all_at_once = tiles_.count() <= gridDim.x;
    const std::uint32_t prefix = tile == 0     ? block_.shared.bin_offset[bin]
                                 : all_at_once ? look_back_far(tile_states(), tile)
                                               : look_back(tile_states(), tile);
    publish(tile_states(), tile, inclusive_prefix_flag + prefix + aggregate);
    block_.shared.bin_offset[bin] = prefix - block_.shared.bin_begin[bin];
  }

  __device__ __forceinline__ tile_state* tile_states() const {
    return block_.arguments.tables.tile_states[block_.shared.pass.index % 2];
  }

  const Block& block_;
  const Digits& digits_;
  drawn_tiles<Block> tiles_;
};

}  // namespace sheaf::cuda
