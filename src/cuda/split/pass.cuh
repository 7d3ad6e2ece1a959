#pragma once

#include "cuda/block/category.cuh"
#include "cuda/device/launch.cuh"
#include "cuda/device/words.cuh"
#include "cuda/split/histogram.cuh"

// One pass of a split: a block ranks a tile of records by bin, brings them into that order in shared memory, and writes
// each bin's run of the tile where it belongs in whole lines (Patidar and Narayanan 2009, Algorithm 2, with the local
// list in shared instead of global memory).
namespace sheaf::cuda {

/// What moves: words of the records, or the records' numbers, which are not read from anywhere.
enum class payload { records, numbers };

/// Where a record's bin comes from: the word that moves (and lies simply in it), or a key apart from it.
enum class bin_source { own_word, own_simple_word, key };

template <bin_source Source, class Word>
__device__ __forceinline__ std::uint32_t own_category(const Word& word, const word_field& field) {
  if constexpr (Source == bin_source::own_simple_word) {
    return simple_category_of(word, field);
  } else {
    return category_of(word, field);
  }
}

/// Where the runs of a tile's bins begin. Stable passes have a table: in tile t of chunk c the run of a bin begins at
/// bin_begin[bin] + chunk_begin[c][bin] + tile_begin[t][bin]. Others take places from bin_begin[bin], counting it up.
/// A single tile needs none of them.
struct run_begins {
  unsigned long long* bin_begin;
  const unsigned long long* chunk_begin;
  const std::uint32_t* tile_begin;
  std::uint64_t* offsets;  ///< a single tile writes them, if there are any
  std::uint32_t categories;
};

struct split_pass_arguments {
  const void* in;  ///< words side by side, as in out: with strides, addresses would take the registers that words need
  void* out;
  std::uint64_t count;
  word_field field;   ///< of the word that moves
  key_arguments key;  ///< for bin_source::key
  run_begins runs;
  void* scatter_index;  ///< numbers do not move then: each record's place is written to its entry
};

/// How a pass is cut. Tiles are long, so that runs are: 8192 records in 256 bins are runs of 32.
template <class Word, int Bins>
struct split_shape {
  static constexpr int threads = Bins > 256 ? 1024 : 512;
  static constexpr int items = sizeof(Word) == 16 ? 8 : 16;
  static constexpr std::uint32_t tile = threads * items;
};

/// What a thread knows of its records' bins. Past the end of the list a word that is its own key is all ones: in order
/// it comes last in the last bin, past all that is written; where there is no order it has no bin.
template <class Word, bin_source Source, int Items, int Bins, bool SkipsNone>
struct tile_bins {
  /// Bins are kept, unless the words take the registers: what spills costs more than reading bins off again.
  static constexpr bool is_narrow = Source != bin_source::key && Bins <= 256 && sizeof(Word) != 8;

  word_field field;
  int room;  ///< records of the tile from the thread's first one on
  Word word[Source != bin_source::key ? Items : 1];
  packed_bytes<is_narrow ? Items : 1> narrow;
  packed_numbers<Source == bin_source::key ? Items : 1> bins;

  __device__ __forceinline__ std::uint32_t bin(int k) const {
    if constexpr (Source == bin_source::key) {
      return bins.get(k);
    } else {
      std::uint32_t b;
      if constexpr (is_narrow) {
        b = narrow.get(k);
      } else {
        b = own_category<Source>(word[k], field);
      }
      return SkipsNone || k * 32 < room ? b : no_bin;
    }
  }
};

template <class Word>
__device__ __forceinline__ Word all_ones() {
  if constexpr (sizeof(Word) == 16) {
    return {~0U, ~0U, ~0U, ~0U};
  } else if constexpr (sizeof(Word) == 8) {
    return {~0U, ~0U};
  } else {
    return static_cast<Word>(~Word{0});
  }
}

/// Record s of the tile that begins at record `tile`, and at `from`.
template <class Word, payload Payload>
__device__ __forceinline__ Word payload_at(const Word* from, std::uint64_t tile, std::uint32_t s) {
  if constexpr (Payload == payload::records) {
    return __ldcs(from + s);
  } else {
    const std::uint64_t i = tile + s;
    if constexpr (sizeof(Word) == 8) {
      return Word{static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i >> 32)};
    } else {
      return static_cast<Word>(i);
    }
  }
}

