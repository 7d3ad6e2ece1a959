#pragma once

#include <cooperative_groups.h>

#include "cuda/block/rank.cuh"
#include "cuda/block/scan.cuh"
#include "cuda/sort/msd/tables.cuh"

// A sort from the lowest digit up in one kernel: the digits are counted first, all of them at once, and each pass
// reads and writes the words once, as a tile learns where its bins begin from the tiles before it while these are on
// their way (Adinets and Merrill, Onesweep, 2022). It takes as long whatever the keys are, and leaves out the digits
// that all keys share.
namespace sheaf::cuda {

constexpr int most_sweeps = 4;  ///< digits of a word's key at most

/// How a pass is cut. An odd number of words a thread: where all bins are as full, the places where they begin in the
/// tile are of different banks.
template <payload_mode Payload>
struct sweep_shape {
  static constexpr bool has_values = value_bytes_of(Payload) > 0;
  static constexpr int threads = has_values ? 512 : 384;
  static constexpr int items = Payload == payload_mode::values_16 ? 9 : has_values ? 19 : 21;
  static constexpr int blocks = has_values ? 2 : 3;  ///< of a multiprocessor
  static constexpr std::uint32_t tile = threads * items;
};

/// What blocks tell each other, besides words.
struct sweep_tables {
  std::uint32_t* digits;     ///< radix_bins counts for each digit
  std::uint32_t* tickets;    ///< of each pass
  std::uint32_t* states[2];  ///< radix_bins for each tile, of this pass and the next in turn
};

struct sweep_arguments {
  msd_pass_arguments of;
  word_target target;
  void* values_to;
  sweep_tables sweep;
  const std::uint32_t* only_if;  ///< not 0: the kernel sorts; null: it does in any case
};

/// A tile's state for a bin: nothing yet, how many words it has, or where those behind it begin.
constexpr std::uint32_t state_counted = 1U << 30;
constexpr std::uint32_t state_placed = 1U << 31;
constexpr std::uint32_t state_number = state_counted - 1;

struct sweep_shared {
  std::uint32_t start[radix_bins];
  std::uint32_t place[radix_bins];
  alignas(16) std::uint32_t warp_sums[32];
  alignas(16) std::uint32_t ticket;
};

/// Counters of all digits, for as many lanes that are neighbours: these meet less.
constexpr int digit_copies = 4;
constexpr std::uint32_t copy_numbers = most_sweeps * (radix_bins + 8);

template <payload_mode Payload, bool FromRows>
class word_sweep {
 public:
  using word = sort_word<1>;
  using shape = sweep_shape<Payload>;
  static constexpr int threads = shape::threads;
  static constexpr int items = shape::items;
  static constexpr std::uint32_t tile_words = shape::tile;
  static constexpr int warps = threads / 32;
  static constexpr bool has_values = shape::has_values;

  __device__ word_sweep(const sweep_arguments& a, sweep_shared& s, unsigned char* staged)
      : a_(a), s_(s), staged_(staged), tiles_((a.of.count - 1) / tile_words + 1) {}

  __device__ void run() {
    const auto grid = cooperative_groups::this_grid();
    const std::uint32_t digits = (a_.of.key_high - a_.of.key_low - 1) / radix_bits + 1;
    clear();
    grid.sync();
    count_digits(digits);
    grid.sync();
    std::uint32_t differing = differing_digits(digits);
    std::uint32_t where = 0;
    for (std::uint32_t pass = 0; differing != 0; ++pass) {
      const std::uint32_t digit = __ffs(static_cast<int>(differing)) - 1;
      const std::uint32_t left = __popc(differing);
      differing &= differing - 1;
      // The pass before the last one writes to the first buffer: the other one may be where words go in the end.
      const std::uint32_t to = left == 1 ? 0 : left % 2 == 0 ? 1 : 2;
      move_tiles({pass, digit, where, to});
      where = to;
      if (left > 1) grid.sync();
    }
  }

 private:
  struct pass_of {
    std::uint32_t number;
    std::uint32_t digit;
    std::uint32_t where;  ///< the buffer that is read
    std::uint32_t to;     ///< and the one that is written; 0: the target
  };

