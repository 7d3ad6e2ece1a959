#pragma once

#include <algorithm>

#include "cuda/block/scan.cuh"
#include "cuda/sort/words/payload.cuh"
#include "cuda/sort/words/rows.cuh"

// What the onesweep kernel is given, how its tiles are cut, and what its blocks keep in shared memory.
namespace sheaf::cuda {

/// Digits of a key of so many limbs.
template <int Limbs>
constexpr int most_onesweep_passes = 4 * Limbs;

/// Tiles of short lists are short, so that more multiprocessors have one.
enum class onesweep_tiles { of_short_list, of_long_list };

/// How a pass is cut into tiles. A thread takes an odd number of words: where all bins are equally full, the places
/// where they begin in the tile then fall on different banks of shared memory.
template <int Limbs, payload_mode Payload, onesweep_tiles Tiles>
struct onesweep_tuning {
  static constexpr bool has_values = carries_values(Payload);
  static constexpr int threads = Payload == payload_mode::values_16 ? 512 : 384;
  static constexpr int short_words = Payload == payload_mode::values_16 || Limbs == 2 ? 5 : 7;
  static constexpr int long_words = Payload == payload_mode::values_16 ? 9
                                    : Limbs == 2                       ? (has_values ? 11 : 19)
                                    : has_values                       ? 15
                                                                       : 23;
  static constexpr int words_per_thread = Tiles == onesweep_tiles::of_short_list ? short_words : long_words;
  static constexpr bool holds_more = has_values || Limbs == 2;  ///< a thread holds more than words of one limb
  static constexpr int blocks_per_multiprocessor = Payload == payload_mode::values_16       ? 2
                                                   : Tiles == onesweep_tiles::of_short_list ? (holds_more ? 2 : 3)
                                                   : Limbs == 2 && !has_values              ? 2
                                                                                            : 3;
  static constexpr std::uint32_t tile_words = threads * words_per_thread;
  /// Values that a thread loads at once: more would not fit its registers, fewer wait for memory more often.
  static constexpr int values_at_once = Payload == payload_mode::values_4   ? 6
                                        : Payload == payload_mode::values_8 ? 4
                                                                            : 5;
};

template <int Limbs, payload_mode Payload>
constexpr bool has_short_tiles(std::uint64_t count) {
  constexpr std::uint64_t most_short_tiles = 160;  // somewhat more than an H200 has multiprocessors
  return count <= most_short_tiles * onesweep_tuning<Limbs, Payload, onesweep_tiles::of_short_list>::tile_words;
}

/// Words of a tile of a list.
template <int Limbs, payload_mode Payload>
constexpr std::uint32_t onesweep_tile_words(std::uint64_t count) {
  return has_short_tiles<Limbs, Payload>(count)
             ? onesweep_tuning<Limbs, Payload, onesweep_tiles::of_short_list>::tile_words
             : onesweep_tuning<Limbs, Payload, onesweep_tiles::of_long_list>::tile_words;
}

/// Tables in device memory through which blocks cooperate.
struct onesweep_tables {
  std::uint32_t* histogram;       ///< words of each bin, radix_bins for each digit
  std::uint32_t* tile_counters;   ///< number of the next tile to be drawn, for each pass
  std::uint32_t* tile_states[2];  ///< radix_bins states for each tile; passes take the two arrays in turn
};

/// Passes write to buffers[1] and [2], and at last to the target.
struct onesweep_arguments : word_sort {
  const std::uint32_t* only_if;  ///< the kernel ends at once where this points to 0; null: it always sorts
  onesweep_tables tables;
};

/// Loads words of a buffer, or the keys of rows, which it encodes.
template <int Limbs, bool FromRows>
struct onesweep_input {
  const std::byte* data;  ///< the first of them
  const word_source& rows;
  const key_transform& transform;

  __device__ __forceinline__ sort_word<Limbs> load(std::uint32_t i) const {
    using word = sort_word<Limbs>;
    const std::byte* const from = data + i * (FromRows ? rows.stride : sizeof(word));
    word w = load_word_streaming(reinterpret_cast<const word*>(from));
    if constexpr (FromRows) encode_key(w, transform);
    return w;
  }
};

/// Calls body(input) with what loads a buffer's words from word `first` on. A branch here, and not at each word, lets
/// all loads of a thread be under way at once.
template <int Limbs, bool FromRows, class Body>
__device__ __forceinline__ void read_words(const onesweep_arguments& a, std::uint32_t buffer, std::uint32_t first,
                                           Body body) {
  if (!FromRows || buffer != 0) {
    const auto* const words = static_cast<const sort_word<Limbs>*>(a.buffers[buffer]);
    return body(
        onesweep_input<Limbs, false>{reinterpret_cast<const std::byte*>(words + first), a.rows, a.target.transform});
  }
  if constexpr (FromRows) {
    body(onesweep_input<Limbs, true>{a.rows.data + first * a.rows.stride, a.rows, a.target.transform});
  }
}

struct onesweep_shared {
  std::uint32_t bin_begin[radix_bins];  ///< index in the sorted tile of the bin's first word
  std::uint32_t bin_shift[radix_bins];  ///< what to add to an index in the sorted tile to get the index in the list
  alignas(16) std::uint32_t warp_sums[32];
  alignas(16) std::uint32_t tile;  ///< number of the tile that the block has drawn
};

/// How a digit is read: a key of one limb begins and ends at any bit, a longer one at whole bytes of the word.
template <int Limbs>
using onesweep_field = std::conditional_t<Limbs == 1, digit_field, byte_field>;

/// Dynamic shared memory behind onesweep_shared: the block's histogram, then for each tile the counters of its warps,
/// and the sorted tile.
template <int Limbs, payload_mode Payload, onesweep_tiles Tiles>
constexpr std::size_t onesweep_shared_bytes() {
  using tuning = onesweep_tuning<Limbs, Payload, Tiles>;
  const std::size_t widest = std::max<std::size_t>(sizeof(sort_word<Limbs>), value_bytes_of(Payload));
  const std::size_t counters = std::max<std::size_t>(most_onesweep_passes<Limbs>, tuning::threads / 32) * radix_bins;
  return sizeof(onesweep_shared) + std::max(tuning::tile_words * widest, counters * sizeof(std::uint32_t));
}

/// What the phases of the kernel share: a block's view of the sort.
template <int Limbs, payload_mode Payload, onesweep_tiles Tiles, bool FromRows>
struct onesweep_block {
  using tuning = onesweep_tuning<Limbs, Payload, Tiles>;
  using word = sort_word<Limbs>;

  const onesweep_arguments& arguments;
  onesweep_shared& shared;
  unsigned char* staged;  ///< shared memory for histograms, warp counters and the sorted tile
  std::uint32_t tiles;    ///< tiles of the list

  __device__ onesweep_block(const onesweep_arguments& a, onesweep_shared& s, unsigned char* tile)
      : arguments(a), shared(s), staged(tile), tiles((a.count - 1) / tuning::tile_words + 1) {}

  /// The field of a digit of the key.
  __device__ onesweep_field<Limbs> field_of(std::uint32_t digit) const {
    const std::uint32_t low = arguments.key_low + digit * radix_bits;
    if constexpr (Limbs == 1) {
      return digit_at(low, min(arguments.key_high - low, radix_bits));
    } else {
      return byte_at(low / radix_bits);
    }
  }
};

}  // namespace sheaf::cuda
