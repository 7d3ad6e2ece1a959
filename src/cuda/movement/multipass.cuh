#pragma once

#include "cuda/movement/pass_schedule.cuh"
#include "cuda/movement/word_copy.cuh"

// The multi-pass scheme of He et al. 2007 (section 3.4) in one launch: blocks take the tiles of one pass after those of
// the one before. Each record moves in one pass only, so none has to wait for another.
namespace sheaf::cuda {

// Any width: a tile's indices are filtered into lists in shared memory, then lanes share the records of the lists.
template <direction Direction, class Word>
__global__ void __launch_bounds__(block_threads)
    move_records_in_passes(const __grid_constant__ move_arguments a, const __grid_constant__ pass_schedule s,
                           const tile_shape tile) {
  __shared__ std::uint64_t indexed_offset[most_tile_records];
  __shared__ std::uint16_t sequential_record[most_tile_records];
  __shared__ std::uint32_t listed;
  for (pass_walk at(s); at.more(s); at.step(s)) {
    const std::uint64_t region_begin = s.regions.begin(at.pass);
    const std::uint64_t region_count = s.regions.count(at.pass);
    const std::uint64_t begin = at.tile * tile.records;
    const std::uint64_t end = s.segments.count(at.segment);
    if (region_count == 0 || begin >= end) continue;
    const std::uint64_t first = s.segments.begin(at.segment) + begin;
    const auto records = static_cast<std::uint32_t>(min(std::uint64_t{tile.records}, end - begin));
    const bool again = is_read_again(s, at);
    if (threadIdx.x == 0) listed = 0;
    __syncthreads();
    for (std::uint32_t r0 = 0; r0 < records; r0 += block_threads) {
      const std::uint32_t r = r0 + threadIdx.x;
      bool lists = false;
      std::uint64_t offset = no_record;
      if (r < records) {
        const std::uint64_t index = index_at(a, first + r, again);
        lists = index - region_begin < region_count;
        if (lists) {
          offset = index * a.indexed_stride;
        } else if (at.pass == 0 && !check_index(a, first + r, index)) {
          lists = Direction == direction::gather;  // its record is cleared
        }
      }
      const unsigned lanes = __ballot_sync(~0U, lists);
      const unsigned lane = threadIdx.x % 32;
      std::uint32_t slot = 0;
      if (lane == 0 && lanes != 0) slot = atomicAdd(&listed, static_cast<std::uint32_t>(__popc(lanes)));
      slot = __shfl_sync(~0U, slot, 0) + __popc(lanes & ((1U << lane) - 1));
      if (lists) {
        indexed_offset[slot] = offset;
        sequential_record[slot] = static_cast<std::uint16_t>(r);
      }
    }
    __syncthreads();
    move_listed<Direction, Word>(a, tile, first, listed, indexed_offset,
                                 [](std::uint32_t r) { return sequential_record[r]; });
    __syncthreads();
  }
}

/// One pass's part in a tile of words: what its region holds, and in the first pass what no region does.
template <class Index>
struct pass_part {
  Index region_begin;
  Index region_last;  ///< from region_begin
  bool is_first;
  bool index_again;       ///< L2 should keep the index for the next pass
  bool sequential_again;  ///< and what is written of the near side
};

// A thread takes Items records, Step positions apart, all loads in flight before the first store, as in move_words.
// What a pass does not move it does not touch: far and near accesses are predicated, and only index loads are certain.
// `left` counts from the thread's first record to the end of the tile's records; it is not 0.
template <direction Direction, class Word, class Index, int Items, int Step>
__device__ __forceinline__ void move_tile_in_pass(const word_arguments<Index>& a, std::uint64_t first,
                                                  std::uint32_t left, const pass_part<Index>& part) {
  constexpr std::uint32_t step = Step;
  const Index* const index = a.index + first;
  const std::uint64_t near = first * a.sequential_stride;
  const auto sequential_offset = [&](int k) { return near + std::uint64_t{k * step} * a.sequential_stride; };

  Index far[Items];
  Word word[Items];
  const auto load_indices = [&](auto load) {
    if (left == step * Items) {
#pragma unroll
      for (int k = 0; k < Items; ++k) far[k] = load(index + k * step);
    } else {
#pragma unroll
      for (int k = 0; k < Items; ++k) far[k] = load(index + min(k * step, left - 1));
    }
  };
  if (part.index_again) {
    load_indices([](const Index* i) { return __ldg(i); });
  } else {
    load_indices([](const Index* i) { return __ldcs(i); });
  }

  // A bit for each item: those of this pass, and in the first pass those of none.
  const std::uint32_t here = (1U << ((left + step - 1) / step)) - 1;
  std::uint32_t moves = 0;
  std::uint32_t bad = 0;
#pragma unroll
  for (int k = 0; k < Items; ++k) {
    if (static_cast<Index>(far[k] - part.region_begin) <= part.region_last) moves |= 1U << k;
  }
  if (part.is_first) {
#pragma unroll
    for (int k = 0; k < Items; ++k) {
      if (far[k] > a.last) bad |= 1U << k;
    }
  }
  moves &= here;
  bad &= here;

  if constexpr (Direction == direction::gather) {
#pragma unroll
    for (int k = 0; k < Items; ++k) {
      word[k] = Word{};
      if ((moves >> k & 1) != 0) word[k] = load_word<Word>(a.from + std::uint64_t{far[k]} * a.indexed_stride);
    }
    moves |= bad;
    if (part.sequential_again) {
#pragma unroll
      for (int k = 0; k < Items; ++k) {
        if ((moves >> k & 1) != 0) store_word(a.to + sequential_offset(k), word[k]);
      }
    } else {
#pragma unroll
      for (int k = 0; k < Items; ++k) {
        if ((moves >> k & 1) != 0) store_streamed(a.to + sequential_offset(k), word[k]);
      }
    }
  } else {
#pragma unroll
    for (int k = 0; k < Items; ++k) {
      if ((moves >> k & 1) != 0) word[k] = load_word<Word>(a.from + sequential_offset(k));
    }
#pragma unroll
    for (int k = 0; k < Items; ++k) {
      if ((moves >> k & 1) != 0) store_word(a.to + std::uint64_t{far[k]} * a.indexed_stride, word[k]);
    }
  }
  if (bad == 0) return;
#pragma unroll
  for (int k = 0; k < Items; ++k) {
    if ((bad >> k & 1) != 0) report_bad_index(a.guard, first + k * step, far[k]);
  }
}

template <direction Direction, class Word, class Index, int Items>
__global__ void __launch_bounds__(block_threads)
    move_words_in_passes(const __grid_constant__ word_arguments<Index> a, const __grid_constant__ pass_schedule s) {
  constexpr std::uint32_t step = block_threads;
  for (pass_walk at(s); at.more(s); at.step(s)) {
    const std::uint64_t region_count = s.regions.count(at.pass);
    const std::uint64_t begin = at.tile * (step * Items) + threadIdx.x;
    const std::uint64_t end = s.segments.count(at.segment);
    if (region_count == 0 || begin >= end) continue;
    const pass_part<Index> part{static_cast<Index>(s.regions.begin(at.pass)), static_cast<Index>(region_count - 1),
                                at.pass == 0, is_read_again(s, at), s.keeps_sequential != 0};
    const auto left = static_cast<std::uint32_t>(min(end - begin, std::uint64_t{step * Items}));
    move_tile_in_pass<Direction, Word, Index, Items, step>(a, s.segments.begin(at.segment) + begin, left, part);
  }
}

// ---- launches

template <direction Direction>
void launch_multipass(const context& ctx, const primitives::movement& p, const plan::planned& plan,
                      const move_arguments& arguments) {
  with_word(p.word_bytes, [&](auto word) {
    using word_type = decltype(word);
    if (words_rejection(p) != nullptr) {
      const tile_shape tile = shape_of(p, static_cast<std::uint32_t>(state_of(ctx).multiprocessors()),
                                       primitives::rounds_of(plan, primitives::multipass_passes));
      const pass_schedule s = schedule_of(ctx, p, plan, tile.records);
      launch(ctx, "cuda.multipass", move_records_in_passes<Direction, word_type>, blocks_of(s), arguments, s, tile);
      return;
    }
    constexpr int items = sizeof(word_type) == 16 ? 4 : 8;
    const pass_schedule s = schedule_of(ctx, p, plan, block_threads * items);
    const auto with_index = [&](auto index) {
      using index_value = decltype(index);
      launch(ctx, "cuda.multipass", move_words_in_passes<Direction, word_type, index_value, items>, blocks_of(s),
             word_arguments_of<index_value>(arguments), s);
    };
    arguments.wide_index != 0 ? with_index(std::uint64_t{}) : with_index(std::uint32_t{});
  });
}

}  // namespace sheaf::cuda