  __device__ digit_field field_of(std::uint32_t digit) const {
    const std::uint32_t low = a_.of.key_low + digit * radix_bits;
    return digit_at(low, min(a_.of.key_high - low, radix_bits));
  }

  __device__ void clear() const {
    const std::uint32_t first = blockIdx.x * threads + threadIdx.x;
    const std::uint32_t step = gridDim.x * threads;
    for (std::uint32_t i = first; i < tiles_ * radix_bins; i += step) a_.sweep.states[0][i] = 0;
    for (std::uint32_t i = first; i < most_sweeps * radix_bins; i += step) a_.sweep.digits[i] = 0;
    if (first < most_sweeps) a_.sweep.tickets[first] = 0;
  }

  __device__ void count_digits(std::uint32_t digits) {
    auto* const counters = reinterpret_cast<std::uint32_t*>(staged_);
    for (std::uint32_t i = threadIdx.x; i < digit_copies * copy_numbers; i += threads) counters[i] = 0;
    __syncthreads();
    std::uint32_t* const mine = counters + threadIdx.x % digit_copies * copy_numbers;
    constexpr std::uint32_t at_once = 8;
    constexpr std::uint32_t share = at_once * threads;
    const word_reader<1, FromRows> from(a_.of, 0, 0);
    const std::uint32_t count = a_.of.count;
    for (std::uint32_t begin = blockIdx.x * share; begin < count; begin += gridDim.x * share) {
      word words[at_once];
      const std::uint32_t first = begin + threadIdx.x;
#pragma unroll
      for (std::uint32_t k = 0; k < at_once; ++k) words[k] = from.load_key(min(first + k * threads, count - 1));
#pragma unroll
      for (std::uint32_t d = 0; d < most_sweeps; ++d) {
        if (d >= digits) continue;
        const digit_field field = field_of(d);
        std::uint32_t* const of_digit = mine + d * (radix_bins + 8);
        const auto bin = [&](std::uint32_t k) {
          return first + k * threads < count ? digit_of(words[k], field) : no_bin;
        };
        if (is_crowded(bin)) {
#pragma unroll
          for (std::uint32_t k = 0; k < at_once; ++k) add_with_middle_lane<radix_bins, false>(bin(k), of_digit);
        } else {
#pragma unroll
          for (std::uint32_t k = 0; k < at_once; ++k) {
            if (bin(k) < radix_bins) atomicAdd(&of_digit[bin(k)], 1U);
          }
        }
      }
    }
    __syncthreads();
    for (std::uint32_t i = threadIdx.x; i < digits * radix_bins; i += threads) {
      std::uint32_t counted = 0;
#pragma unroll
      for (int c = 0; c < digit_copies; ++c) {
        counted += counters[c * copy_numbers + i / radix_bins * (radix_bins + 8) + i % radix_bins];
      }
      if (counted > 0) atomicAdd(a_.sweep.digits + i, counted);
    }
    __syncthreads();
  }

  // A bit for each digit in which two keys differ, or one for the lowest digit: somebody must move the words.
  __device__ std::uint32_t differing_digits(std::uint32_t digits) const {
    std::uint32_t differing = 0;
    for (std::uint32_t d = 0; d < digits; ++d) {
      const bool is_all =
          threadIdx.x < radix_bins && __ldcg(a_.sweep.digits + d * radix_bins + threadIdx.x) == a_.of.count;
      if (__syncthreads_or(is_all) == 0) differing |= 1U << d;
    }
    return differing == 0 ? 1 : differing;
  }

  // Tiles are drawn, so that those before a tile are on their way.
  __device__ __forceinline__ void move_tiles(const pass_of& pass) {
    for (;;) {
      if (threadIdx.x == 0) s_.ticket = atomicAdd(a_.sweep.tickets + pass.number, 1U);
      __syncthreads();
      const std::uint32_t tile = s_.ticket;
      if (tile >= tiles_) return;
      if (a_.of.count - tile * tile_words >= tile_words) {
        move<true>(tile, pass);
      } else {
        move<false>(tile, pass);
      }
    }
  }

