#pragma once

#include "cuda/device/launch.cuh"
#include "cuda/device/words.cuh"
#include "cuda/split/run_offsets.cuh"
#include "cuda/split/tile_records.cuh"

// The scatter kernel of a split pass, stable or unordered. A block ranks a tile of records by bin, sorts the tile by
// bin in shared memory, and writes each bin's run to the output, in whole lines where runs are long (Patidar and
// Narayanan 2009, Algorithm 2, with the local list in shared instead of global memory).
namespace sheaf::cuda {

struct scatter_arguments {
  const void* in;  ///< words side by side, as in out: addresses with strides would take the registers that words need
  void* out;
  std::uint64_t count;
  word_field field;   ///< the field that is the bin, for bin_source::word
  key_arguments key;  ///< keys, for bin_source::separate_key
  run_offsets runs;
  void* scatter_index;  ///< null: records move; else record numbers stay, and their output positions are written
};

/// The size of tiles. Long tiles have long runs: 8192 records in 256 bins are runs of 32.
template <class Word, int Bins>
struct scatter_tuning {
  static constexpr int threads = Bins > 256 ? 1024 : 512;
  static constexpr int items_per_thread = sizeof(Word) == 16 ? 8 : 16;
  static constexpr std::uint32_t tile_records = threads * items_per_thread;
};

/// The type of a bin that is staged beside its record.
template <int Bins>
using staged_bin_type = std::conditional_t<(Bins > 256), std::uint16_t, std::uint8_t>;

/// Dynamic shared memory of a block: counters while it ranks, then the sorted tile (with bins, for separate keys) in
/// the space of the counters.
template <class Word, bin_source Source, int Bins, record_order Order>
constexpr std::size_t scatter_shared_bytes() {
  using tuning = scatter_tuning<Word, Bins>;
  const std::size_t staged =
      tuning::tile_records * (sizeof(Word) + (Source == bin_source::separate_key ? sizeof(staged_bin_type<Bins>) : 0));
  const std::size_t counters = Order == record_order::stable ? tuning::threads / 32 * Bins * sizeof(warp_bin) : 0;
  return staged > counters ? staged : counters;
}

/// Loads what the thread knows of its records before they are ranked: words that hold their bins, or the bins of
/// separate keys, whose records are loaded after ranking.
template <record_source Records, tile_kind Kind, class Word, bin_source Source, int Items, int Bins,
          bool EveryRecordHasBin>
__device__ __forceinline__ void load_tile(const scatter_arguments& args, std::uint64_t tile,
                                          std::uint32_t records_in_tile, std::uint32_t first, const Word* tile_words,
                                          tile_bins<Word, Source, Items, Bins, EveryRecordHasBin>& records) {
  constexpr bool is_full = Kind == tile_kind::full;
  if constexpr (Source == bin_source::word) {
    records.field = args.field;
    records.records_from_first = static_cast<int>(records_in_tile) - static_cast<int>(first);
#pragma unroll
    for (int k = 0; k < Items; ++k) {
      records.word[k] = is_full || k * 32 < records.records_from_first
                            ? record_at<Word, Records>(tile_words, tile, first + k * 32)
                            : all_ones<Word>();
    }
    if constexpr (records.keeps_bins) {
#pragma unroll
      for (int k = 0; k < Items; ++k) records.kept_bins.set(k, category_of(records.word[k], args.field));
    }
  } else {
    // load_bins takes the warp's records as a list of its own.
    const std::uint32_t begin = threadIdx.x / 32 * (32 * Items);
    std::uint32_t loaded[Items];
#pragma unroll
    for (int k = 0; k < Items; ++k) loaded[k] = no_bin;
    if (is_full || begin < records_in_tile) {
      const std::uint32_t share = is_full ? 32U * Items : min(records_in_tile - begin, 32U * Items);
      load_bins<Items>(args.key, tile + begin, threadIdx.x % 32, 32, share, loaded);
    }
#pragma unroll
    for (int k = 0; k < Items; ++k) records.key_bins.set(k, loaded[k]);
  }
}

/// Writes where each record of the tile goes, in place of moving it.
template <class Word, int Items, int Bins, bool EveryRecordHasBin, class Bin>
__device__ __forceinline__ void write_positions(const scatter_arguments& args, std::uint64_t tile, std::uint32_t first,
                                                const Bin& bin, const std::uint64_t* output_shift,
                                                const packed_numbers<Items>& position_in_tile) {
#pragma unroll
  for (int k = 0; k < Items; ++k) {
    const std::uint32_t b = bin(k);
    if (!EveryRecordHasBin && b >= Bins) continue;
    const std::uint64_t position = output_shift[b] + position_in_tile.get(k);
    if constexpr (sizeof(Word) == 8) {
      static_cast<std::uint64_t*>(args.scatter_index)[tile + first + k * 32] = position;
    } else {
      static_cast<std::uint32_t*>(args.scatter_index)[tile + first + k * 32] = static_cast<std::uint32_t>(position);
    }
  }
}

/// Sorts the tile by bin in shared memory. Records whose keys lie apart are loaded only now.
template <record_source Records, tile_kind Kind, class Word, bin_source Source, int Items, int Bins,
          bool EveryRecordHasBin>
__device__ __forceinline__ void stage_tile(const Word* tile_words, std::uint64_t tile, std::uint32_t records_in_tile,
                                           std::uint32_t first,
                                           const tile_bins<Word, Source, Items, Bins, EveryRecordHasBin>& records,
                                           const packed_numbers<Items>& position, Word* staged,
                                           staged_bin_type<Bins>* staged_bin) {
  constexpr bool is_full = Kind == tile_kind::full;
  Word separate_word[Source == bin_source::separate_key ? Items : 1];
  if constexpr (Source == bin_source::separate_key) {
#pragma unroll
    for (int k = 0; k < Items; ++k) {
      separate_word[k] = record_at<Word, Records>(tile_words, tile,
                                                  is_full ? first + k * 32 : min(first + k * 32, records_in_tile - 1));
    }
  }
#pragma unroll
  for (int k = 0; k < Items; ++k) {
    const std::uint32_t bin = EveryRecordHasBin && Source == bin_source::word ? 0 : records.bin(k);
    if (!EveryRecordHasBin && bin >= Bins) continue;
    const std::uint32_t place = position.get(k);
    if constexpr (Source == bin_source::separate_key) {
      staged[place] = separate_word[k];
      staged_bin[place] = static_cast<staged_bin_type<Bins>>(bin);
    } else {
      staged[place] = records.word[k];
    }
  }
}

/// How many records of the tile are staged, once all are: those with bad categories have no bin and are not.
template <int Items, int Bins, int Threads, bool AllAre, class Bin>
__device__ __forceinline__ std::uint32_t count_staged(const Bin& bin, std::uint32_t records_in_tile,
                                                      std::uint32_t* warp_sums) {
  std::uint32_t staged_records = 0;
  if constexpr (!AllAre) {
#pragma unroll
    for (int k = 0; k < Items; ++k) staged_records += bin(k) < Bins ? 1 : 0;
    staged_records = __reduce_add_sync(~0U, staged_records);
    if (threadIdx.x % 32 == 0) warp_sums[threadIdx.x / 32] = staged_records;
  }
  __syncthreads();
  if constexpr (AllAre) return records_in_tile;
  staged_records = 0;
#pragma unroll
  for (int w = 0; w < Threads / 32; ++w) staged_records += warp_sums[w];
  return staged_records;
}

/// Writes the runs: consecutive threads write consecutive records of a run.
template <class Word, bin_source Source, int Bins, bool IsFull>
__device__ __forceinline__ void write_runs(const scatter_arguments& args, const Word* staged,
                                           const staged_bin_type<Bins>* staged_bin, std::uint32_t staged_records,
                                           const std::uint64_t* output_shift) {
  using tuning = scatter_tuning<Word, Bins>;
  Word* const out = static_cast<Word*>(args.out) + threadIdx.x;
#pragma unroll
  for (int k = 0; k < tuning::items_per_thread; ++k) {
    const std::uint32_t position = k * tuning::threads + threadIdx.x;
    if (!IsFull && position >= staged_records) continue;
    const Word word = staged[position];
    std::uint32_t bin;
    if constexpr (Source == bin_source::separate_key) {
      bin = staged_bin[position];
    } else {
      bin = category_of(word, args.field);
    }
    out[output_shift[bin] + k * tuning::threads] = word;
  }
}

/// Scatters one tile. Full tiles, which are all but the last, have an instantiation without a bounds check for each
/// record: passes over narrow words are limited by instructions.
template <class Word, record_source Records, bin_source Source, int Bins, record_order Order, tile_kind Kind>
__device__ __forceinline__ void scatter_tile(const scatter_arguments& args, std::uint64_t tile,
                                             std::uint32_t records_in_tile, bin_tables<Bins, Order>& tables) {
  using tuning = scatter_tuning<Word, Bins>;
  constexpr bool is_full = Kind == tile_kind::full;
  constexpr bool has_separate_keys = Source == bin_source::separate_key;
  constexpr bool every_record_has_bin = is_full || (Order == record_order::stable && !has_separate_keys);
  constexpr int items = tuning::items_per_thread;
  extern __shared__ __align__(16) unsigned char shared[];
  Word* const staged = reinterpret_cast<Word*>(shared);
  auto* const staged_bin = reinterpret_cast<staged_bin_type<Bins>*>(shared + tuning::tile_records * sizeof(Word));

  // A warp takes consecutive records, a lane every 32nd of them: records are in the order of steps, then of lanes.
  const std::uint32_t first = threadIdx.x / 32 * (32 * items) + threadIdx.x % 32;
  const Word* const tile_words = static_cast<const Word*>(args.in) + tile;
  tile_bins<Word, Source, items, Bins, every_record_has_bin> records;
  load_tile<Records, Kind>(args, tile, records_in_tile, first, tile_words, records);

  const auto bin = [&](int k) { return records.bin(k); };
  packed_numbers<items> position;
  find_positions<items, Bins, Order, tuning::threads, every_record_has_bin>(
      args.runs, records_in_tile, bin, reinterpret_cast<warp_bin*>(shared), tables, position);
  if constexpr (Records == record_source::record_numbers) {
    if (args.scatter_index != nullptr) {
      write_positions<Word, items, Bins, every_record_has_bin>(args, tile, first, bin, tables.output_shift, position);
      return;
    }
  }
  __syncthreads();
  stage_tile<Records, Kind>(tile_words, tile, records_in_tile, first, records, position, staged, staged_bin);
  const std::uint32_t staged_records = count_staged < items, Bins, tuning::threads,
                      !has_separate_keys || is_full > (bin, records_in_tile, tables.warp_sums);
  write_runs<Word, Source, Bins, is_full>(args, staged, staged_bin, staged_records, tables.output_shift);
}

template <class Word, record_source Records, bin_source Source, int Bins, record_order Order>
__global__ void __launch_bounds__(scatter_tuning<Word, Bins>::threads, (Bins > 256 ? 1 : 2))
    scatter_tiles(const __grid_constant__ scatter_arguments args) {
  wait_for_kernel_before();
  constexpr std::uint32_t most_records = scatter_tuning<Word, Bins>::tile_records;
  __shared__ bin_tables<Bins, Order> tables;
  const std::uint64_t tile = std::uint64_t{blockIdx.x} * most_records;
  const auto records_in_tile = static_cast<std::uint32_t>(min(args.count - tile, std::uint64_t{most_records}));
  if (records_in_tile == most_records && args.key.checks == 0) {
    scatter_tile<Word, Records, Source, Bins, Order, tile_kind::full>(args, tile, records_in_tile, tables);
  } else {
    scatter_tile<Word, Records, Source, Bins, Order, tile_kind::partial>(args, tile, records_in_tile, tables);
  }
}

/// Queues scatter_tiles. stable.cu and unordered.cu hold the instantiations.
template <class Word, record_source Records, bin_source Source, int Bins, record_order Order>
void launch_scatter_tiles(const context& ctx, const scatter_arguments& args) {
  using tuning = scatter_tuning<Word, Bins>;
  const auto kernel = scatter_tiles<Word, Records, Source, Bins, Order>;
  constexpr std::size_t shared_bytes = scatter_shared_bytes<Word, Source, Bins, Order>();
  const bool is_first_of_call = args.runs.bin_begin == nullptr;
  if (is_first_of_call) return launch_shared(ctx, kernel, 1, tuning::threads, shared_bytes, args);
  launch_overlapped(ctx, kernel, ceil_div(args.count, tuning::tile_records), tuning::threads, shared_bytes, args);
}

}  // namespace sheaf::cuda
