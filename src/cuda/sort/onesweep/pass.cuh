#pragma once

#include "cuda/block/tile.cuh"
#include "cuda/sort/onesweep/arguments.cuh"
#include "cuda/sort/onesweep/look_back.cuh"

// One pass of onesweep: every tile is ranked by a digit, sorted in shared memory, and written as whole runs to the
// places that look-back yields. Words are read once and written once.
namespace sheaf::cuda {

/// One pass by one digit.
struct digit_pass {
  std::uint32_t number;  ///< number of the pass, from 0 on
  std::uint32_t digit;   ///< number of the digit, from the lowest on
  std::uint32_t source;  ///< index of the buffer that is read
  std::uint32_t target;  ///< index of the buffer that is written; 0: the target of the sort
};

template <int Limbs, payload_mode Payload, onesweep_tiles Tiles, bool FromRows>
class onesweep_pass {
 public:
  using word = sort_word<Limbs>;
  using tuning = onesweep_tuning<Limbs, Payload, Tiles>;
  static constexpr int threads = tuning::threads;
  static constexpr int items = tuning::words_per_thread;
  static constexpr std::uint32_t tile_words = tuning::tile_words;
  static constexpr int warps = threads / 32;
  static constexpr bool has_values = tuning::has_values;

  __device__ __forceinline__ onesweep_pass(const onesweep_block<Limbs, Payload, Tiles, FromRows>& block,
                                           const digit_pass& pass)
      : block_(block), pass_(pass) {}

  /// Moves the tile that has the block's number, then tiles that are drawn from a counter. All blocks are resident, and
  /// they draw tiles in order and move them at once. So the tiles before one are being moved or done, and look-back
  /// ends.
  __device__ __forceinline__ void move_tiles() {
    for (std::uint32_t tile = blockIdx.x; tile < block_.tiles; tile = next_tile()) {
      if (block_.arguments.count - tile * tile_words >= tile_words) {
        move_tile<true>(tile);
      } else {
        move_tile<false>(tile);
      }
    }
  }

 private:
  // Draws the block's next tile, where there are more tiles than blocks. That takes a microsecond, which passes while
  // the block stores. Drawn earlier, a tile would wait while its block looks back for the tile before, and blocks that
  // draw later ones would wait for it.
  __device__ __forceinline__ void draw_tile() {
    if (threadIdx.x == 0 && block_.tiles > gridDim.x)
      drawn_ = gridDim.x + atomicAdd(block_.arguments.tables.tile_counters + pass_.number, 1U);
  }
  // The tile that was drawn, or the number of tiles. No thread goes on before all have stored.
  __device__ __forceinline__ std::uint32_t next_tile() const {
    if (block_.tiles <= gridDim.x) return block_.tiles;
    if (threadIdx.x == 0) block_.shared.tile = drawn_;
    __syncthreads();
    return block_.shared.tile;
  }

  template <bool Full>
  __device__ __forceinline__ void move_tile(std::uint32_t tile) {
    word* const staged = reinterpret_cast<word*>(block_.staged);
    std::uint32_t* const warp_bins = reinterpret_cast<std::uint32_t*>(block_.staged);
    std::uint32_t* const own_bins = warp_bins + threadIdx.x / 32 * radix_bins;
    const std::uint32_t begin = tile * tile_words;
    const std::uint32_t size = block_.arguments.count - begin;
    const std::uint32_t first = first_item_of_thread<items>();
    const onesweep_field<Limbs> field = block_.field_of(pass_.digit);
    word words[items];
    load<Full>(words, begin + first, size - min(first, size));
    for (int i = threadIdx.x; i < warps * radix_bins; i += threads) warp_bins[i] = 0;
    __syncthreads();
    // Words past the end of the list are all ones, so they come last in the last bin.
#pragma unroll
    for (int k = 0; k < items; ++k) atomicAdd(&own_bins[digit_of(words[k], field)], 1U);
    __syncthreads();
    const std::uint32_t aggregate = scan_bins_of_tile(tile, warp_bins);
    __syncthreads();
    packed_numbers<items> rank;
    const auto field_again = opaque(field);
    rank_by_match<items, radix_bins>([&](int k) { return digit_of(words[k], field_again); }, own_bins, rank);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < items; ++k) staged[rank.get(k)] = words[k];
    place_bins(tile, aggregate);
    __syncthreads();
    draw_tile();
    packed_bytes<items> bins;
    const auto store_all = [&](auto store) {
      write_runs<Full, threads>(
          staged, size, [&](const word& w) { return digit_of(w, field); }, block_.shared.bin_shift, bins, store);
    };
    const word_target& target = block_.arguments.target;
    word* const words_to =
        static_cast<word*>(pass_.target == 0 ? target.words : block_.arguments.buffers[pass_.target]);
    if (words_to != nullptr) {
      store_all([&](std::uint32_t i, const word& w) { words_to[i] = w; });
    } else if (target.data != nullptr) {
      store_all([&](std::uint32_t i, word w) {
        decode_key(w, target.transform);
        *reinterpret_cast<word*>(target.data + i * target.stride) = w;
      });
    } else {
      store_all([](std::uint32_t, const word&) {});
    }
    if constexpr (has_values) {
      __syncthreads();
      using value = sort_value<Payload>;
      const auto* const values = static_cast<const value*>(block_.arguments.values[pass_.source]);
      void* const to = pass_.target == 0 ? block_.arguments.values_to : block_.arguments.values[pass_.target];
      move_values_of_tile<Full, threads, tuning::values_at_once>(
          [&](std::uint32_t i) { return value_at(values, begin + i); }, reinterpret_cast<value*>(staged), size, rank,
          bins, block_.shared.bin_shift, static_cast<value*>(to));
    }
  }