/// Exclusive places of a warp's bins inside the block's tile, in bins[].lanes, from the counts of all warps; the count
/// of the thread's bin and where its run begins come back.
template <int Bins, int Warps>
__device__ __forceinline__ void place_warp_bins(warp_bin* bins, std::uint32_t (&count)[1], std::uint32_t (&start)[1],
                                                std::uint32_t* warp_sums) {
  std::uint32_t total = 0;
  if (threadIdx.x < Bins) {
#pragma unroll
    for (int w = 0; w < Warps; ++w) {
      warp_bin& of = bins[w * Bins + threadIdx.x];
      of.lanes = total;
      total += of.count;
    }
  }
  count[0] = start[0] = total;
  scan_bins<Bins, Warps * 32>(start, warp_sums);
  if (threadIdx.x < Bins) {
#pragma unroll
    for (int w = 0; w < Warps; ++w) bins[w * Bins + threadIdx.x].lanes += start[0];
  }
}

// Bytes of shared memory that the tile takes: records and, for keys apart, their bins; counters lie in the same place
// before.
template <class Word, bin_source Source, int Bins, bool Stable>
constexpr std::size_t split_shared_bytes() {
  using shape = split_shape<Word, Bins>;
  using narrow_bin = std::conditional_t<(Bins > 256), std::uint16_t, std::uint8_t>;
  const std::size_t staged = shape::tile * (sizeof(Word) + (Source == bin_source::key ? sizeof(narrow_bin) : 0));
  const std::size_t counters = Stable ? shape::threads / 32 * Bins * sizeof(warp_bin) : 0;
  return staged > counters ? staged : counters;
}

/// What a block keeps of the bins.
template <int Bins, bool Stable>
struct split_tables {
  std::uint64_t place[Bins];  ///< of a bin's run, less where it begins in the tile
  std::uint32_t histogram[Stable ? 1 : Bins];
  alignas(16) std::uint32_t warp_sums[32];
};

/// Where each bin's run begins in the tile and in the output, once a tile of `left` records is ranked: in tables.place,
/// and as what is to be added to ranks in warp_bins[].lanes (stable) or tables.histogram. Every thread of the block
/// calls it; a barrier is due before it and after.
template <int Bins, bool Stable, int Threads>
__device__ __forceinline__ void place_runs(const run_begins& runs, std::uint32_t left, warp_bin* warp_bins,
                                           split_tables<Bins, Stable>& tables) {
  constexpr int per_thread = bins_per_thread<Bins, Threads>;
  const int first_bin = threadIdx.x * per_thread;
  std::uint64_t run[per_thread] = {};
  std::uint32_t count[per_thread] = {};
  std::uint32_t start[per_thread] = {};
  if constexpr (Stable) {
    if (threadIdx.x < Bins && runs.bin_begin != nullptr) {
      run[0] = runs.bin_begin[threadIdx.x] + runs.chunk_begin[blockIdx.x / tiles_per_chunk * Bins + threadIdx.x] +
               runs.tile_begin[std::uint64_t{blockIdx.x} * Bins + threadIdx.x];
    }
    place_warp_bins<Bins, Threads / 32>(warp_bins, count, start, tables.warp_sums);
  } else {
    if (first_bin < Bins) {
#pragma unroll
      for (int j = 0; j < per_thread; ++j) {
        count[j] = start[j] = tables.histogram[first_bin + j];
        if (count[j] > 0 && runs.bin_begin != nullptr) {
          run[j] = atomicAdd(runs.bin_begin + first_bin + j, static_cast<unsigned long long>(count[j]));
        }
      }
    }
    scan_bins<Bins, Threads>(start, tables.warp_sums);
    if (first_bin < Bins) {
#pragma unroll
      for (int j = 0; j < per_thread; ++j) tables.histogram[first_bin + j] = start[j];
    }
  }
  if (first_bin < Bins) {
#pragma unroll
    for (int j = 0; j < per_thread; ++j) {
      const std::uint64_t records = runs.bin_begin != nullptr ? run[j] - start[j] : 0;
      tables.place[first_bin + j] = records;
      if (runs.offsets == nullptr || static_cast<std::uint32_t>(first_bin + j) >= runs.categories) continue;
      runs.offsets[first_bin + j] = start[j];
      if (static_cast<std::uint32_t>(first_bin + j) + 1 == runs.categories) {
        runs.offsets[runs.categories] = min(start[j] + count[j], left);
      }
    }
  }
}

