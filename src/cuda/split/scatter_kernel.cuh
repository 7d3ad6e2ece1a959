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
  void* scatter_index;  ///< null: the payload moves; else record numbers stay, and their output positions are written
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
template <payload Payload, tile_kind Kind, class Word, bin_source Source, int Items, int Bins, bool EveryRecordHasBin>
__device__ __forceinline__ void load_tile(const scatter_arguments& a, std::uint64_t tile, std::uint32_t records_in_tile,
                                          std::uint32_t first, const Word* tile_words,
                                          tile_bins<Word, Source, Items, Bins, EveryRecordHasBin>& records) {
  constexpr bool is_full = Kind == tile_kind::full;
  if constexpr (Source == bin_source::word) {
    records.field = a.field;
    records.records_from_first = static_cast<int>(records_in_tile) - static_cast<int>(first);
#pragma unroll
    for (int k = 0; k < Items; ++k) {
      records.word[k] = is_full || k * 32 < records.records_from_first
                            ? payload_at<Word, Payload>(tile_words, tile, first + k * 32)
                            : all_ones<Word>();
    }
    if constexpr (records.keeps_bins) {
#pragma unroll
      for (int k = 0; k < Items; ++k) records.kept_bins.set(k, category_of(records.word[k], a.field));
    }
  } else {
    // load_bins takes the warp's records as a list of its own.
    const std::uint32_t begin = threadIdx.x / 32 * (32 * Items);
    std::uint32_t loaded[Items];
#pragma unroll
    for (int k = 0; k < Items; ++k) loaded[k] = no_bin;
    if (is_full || begin < records_in_tile) {
      const std::uint32_t share = is_full ? 32U * Items : min(records_in_tile - begin, 32U * Items);
      load_bins<Items>(a.key, tile + begin, threadIdx.x % 32, 32, share, loaded);
    }
#pragma unroll
    for (int k = 0; k < Items; ++k) records.key_bins.set(k, loaded[k]);
  }
}

/// Writes where each record of the tile goes, in place of moving it.
template <class Word, int Items, int Bins, bool EveryRecordHasBin, class Records>
__device__ __forceinline__ void write_positions(const scatter_arguments& a, std::uint64_t first, const Records& records,
                                                const std::uint64_t* output_shift,
                                                const packed_numbers<Items>& position_in_tile) {
#pragma unroll
  for (int k = 0; k < Items; ++k) {
    const std::uint32_t b = records.bin(k);
    if (!EveryRecordHasBin && b >= Bins) continue;
    const std::uint64_t position = output_shift[b] + position_in_tile.get(k);
    if constexpr (sizeof(Word) == 8) {
      static_cast<std::uint64_t*>(a.scatter_index)[first + k * 32] = position;
    } else {
      static_cast<std::uint32_t*>(a.scatter_index)[first + k * 32] = static_cast<std::uint32_t>(position);
    }
  }
}

/// Scatters one tile. Full tiles, which are all but the last, have an instantiation without a bounds check for each
/// record: passes over narrow words are limited by instructions.
template <class Word, payload Payload, bin_source Source, int Bins, record_order Order, tile_kind Kind>
class tile_scatter {
 public:
  __device__ __forceinline__ tile_scatter(const scatter_arguments& a, std::uint64_t tile, std::uint32_t records_in_tile,
                                          bin_tables<Bins, Order>& tables)
      : a_(a), tables_(tables), tile_(tile), records_in_tile_(records_in_tile) {}

  __device__ __forceinline__ void run() {
    const Word* const tile_words = static_cast<const Word*>(a_.in) + tile_;
    load_tile<Payload, Kind>(a_, tile_, records_in_tile_, first_, tile_words, records_);
    packed_numbers<items> position;
    find_positions<items, Bins, Order, tuning::threads, every_record_has_bin>(
        a_.runs, records_in_tile_, [&](int k) { return records_.bin(k); }, reinterpret_cast<warp_bin*>(shared()),
        tables_, position);
    if constexpr (Payload == payload::record_numbers) {
      if (a_.scatter_index != nullptr) {
        write_positions<Word, items, Bins, every_record_has_bin>(a_, tile_ + first_, records_, tables_.output_shift,
                                                                 position);
        return;
      }
    }
    __syncthreads();
    stage(tile_words, position);
    write_runs(staged_records());
  }

 private:
  using tuning = scatter_tuning<Word, Bins>;
  static constexpr bool is_full = Kind == tile_kind::full;
  static constexpr bool has_separate_keys = Source == bin_source::separate_key;
  static constexpr int items = tuning::items_per_thread;
  static constexpr bool every_record_has_bin = is_full || (Order == record_order::stable && !has_separate_keys);

  static __device__ __forceinline__ unsigned char* shared() {
    extern __shared__ __align__(16) unsigned char bytes[];
    return bytes;
  }
  static __device__ __forceinline__ Word* staged() { return reinterpret_cast<Word*>(shared()); }
  static __device__ __forceinline__ staged_bin_type<Bins>* staged_bins() {
    return reinterpret_cast<staged_bin_type<Bins>*>(shared() + tuning::tile_records * sizeof(Word));
  }