  template <bool Full>
  __device__ __forceinline__ void move(std::uint32_t tile, const pass_of& pass) {
    word* const staged = reinterpret_cast<word*>(staged_);
    std::uint32_t* const warp_places = reinterpret_cast<std::uint32_t*>(staged_);
    std::uint32_t* const own_places = warp_places + threadIdx.x / 32 * radix_bins;
    const std::uint32_t begin = tile * tile_words;
    const std::uint32_t left = a_.of.count - begin;
    const std::uint32_t first = threadIdx.x / 32 * (32 * items) + threadIdx.x % 32;
    const digit_field field = field_of(pass.digit);
    word words[items];
    load<Full>(words, begin + first, left - min(first, left), pass.where);
    for (int i = threadIdx.x; i < warps * radix_bins; i += threads) warp_places[i] = 0;
    __syncthreads();
    // What is not there has the last digit, and comes last of it.
    const auto bin = [&](int k) { return digit_of(words[k], field); };
#pragma unroll
    for (int k = 0; k < items; ++k) atomicAdd(&own_places[bin(k)], 1U);
    __syncthreads();
    const std::uint32_t count = begin_bins(tile, pass, warp_places);
    __syncthreads();
    packed_numbers<items> rank;
    rank_by_votes<items, radix_bins>(bin, own_places, rank);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < items; ++k) staged[rank.get(k)] = words[k];
    place_bins(tile, pass, count);
    __syncthreads();
    packed_bytes<items> bins;  // of the places that the thread writes, for the values
    const auto write = [&](auto store) {
#pragma unroll
      for (int k = 0; k < items; ++k) {
        const std::uint32_t s = k * threads + threadIdx.x;
        if (!Full && s >= left) continue;
        const word w = staged[s];
        const std::uint32_t b = digit_of(w, field);
        store(s_.place[b] + s, w);
        if constexpr (has_values) bins.set(k, b);
      }
    };
    word* const words_to =
        static_cast<word*>(pass.to == 0 ? a_.target.words : const_cast<void*>(a_.of.buffers[pass.to]));
    if (words_to != nullptr) {
      write([&](std::uint32_t i, const word& w) { words_to[i] = w; });
    } else {
      write([&](std::uint32_t i, const word& w) { store_word<1>(a_.target, i, w); });
    }
    __syncthreads();
    if constexpr (has_values) move_values<Full>(begin, left, pass, rank, bins);
  }

  template <bool Full>
  __device__ __forceinline__ void load(word (&words)[items], std::uint32_t first, std::uint32_t room,
                                       std::uint32_t where) const {
    const auto load_all = [&](const auto& from) {
#pragma unroll
      for (int k = 0; k < items; ++k) words[k] = Full || k * 32 < room ? from.load(k * 32) : word{~0U};
    };
    if (FromRows && where == 0) {
      load_all(word_reader<1, true>(a_.of, 0, first));
    } else {
      load_all(word_reader<1, false>(a_.of, where, first));
    }
  }

  // Turns the warps' counts of bins into where their words go in the tile; tells other blocks how many words the tile
  // has of each bin, which comes back to the bin's thread.
  __device__ __forceinline__ std::uint32_t begin_bins(std::uint32_t tile, const pass_of& pass,
                                                      std::uint32_t* warp_places) {
    const std::uint32_t bin = threadIdx.x;
    std::uint32_t count = 0;
    std::uint32_t start[1] = {};
    if (tile == 0) {  // where bins begin in the list
      if (bin < radix_bins) start[0] = __ldcg(a_.sweep.digits + pass.digit * radix_bins + bin);
      scan_bins<radix_bins, threads>(start, s_.warp_sums);
      if (bin < radix_bins) s_.place[bin] = start[0];
      __syncthreads();
    }
    if (bin < radix_bins) {
#pragma unroll
      for (int w = 0; w < warps; ++w) {
        const std::uint32_t here = warp_places[w * radix_bins + bin];
        warp_places[w * radix_bins + bin] = count;
        count += here;
      }
      if (tile > 0) tell(tile, pass, count | state_counted);
      a_.sweep.states[1 - pass.number % 2][tile * radix_bins + bin] = 0;  // for the next pass
    }
    start[0] = count;
    scan_bins<radix_bins, threads>(start, s_.warp_sums);
    if (bin < radix_bins) {
      s_.start[bin] = start[0];
#pragma unroll
      for (int w = 0; w < warps; ++w) warp_places[w * radix_bins + bin] += start[0];
    }
    return count;
  }