// The kernel's work. Full tiles, that is all but the last, have a form of their own without a look at every record
// whether it is there: instructions are what passes of narrow words wait for.
template <class Word, payload Payload, bin_source Source, int Bins, bool Stable, bool Full>
__device__ __forceinline__ void split_one_tile(const split_pass_arguments& a, std::uint64_t tile, std::uint32_t left,
                                               split_tables<Bins, Stable>& tables) {
  using shape = split_shape<Word, Bins>;
  using narrow_bin = std::conditional_t<(Bins > 256), std::uint16_t, std::uint8_t>;
  constexpr int items = shape::items;
  constexpr int warps = shape::threads / 32;
  extern __shared__ __align__(16) unsigned char shared[];
  Word* const staged = reinterpret_cast<Word*>(shared);
  narrow_bin* const staged_bin = reinterpret_cast<narrow_bin*>(shared + shape::tile * sizeof(Word));
  warp_bin* const warp_bins = reinterpret_cast<warp_bin*>(shared);
  std::uint32_t* const histogram = tables.histogram;
  std::uint64_t* const place = tables.place;
  std::uint32_t* const warp_sums = tables.warp_sums;

  // A warp's records lie side by side, a lane's 32 apart: the order of steps and lanes is that of the records.
  const std::uint32_t first = threadIdx.x / 32 * (32 * items) + threadIdx.x % 32;

  const Word* const from = static_cast<const Word*>(a.in) + tile;
  constexpr bool skips_none = Full || (Stable && Source != bin_source::key);
  tile_bins<Word, Source, items, Bins, skips_none> mine;
  if constexpr (Source != bin_source::key) {
    mine.field = a.field;
    mine.room = static_cast<int>(left) - static_cast<int>(first);
#pragma unroll
    for (int k = 0; k < items; ++k) {
      mine.word[k] =
          Full || k * 32 < mine.room ? payload_at<Word, Payload>(from, tile, first + k * 32) : all_ones<Word>();
    }
    if constexpr (mine.is_narrow) {
#pragma unroll
      for (int k = 0; k < items; ++k) mine.narrow.set(k, own_category<Source>(mine.word[k], a.field));
    }
  } else {
    // A warp's share is a list of its own here.
    const std::uint32_t begin = threadIdx.x / 32 * (32 * items);
    std::uint32_t loaded[items];
#pragma unroll
    for (int k = 0; k < items; ++k) loaded[k] = no_bin;
    if (Full || begin < left) {
      const std::uint32_t share = Full ? 32U * items : min(left - begin, 32U * items);
      load_bins<items>(a.key, tile + begin, threadIdx.x % 32, 32, share, loaded);
    }
#pragma unroll
    for (int k = 0; k < items; ++k) mine.bins.set(k, loaded[k]);
  }
  if constexpr (Stable) {
    for (int i = threadIdx.x; i < warps * Bins; i += shape::threads) warp_bins[i] = {0, 0};
  } else {
    for (int i = threadIdx.x; i < Bins; i += shape::threads) histogram[i] = 0;
  }
  __syncthreads();

  const auto bin = [&](int k) { return mine.bin(k); };
  packed_numbers<items> rank;
  warp_bin* const own_bins = warp_bins + threadIdx.x / 32 * Bins;
  if constexpr (Stable) {
    rank_in_warp<items, Bins, skips_none>(bin, own_bins, rank);
  } else {
    rank_unordered<items, Bins, skips_none>(bin, histogram, rank);
  }
  __syncthreads();

  place_runs<Bins, Stable, shape::threads>(a.runs, left, warp_bins, tables);
  __syncthreads();

#pragma unroll
  for (int k = 0; k < items; ++k) {
    const std::uint32_t b = bin(k);
    if (skips_none || b < Bins) rank.add(k, Stable ? own_bins[b].lanes : histogram[b]);
  }
  if constexpr (Payload == payload::numbers) {
    if (a.scatter_index != nullptr) {
#pragma unroll
      for (int k = 0; k < items; ++k) {
        const std::uint32_t b = bin(k);
        if (!skips_none && b >= Bins) continue;
        const std::uint64_t to = place[b] + rank.get(k);
        if constexpr (sizeof(Word) == 8) {
          static_cast<std::uint64_t*>(a.scatter_index)[tile + first + k * 32] = to;
        } else {
          static_cast<std::uint32_t*>(a.scatter_index)[tile + first + k * 32] = static_cast<std::uint32_t>(to);
        }
      }
      return;
    }
  }
  __syncthreads();
  Word late[Source == bin_source::key ? items : 1];
  if constexpr (Source == bin_source::key) {
#pragma unroll
    for (int k = 0; k < items; ++k)
      late[k] = payload_at<Word, Payload>(from, tile, Full ? first + k * 32 : min(first + k * 32, left - 1));
  }
  std::uint32_t kept = 0;
#pragma unroll
  for (int k = 0; k < items; ++k) {
    const std::uint32_t b = skips_none && Source != bin_source::key ? 0 : bin(k);
    if (!skips_none && b >= Bins) continue;
    const std::uint32_t s = rank.get(k);
    if constexpr (Source == bin_source::key) {
      staged[s] = late[k];
      staged_bin[s] = static_cast<narrow_bin>(b);
    } else {
      staged[s] = mine.word[k];
    }
  }
  // Bad categories leave a tile shorter.
  if constexpr (Source == bin_source::key && !Full) {
#pragma unroll
    for (int k = 0; k < items; ++k) kept += bin(k) < Bins ? 1 : 0;
    kept = __reduce_add_sync(~0U, kept);
    if (threadIdx.x % 32 == 0) warp_sums[threadIdx.x / 32] = kept;
  }
  __syncthreads();
  if constexpr (Source == bin_source::key && !Full) {
    kept = 0;
#pragma unroll
    for (int w = 0; w < warps; ++w) kept += warp_sums[w];
  } else {
    kept = left;
  }
  Word* const out = static_cast<Word*>(a.out) + threadIdx.x;
#pragma unroll
  for (int k = 0; k < items; ++k) {
    const std::uint32_t s = k * shape::threads + threadIdx.x;
    if (!Full && s >= kept) continue;
    const Word word = staged[s];
    std::uint32_t b;
    if constexpr (Source == bin_source::key) {
      b = staged_bin[s];
    } else {
      b = own_category<Source>(word, a.field);
    }
    out[place[b] + k * shape::threads] = word;
  }
}