  /// Sorts the tile in shared memory. Records whose keys lie apart are loaded only now.
  __device__ __forceinline__ void stage(const Word* tile_words, const packed_numbers<items>& position) {
    Word separate_word[has_separate_keys ? items : 1];
    if constexpr (has_separate_keys) {
#pragma unroll
      for (int k = 0; k < items; ++k) {
        separate_word[k] = payload_at<Word, Payload>(
            tile_words, tile_, is_full ? first_ + k * 32 : min(first_ + k * 32, records_in_tile_ - 1));
      }
    }
#pragma unroll
    for (int k = 0; k < items; ++k) {
      const std::uint32_t b = every_record_has_bin && !has_separate_keys ? 0 : records_.bin(k);
      if (!every_record_has_bin && b >= Bins) continue;
      const std::uint32_t s = position.get(k);
      if constexpr (has_separate_keys) {
        staged()[s] = separate_word[k];
        staged_bins()[s] = static_cast<staged_bin_type<Bins>>(b);
      } else {
        staged()[s] = records_.word[k];
      }
    }
  }

  /// How many records are staged, once all are: those with bad categories have no bin and are not.
  __device__ __forceinline__ std::uint32_t staged_records() {
    if constexpr (!has_separate_keys || is_full) {
      __syncthreads();
      return records_in_tile_;
    } else {
      std::uint32_t count = 0;
#pragma unroll
      for (int k = 0; k < items; ++k) count += records_.bin(k) < Bins ? 1 : 0;
      count = __reduce_add_sync(~0U, count);
      if (threadIdx.x % 32 == 0) tables_.warp_sums[threadIdx.x / 32] = count;
      __syncthreads();
      count = 0;
#pragma unroll
      for (int w = 0; w < tuning::threads / 32; ++w) count += tables_.warp_sums[w];
      return count;
    }
  }

  /// Writes the runs: consecutive threads write consecutive records of a run.
  __device__ __forceinline__ void write_runs(std::uint32_t staged_records) {
    Word* const out = static_cast<Word*>(a_.out) + threadIdx.x;
#pragma unroll
    for (int k = 0; k < items; ++k) {
      const std::uint32_t s = k * tuning::threads + threadIdx.x;
      if (!is_full && s >= staged_records) continue;
      const Word word = staged()[s];
      std::uint32_t b;
      if constexpr (has_separate_keys) {
        b = staged_bins()[s];
      } else {
        b = category_of(word, a_.field);
      }
      out[tables_.output_shift[b] + k * tuning::threads] = word;
    }
  }

  const scatter_arguments& a_;
  bin_tables<Bins, Order>& tables_;
  std::uint64_t tile_;
  std::uint32_t records_in_tile_;
  /// A warp takes consecutive records, a lane every 32nd of them: records are in the order of steps, then of lanes.
  std::uint32_t first_ = threadIdx.x / 32 * (32 * items) + threadIdx.x % 32;
  tile_bins<Word, Source, items, Bins, every_record_has_bin> records_;
};

template <class Word, payload Payload, bin_source Source, int Bins, record_order Order>
__global__ void __launch_bounds__(scatter_tuning<Word, Bins>::threads, (Bins > 256 ? 1 : 2))
    scatter_tiles(const __grid_constant__ scatter_arguments a) {
  wait_for_kernel_before();
  constexpr std::uint32_t most_records = scatter_tuning<Word, Bins>::tile_records;
  __shared__ bin_tables<Bins, Order> tables;
  const std::uint64_t tile = std::uint64_t{blockIdx.x} * most_records;
  const auto records_in_tile = static_cast<std::uint32_t>(min(a.count - tile, std::uint64_t{most_records}));
  if (records_in_tile == most_records && a.key.checks == 0) {
    tile_scatter<Word, Payload, Source, Bins, Order, tile_kind::full>(a, tile, records_in_tile, tables).run();
  } else {
    tile_scatter<Word, Payload, Source, Bins, Order, tile_kind::partial>(a, tile, records_in_tile, tables).run();
  }
}

/// Queues scatter_tiles. stable.cu and unordered.cu hold the instantiations.
template <class Word, payload Payload, bin_source Source, int Bins, record_order Order>
void launch_scatter_tiles(const context& ctx, const scatter_arguments& a) {
  using tuning = scatter_tuning<Word, Bins>;
  const auto kernel = scatter_tiles<Word, Payload, Source, Bins, Order>;
  constexpr std::size_t shared_bytes = scatter_shared_bytes<Word, Source, Bins, Order>();
  const bool is_first_of_call = a.runs.bin_begin == nullptr;
  if (is_first_of_call) return launch_shared(ctx, kernel, 1, tuning::threads, shared_bytes, a);
  launch_overlapped(ctx, kernel, ceil_div(a.count, tuning::tile_records), tuning::threads, shared_bytes, a);
}

}  // namespace sheaf::cuda