  // Where the tile's runs begin in the list, less where they do in the tile: behind those of the tiles before, one of
  // which knows where its own are.
  __device__ __forceinline__ void place_bins(std::uint32_t tile, const pass_of& pass, std::uint32_t count) {
    const std::uint32_t bin = threadIdx.x;
    if (bin >= radix_bins) return;
    std::uint32_t before = 0;
    if (tile == 0) {
      before = s_.place[bin];
    } else {
      const volatile std::uint32_t* state = a_.sweep.states[pass.number % 2] + (tile - 1) * radix_bins + bin;
      for (;;) {
        const std::uint32_t seen = *state;
        if (seen == 0) continue;
        before += seen & state_number;
        if ((seen & state_placed) != 0) break;
        state -= radix_bins;
      }
    }
    tell(tile, pass, (before + count) | state_placed);
    s_.place[bin] = before - s_.start[bin];
  }

  // Of the thread's bin. A state is all there is to know: nothing else need be seen before it.
  __device__ __forceinline__ void tell(std::uint32_t tile, const pass_of& pass, std::uint32_t state) const {
    volatile std::uint32_t* const states = a_.sweep.states[pass.number % 2];
    states[tile * radix_bins + threadIdx.x] = state;
  }

  // Values take the places of their words, in two rounds that registers hold.
  template <bool Full>
  __device__ __forceinline__ void move_values(std::uint32_t begin, std::uint32_t left, const pass_of& pass,
                                              const packed_numbers<items>& rank, const packed_bytes<items>& bins) {
    using value = sort_value<Payload>;
    constexpr int at_once = (items + 1) / 2;
    value* const staged = reinterpret_cast<value*>(staged_);
    const std::uint32_t first = threadIdx.x / 32 * (32 * items) + threadIdx.x % 32;
    const value* const from = static_cast<const value*>(a_.of.values[pass.where]);
#pragma unroll
    for (int round = 0; round < items; round += at_once) {
      value values[at_once];
#pragma unroll
      for (int k = round; k < min(round + at_once, items); ++k) {
        const std::uint32_t i = first + k * 32;
        if (Full || i < left) values[k - round] = value_at(from, begin + i);
      }
#pragma unroll
      for (int k = round; k < min(round + at_once, items); ++k) {
        if (Full || first + k * 32 < left) staged[rank.get(k)] = values[k - round];
      }
    }
    __syncthreads();
    value* const values_to =
        static_cast<value*>(pass.to == 0 ? a_.values_to : const_cast<void*>(a_.of.values[pass.to]));
#pragma unroll
    for (int k = 0; k < items; ++k) {
      const std::uint32_t s = k * threads + threadIdx.x;
      if (Full || s < left) values_to[s_.place[bins.get(k)] + s] = staged[s];
    }
    __syncthreads();
  }

  const sweep_arguments& a_;
  sweep_shared& s_;
  unsigned char* staged_;
  std::uint32_t tiles_;
};

template <payload_mode Payload, bool FromRows>
__global__ void __launch_bounds__(sweep_shape<Payload>::threads, sweep_shape<Payload>::blocks)
    sweep_words(const __grid_constant__ sweep_arguments a) {
  extern __shared__ __align__(16) unsigned char dynamic[];
  if (a.only_if != nullptr && __ldcg(a.only_if) == 0) return;
  word_sweep<Payload, FromRows>(a, *reinterpret_cast<sweep_shared*>(dynamic), dynamic + sizeof(sweep_shared)).run();
}

/// What the kernel needs of shared memory: counters of digits, or of the warps of a tile, or the tile.
template <payload_mode Payload>
constexpr std::size_t sweep_shared_bytes() {
  using shape = sweep_shape<Payload>;
  const std::size_t widest = std::max<std::size_t>(sizeof(sort_word<1>), value_bytes_of(Payload));
  const std::size_t counters = std::max<std::size_t>(digit_copies * copy_numbers, shape::threads / 32 * radix_bins);
  return sizeof(sweep_shared) + std::max(shape::tile * widest, counters * sizeof(std::uint32_t));
}

}  // namespace sheaf::cuda