template <class Word, payload Payload, bin_source Source, int Bins, bool Stable>
__global__ void __launch_bounds__(split_shape<Word, Bins>::threads, (Bins > 256 ? 1 : 2))
    split_tiles(const __grid_constant__ split_pass_arguments a) {
  constexpr std::uint32_t most = split_shape<Word, Bins>::tile;
  __shared__ split_tables<Bins, Stable> tables;
  const std::uint64_t tile = std::uint64_t{blockIdx.x} * most;
  const auto left = static_cast<std::uint32_t>(min(a.count - tile, std::uint64_t{most}));
  if (left == most && a.key.checks == 0) {
    split_one_tile<Word, Payload, Source, Bins, Stable, true>(a, tile, left, tables);
  } else {
    split_one_tile<Word, Payload, Source, Bins, Stable, false>(a, tile, left, tables);
  }
}

/// Queues split_tiles; the instantiations are in split_stable.cu and split_unordered.cu.
template <class Word, payload Payload, bin_source Source, int Bins, bool Stable>
void launch_split_tiles(const context& ctx, const char* what, const split_pass_arguments& a) {
  using shape = split_shape<Word, Bins>;
  launch_shared(ctx, what, split_tiles<Word, Payload, Source, Bins, Stable>, ceil_div(a.count, shape::tile),
                shape::threads, split_shared_bytes<Word, Source, Bins, Stable>(), a);
}

}  // namespace sheaf::cuda