  // Words `first`, first + 32, ... of the pass's source, as far as `available` words are there.
  template <bool Full>
  __device__ __forceinline__ void load(word (&words)[items], std::uint32_t first, std::uint32_t available) const {
    read_words<Limbs, FromRows>(block_.arguments, pass_.source, first, [&](const auto& source) {
#pragma unroll
      for (int k = 0; k < items; ++k)
        words[k] = Full || k * 32 < available ? source.load(k * 32) : word_of_ones<Limbs>();
    });
  }

  // Publishes and returns the tile's count of bin threadIdx.x, its aggregate. Replaces the counts of the warps by the
  // places of their words in the sorted tile.
  __device__ __forceinline__ std::uint32_t scan_bins_of_tile(std::uint32_t tile, std::uint32_t* warp_bins) {
    const std::uint32_t bin = threadIdx.x;
    std::uint32_t aggregate = 0;
    std::uint32_t begin[1] = {};
    if (tile == 0) {  // the first tile learns from the histogram where bins begin in the list
      if (bin < radix_bins) begin[0] = __ldcg(block_.arguments.tables.histogram + pass_.digit * radix_bins + bin);
      scan_bins<radix_bins, threads>(begin, block_.shared.warp_sums);
      if (bin < radix_bins) block_.shared.bin_shift[bin] = begin[0];
      __syncthreads();
    }
    if (bin < radix_bins) {
#pragma unroll
      for (int w = 0; w < warps; ++w) {
        const std::uint32_t warp_count = warp_bins[w * radix_bins + bin];
        warp_bins[w * radix_bins + bin] = aggregate;
        aggregate += warp_count;
      }
      if (tile > 0) publish(tile_states(), tile, aggregate | aggregate_flag);
      block_.arguments.tables.tile_states[1 - pass_.number % 2][tile * radix_bins + bin] = 0;  // for the next pass
    }
    begin[0] = aggregate;
    scan_bins<radix_bins, threads>(begin, block_.shared.warp_sums);
    if (bin < radix_bins) {
      block_.shared.bin_begin[bin] = begin[0];
#pragma unroll
      for (int w = 0; w < warps; ++w) warp_bins[w * radix_bins + bin] += begin[0];
    }
    return aggregate;
  }

  // Looks back for the place in the list of bin threadIdx.x of the tile, and publishes where the bin continues.
  __device__ __forceinline__ void place_bins(std::uint32_t tile, std::uint32_t aggregate) {
    const std::uint32_t bin = threadIdx.x;
    if (bin >= radix_bins) return;
    const bool all_at_once = block_.tiles <= gridDim.x;
    const std::uint32_t prefix = tile == 0     ? block_.shared.bin_shift[bin]
                                 : all_at_once ? look_back_far(tile_states(), tile)
                                               : look_back(tile_states(), tile);
    publish(tile_states(), tile, (prefix + aggregate) | inclusive_prefix_flag);
    block_.shared.bin_shift[bin] = prefix - block_.shared.bin_begin[bin];
  }

  __device__ __forceinline__ tile_state* tile_states() const {
    return block_.arguments.tables.tile_states[pass_.number % 2];
  }

  const onesweep_block<Limbs, Payload, Tiles, FromRows>& block_;
  const digit_pass& pass_;
  std::uint32_t drawn_ = 0;  ///< of the first thread
};

}  // namespace sheaf::cuda
