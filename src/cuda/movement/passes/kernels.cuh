#pragma once

#include "cuda/movement/copy/words.cuh"
#include "cuda/movement/passes/schedule.cuh"

// The multi-pass scheme of He et al. 2007 (section 3.4) in one launch: blocks take the tiles of one pass after those of
// the pass before. Each record moves in exactly one pass, so passes need no synchronization.
namespace sheaf::cuda {

// Multi-pass movement of records of any width. A tile's indices are filtered into a list in shared memory; then lanes
// share the listed records.
template <direction Direction, class Word>
__global__ void __launch_bounds__(block_threads)
    move_records_in_passes(const __grid_constant__ move_arguments args, const __grid_constant__ pass_schedule schedule,
                           const tile_shape tile) {
  __shared__ std::uint64_t indexed_offset[most_tile_records];
  __shared__ std::uint16_t sequential_record[most_tile_records];
  __shared__ std::uint32_t listed;
  for (pass_cursor cursor(schedule); cursor.has_tile(schedule); cursor.advance(schedule)) {
    const std::uint64_t region_begin = schedule.regions.begin(cursor.pass);
    const std::uint64_t region_count = schedule.regions.count(cursor.pass);
    const std::uint64_t begin = cursor.tile * tile.records;
    const std::uint64_t end = schedule.segments.count(cursor.segment);
    if (region_count == 0 || begin >= end) continue;
    const std::uint64_t first = schedule.segments.begin(cursor.segment) + begin;
    const auto records = static_cast<std::uint32_t>(min(std::uint64_t{tile.records}, end - begin));
    const bool is_read_again = index_is_read_again(schedule, cursor);
    if (threadIdx.x == 0) listed = 0;
    __syncthreads();
    for (std::uint32_t r0 = 0; r0 < records; r0 += block_threads) {
      const std::uint32_t record = r0 + threadIdx.x;
      bool is_listed = false;
      std::uint64_t offset = no_record;
      if (record < records) {
        const std::uint64_t index = index_at(args, first + record, is_read_again);
        is_listed = index - region_begin < region_count;
        if (is_listed) {
          offset = index * args.indexed_stride;
        } else if (cursor.pass == 0 && !check_index(args, first + record, index)) {
          is_listed = Direction == direction::gather;  // the output record of a bad index is cleared
        }
      }
      const unsigned lanes = __ballot_sync(~0U, is_listed);
      const unsigned lane = threadIdx.x % 32;
      std::uint32_t slot = 0;
      if (lane == 0 && lanes != 0) slot = atomicAdd(&listed, static_cast<std::uint32_t>(__popc(lanes)));
      slot = __shfl_sync(~0U, slot, 0) + __popc(lanes & ((1U << lane) - 1));
      if (is_listed) {
        indexed_offset[slot] = offset;
        sequential_record[slot] = static_cast<std::uint16_t>(record);
      }
    }
    __syncthreads();
    move_listed<Direction, Word>(args, tile, first, listed, indexed_offset,
                                 [](std::uint32_t r) { return sequential_record[r]; });
    __syncthreads();
  }
}

/// What a pass does in a tile of words: it moves the records whose indices fall into its region. The first pass also
/// handles bad indices, which fall into no region.
template <class Index>
struct pass_region {
  Index region_begin;
  Index region_last;  ///< last index of the region, counted from region_begin
  bool is_first_pass;
  bool index_is_read_again;        ///< true if L2 should keep the index for the next pass
  bool keeps_sequential_in_cache;  ///< true if L2 should keep the lines of the sequential side that are written
};

// Moves a tile's records of one pass. A thread takes Items records, Step positions apart, and issues all loads before
// the first store, as move_words does. A pass does not touch records of other passes: index loads are unconditional,
// accesses to records are predicated. `records_left` counts positions from the thread's first record to the tile's end;
// it must not be 0.
template <direction Direction, class Word, class Index, int Items, int Step>
__device__ __forceinline__ void move_tile_in_pass(const word_arguments<Index>& args, std::uint64_t first,
                                                  std::uint32_t records_left, const pass_region<Index>& region) {
  constexpr std::uint32_t step = Step;
  const Index* const indices = args.index + first;
  const std::uint64_t sequential_begin = first * args.sequential_stride;
  const auto sequential_offset = [&](int k) {
    return sequential_begin + std::uint64_t{k * step} * args.sequential_stride;
  };

  Index index[Items];
  Word word[Items];
  const auto load_indices = [&](auto load) {
    if (records_left == step * Items) {
#pragma unroll
      for (int k = 0; k < Items; ++k) index[k] = load(indices + k * step);
    } else {
#pragma unroll
      for (int k = 0; k < Items; ++k) index[k] = load(indices + min(k * step, records_left - 1));
    }
  };
  if (region.index_is_read_again) {
    load_indices([](const Index* i) { return __ldg(i); });
  } else {
    load_indices([](const Index* i) { return __ldcs(i); });
  }

  // Bit masks over the thread's items: items inside the tile, items of this pass, and, in the first pass, bad items.
  const std::uint32_t in_tile = (1U << ((records_left + step - 1) / step)) - 1;
  std::uint32_t moves = 0;
  std::uint32_t bad = 0;
#pragma unroll
  for (int k = 0; k < Items; ++k) {
    if (static_cast<Index>(index[k] - region.region_begin) <= region.region_last) moves |= 1U << k;
  }
  if (region.is_first_pass) {
#pragma unroll
    for (int k = 0; k < Items; ++k) {
      if (index[k] > args.last) bad |= 1U << k;
    }
  }
  moves &= in_tile;
  bad &= in_tile;

  if constexpr (Direction == direction::gather) {
#pragma unroll
    for (int k = 0; k < Items; ++k) {
      word[k] = Word{};
      if ((moves >> k & 1) != 0) word[k] = load_word<Word>(args.from + std::uint64_t{index[k]} * args.indexed_stride);
    }
    moves |= bad;
    if (region.keeps_sequential_in_cache) {
#pragma unroll
      for (int k = 0; k < Items; ++k) {
        if ((moves >> k & 1) != 0) store_word(args.to + sequential_offset(k), word[k]);
      }
    } else {
#pragma unroll
      for (int k = 0; k < Items; ++k) {
        if ((moves >> k & 1) != 0) store_streamed(args.to + sequential_offset(k), word[k]);
      }
    }
  } else {
#pragma unroll
    for (int k = 0; k < Items; ++k) {
      if ((moves >> k & 1) != 0) word[k] = load_word<Word>(args.from + sequential_offset(k));
    }
#pragma unroll
    for (int k = 0; k < Items; ++k) {
      if ((moves >> k & 1) != 0) store_word(args.to + std::uint64_t{index[k]} * args.indexed_stride, word[k]);
    }
  }
  if (bad == 0) return;
#pragma unroll
  for (int k = 0; k < Items; ++k) {
    if ((bad >> k & 1) != 0) report_bad_index(args.guard, first + k * step, index[k]);
  }
}

template <direction Direction, class Word, class Index, int Items>
__global__ void __launch_bounds__(block_threads)
    move_words_in_passes(const __grid_constant__ word_arguments<Index> args,
                         const __grid_constant__ pass_schedule schedule) {
  constexpr std::uint32_t step = block_threads;
  for (pass_cursor cursor(schedule); cursor.has_tile(schedule); cursor.advance(schedule)) {
    const std::uint64_t region_count = schedule.regions.count(cursor.pass);
    const std::uint64_t begin = cursor.tile * (step * Items) + threadIdx.x;
    const std::uint64_t end = schedule.segments.count(cursor.segment);
    if (region_count == 0 || begin >= end) continue;
    const pass_region<Index> region{static_cast<Index>(schedule.regions.begin(cursor.pass)),
                                    static_cast<Index>(region_count - 1), cursor.pass == 0,
                                    index_is_read_again(schedule, cursor), schedule.keeps_sequential_in_cache != 0};
    const auto records_left = static_cast<std::uint32_t>(min(end - begin, std::uint64_t{step * Items}));
    move_tile_in_pass<Direction, Word, Index, Items, step>(args, schedule.segments.begin(cursor.segment) + begin,
                                                           records_left, region);
  }
}

// ---- launches

template <direction Direction>
void launch_multipass(const context& ctx, const primitives::movement& problem, const plan::planned& plan,
                      const move_arguments& args) {
  with_word(problem.word_bytes, [&](auto word) {
    using word_type = decltype(word);
    if (words_rejection(problem) != nullptr) {
      const tile_shape tile = shape_of(problem, static_cast<std::uint32_t>(state_of(ctx).multiprocessors()),
                                       plan.decided.get<primitives::multipass_decision>().passes);
      const pass_schedule s = schedule_of(ctx, problem, plan, tile.records);
      launch(ctx, move_records_in_passes<Direction, word_type>, blocks_of(s), args, s, tile);
      return;
    }
    constexpr int items = sizeof(word_type) == 16 ? 4 : 8;
    const pass_schedule s = schedule_of(ctx, problem, plan, block_threads * items);
    const auto with_index = [&](auto index) {
      using index_value = decltype(index);
      launch(ctx, move_words_in_passes<Direction, word_type, index_value, items>, blocks_of(s),
             word_arguments_of<index_value>(args), s);
    };
    args.wide_index != 0 ? with_index(std::uint64_t{}) : with_index(std::uint32_t{});
  });
}

}  // namespace sheaf::cuda
