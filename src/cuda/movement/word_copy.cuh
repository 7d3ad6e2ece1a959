#pragma once

#include "cuda/movement/record_copy.cuh"

// Records of one aligned word, 1 to 16 bytes. What decides is how many loads a thread keeps in flight against how near
// in time neighbouring positions are moved: the first feeds sequential orders, the second lets lines fill up in L2
// before they leave. The forms below were raced on an H200 over nine patterns from 2^20 to 2^28 records against
// thrust::gather and thrust::scatter; docs/experiments.md has the table.
namespace sheaf::cuda {

/// What move_words is told. Strides are 32 bits and the last good index has the index's own width, which halves the
/// arithmetic per record.
template <class Index>
struct word_arguments {
  const std::byte* from;
  std::byte* to;
  const Index* index;
  std::uint64_t count;
  Index last;  ///< the highest index that names a record
  std::uint32_t sequential_stride;
  std::uint32_t indexed_stride;
  index_guard guard;
};

/// What a thread has in flight of a tile: Items records, Step positions apart.
template <class Word, class Index, int Items>
struct tile_in_flight {
  Index far[Items];
  Word word[Items];    ///< a scatter's input
  std::uint32_t left;  ///< positions from the thread's first to the end, at most Step * Items
};

// Loads what needs no other load. Loads never branch: past the end they read the last position again, for a bad index
// record 0; a branch would part them from each other (up to 20 % slower).
template <direction Direction, class Word, class Index, int Items, int Step>
__device__ __forceinline__ void load_tile(const word_arguments<Index>& a, std::uint64_t first,
                                          tile_in_flight<Word, Index, Items>& t) {
  t.left = static_cast<std::uint32_t>(min(a.count - first, std::uint64_t{Step * Items}));
  const Index* const index = a.index + first;
#pragma unroll
  for (int k = 0; k < Items; ++k) {
    const std::uint32_t at = min(static_cast<std::uint32_t>(k * Step), t.left - 1);
    if constexpr (Direction == direction::gather) {
      t.far[k] = __ldcs(index + at);
    } else {
      t.far[k] = __ldg(index + at);
      t.word[k] = load_word<Word>(a.from + first * a.sequential_stride + std::uint64_t{at} * a.sequential_stride);
    }
  }
}

// The rest of it: all far loads before the first store.
template <direction Direction, class Word, class Index, int Items, int Step>
__device__ __forceinline__ void finish_tile(const word_arguments<Index>& a, std::uint64_t first,
                                            tile_in_flight<Word, Index, Items>& t) {
  const std::uint64_t near = first * a.sequential_stride;
  std::uint32_t bad = 0;
#pragma unroll
  for (int k = 0; k < Items; ++k) {
    const bool good = t.far[k] <= a.last;
    const bool here = static_cast<std::uint32_t>(k * Step) < t.left;
    if (here && !good) bad |= 1U << k;
    if constexpr (Direction == direction::gather) {
      const Index reached = good ? t.far[k] : Index{0};
      t.word[k] = load_word<Word>(a.from + std::uint64_t{reached} * a.indexed_stride);
      if (!good) t.word[k] = Word{};
    } else {
      if (here && good) store_word(a.to + std::uint64_t{t.far[k]} * a.indexed_stride, t.word[k]);
    }
  }
  if constexpr (Direction == direction::gather) {
#pragma unroll
    for (int k = 0; k < Items; ++k) {
      const auto at = static_cast<std::uint32_t>(k * Step);
      if (at < t.left) store_streamed(a.to + near + std::uint64_t{at} * a.sequential_stride, t.word[k]);
    }
  }
  if (bad == 0) return;
#pragma unroll
  for (int k = 0; k < Items; ++k) {
    if ((bad >> k & 1) != 0) report_bad_index(a.guard, first + static_cast<std::uint32_t>(k * Step), t.far[k]);
  }
}

/// A thread's first record in a tile of Block * Items records that begins at `tile`.
template <int Items, int Step>
__device__ __forceinline__ std::uint64_t first_of_tile(std::uint64_t tile) {
  return tile + threadIdx.x / Step * (Step * Items) + threadIdx.x % Step;
}

// Each thread moves Items records in a round. Step is the block (its threads take neighbouring positions, then the next
// row of them) or a warp. Rounds make the tile longer without more in flight: narrow scatters leave L2 in fuller
// sectors then.
template <direction Direction, class Word, class Index, int Block, int Items, int Step, int Rounds>
__global__ void __launch_bounds__(Block) move_words(const __grid_constant__ word_arguments<Index> a) {
  constexpr std::uint32_t tile = Block * Items;
  std::uint64_t first = first_of_tile<Items, Step>(std::uint64_t{blockIdx.x} * (tile * Rounds));
#pragma unroll 1
  for (int round = 0; round < Rounds; ++round, first += tile) {
    if (first >= a.count) return;
    tile_in_flight<Word, Index, Items> t;
    load_tile<Direction, Word, Index, Items, Step>(a, first, t);
    finish_tile<Direction, Word, Index, Items, Step>(a, first, t);
  }
}

// Gathers bytes: a thread takes four neighbours twice, so that index and output move in wide words.
template <class Index>
__global__ void __launch_bounds__(block_threads)
    gather_neighbour_bytes(const __grid_constant__ word_arguments<Index> a) {
  constexpr int rounds = 2;
  constexpr int neighbours = 4;
  constexpr int step = block_threads * neighbours;
  struct alignas(16) index_pack {
    Index value[neighbours];
  };
  const std::uint64_t first = std::uint64_t{blockIdx.x} * (rounds * step) + threadIdx.x * neighbours;
  index_pack far[rounds];
  uchar4 word[rounds];
  std::uint32_t bad = 0;
#pragma unroll
  for (int k = 0; k < rounds; ++k) {
    const std::uint64_t i = first + k * step;
    if (i + neighbours <= a.count) {
      far[k] = *reinterpret_cast<const index_pack*>(a.index + i);
    } else {
      for (int n = 0; n < neighbours; ++n) {
        far[k].value[n] = i + n < a.count ? a.index[i + n] : Index{0};
      }
    }
  }
#pragma unroll
  for (int k = 0; k < rounds; ++k) {
    auto* const bytes = reinterpret_cast<unsigned char*>(&word[k]);
#pragma unroll
    for (int n = 0; n < neighbours; ++n) {
      const bool good = far[k].value[n] <= a.last;
      if (!good) bad |= 1U << (k * neighbours + n);  // past the end stands index 0
      const Index reached = good ? far[k].value[n] : Index{0};
      bytes[n] = load_word<unsigned char>(a.from + std::uint64_t{reached} * a.indexed_stride);
      if (!good) bytes[n] = 0;
    }
  }
#pragma unroll
  for (int k = 0; k < rounds; ++k) {
    const std::uint64_t i = first + k * step;
    if (i + neighbours <= a.count) {
      *reinterpret_cast<uchar4*>(a.to + i) = word[k];
    } else {
      for (int n = 0; n < neighbours && i + n < a.count; ++n) {
        a.to[i + n] = static_cast<std::byte>(reinterpret_cast<const unsigned char*>(&word[k])[n]);
      }
    }
  }
  if (bad == 0) return;
#pragma unroll
  for (int k = 0; k < rounds; ++k) {
#pragma unroll
    for (int n = 0; n < neighbours; ++n) {
      if ((bad >> (k * neighbours + n) & 1) != 0) {
        report_bad_index(a.guard, first + k * step + n, far[k].value[n]);
      }
    }
  }
}

// ---- which form for which word

/// Up to here a thread takes one record, so that every multiprocessor has work; up to the second, two.
constexpr std::uint64_t few_records = std::uint64_t{1} << 18;
constexpr std::uint64_t some_records = std::uint64_t{1} << 20;

template <direction Direction, class Word, class Index, int Block, int Items, int Step = Block, int Rounds = 1>
void start_words(const context& ctx, const word_arguments<Index>& a) {
  launch_blocks(ctx, "cuda.direct", move_words<Direction, Word, Index, Block, Items, Step, Rounds>,
                ceil_div(a.count, Block * Items * Rounds), Block, a);
}

// H200, 2^22 to 2^28 records in order, permuted, Zipf, strided, in 256 partitions, all the same; least and mean speed,
// thrust::gather = 1, and the runner-up: 1 byte 1.02 and 1.29 (without neighbours 1.00, 1.21); 2 bytes 1.00, 1.21
// (blocks of 256 1.00, 1.20); 4 bytes 1.00, 1.19 (four in flight 1.00, 1.21, but 0.97 on 4096 partitions); 8 bytes
// 1.00, 1.15 (1024 threads 1.00, 1.13); 16 bytes 0.97, 1.06 (blocks of 512 0.98, 1.06, but 0.92 in windows of 64 KiB).
//
// A table of about the size of L2, swept again and again, is a case of its own: what is long ago is gone just before
// it is needed. Tiles of more rounds, with fewer records in flight, forget later. Strided by 16, thrust::gather = 1:
// 1 byte 1.05 (0.95 without), 2 bytes 1.06 (0.83), 4 bytes 1.01 (0.91).
template <class Word, class Index>
void start_gather(const context& ctx, const word_arguments<Index>& a, bool cache_sized) {
  if constexpr (sizeof(Word) == 1) {
    const auto places = reinterpret_cast<std::uintptr_t>(a.index) % 16 + reinterpret_cast<std::uintptr_t>(a.to) % 4;
    if (cache_sized) {
      start_words<direction::gather, Word, Index, 256, 4, 256, 6>(ctx, a);
    } else if (places == 0 && a.sequential_stride == 1) {
      launch(ctx, "cuda.direct", gather_neighbour_bytes<Index>, ceil_div(a.count, block_threads * 8), a);
    } else {
      start_words<direction::gather, Word, Index, 256, 4>(ctx, a);
    }
  } else if constexpr (sizeof(Word) == 2) {
    cache_sized ? start_words<direction::gather, Word, Index, 256, 6, 256, 2>(ctx, a)
                : start_words<direction::gather, Word, Index, 512, 4>(ctx, a);
  } else if constexpr (sizeof(Word) == 4) {
    cache_sized ? start_words<direction::gather, Word, Index, 256, 3, 256, 2>(ctx, a)
                : start_words<direction::gather, Word, Index, 256, 6>(ctx, a);
  } else if constexpr (sizeof(Word) == 8) {
    start_words<direction::gather, Word, Index, 512, 2>(ctx, a);
  } else {
    start_words<direction::gather, Word, Index, 1024, 2>(ctx, a);
  }
}

// The same for thrust::scatter: 4 bytes 1.01, 1.06 (one in flight 0.89, 1.04); 8 bytes 1.00, 1.05 (one in flight 0.95
// in order, 1.08 in the mean); 16 bytes 1.01, 1.09 (two 0.96, 1.02). Streaming loads of the input would cost 7 % at 8
// and 16 bytes. Narrow words want rounds, as many as leave every multiprocessor its blocks: 1 byte from 2^24 on 0.97,
// 1.10 (one round 0.88), before 0.99, 1.05 (0.94); 2 bytes 1.00, 1.07 (0.92).
template <class Word, class Index>
void start_scatter(const context& ctx, const word_arguments<Index>& a) {
  constexpr auto scatter = direction::scatter;
  if constexpr (sizeof(Word) == 1) {
    if (a.count <= std::uint64_t{1} << 20) {
      start_words<scatter, Word, Index, 256, 8>(ctx, a);
    } else if (a.count <= std::uint64_t{1} << 21) {
      start_words<scatter, Word, Index, 128, 8, 128, 2>(ctx, a);
    } else if (a.count <= std::uint64_t{1} << 23) {
      start_words<scatter, Word, Index, 128, 8, 128, 4>(ctx, a);
    } else {
      start_words<scatter, Word, Index, 256, 8, 256, 3>(ctx, a);
    }
  } else if constexpr (sizeof(Word) == 2) {
    if (a.count < std::uint64_t{1} << 22) {
      start_words<scatter, Word, Index, 512, 4>(ctx, a);
    } else if (a.count < std::uint64_t{1} << 24) {
      start_words<scatter, Word, Index, 256, 4, 256, 2>(ctx, a);
    } else {
      start_words<scatter, Word, Index, 256, 4, 256, 4>(ctx, a);
    }
  } else if constexpr (sizeof(Word) == 4) {
    start_words<scatter, Word, Index, 256, 2>(ctx, a);
  } else if constexpr (sizeof(Word) == 8) {
    start_words<scatter, Word, Index, 256, 2, 32>(ctx, a);
  } else {
    start_words<scatter, Word, Index, 256, 1>(ctx, a);
  }
}

template <class Index>
word_arguments<Index> word_arguments_of(const move_arguments& a) {
  const std::uint64_t last = std::min<std::uint64_t>(a.limit - 1, static_cast<Index>(~Index{0}));
  return {a.from,
          a.to,
          static_cast<const Index*>(a.index),
          a.count,
          static_cast<Index>(last),
          static_cast<std::uint32_t>(a.sequential_stride),
          static_cast<std::uint32_t>(a.indexed_stride),
          a.guard};
}

/// Whether a list known to be many streams side by side goes better one record in flight a thread: waves that run less
/// far ahead lose fewer of the streams' lines. Against the forms below, gathers from 4096 streams of 1, 2 and 4 bytes
/// take 0.78 to 0.95 of the time, scatters of 8 bytes to 256 and 4096 streams 0.87 to 0.91.
template <direction Direction>
bool is_best_alone(const primitives::movement& p) {
  if (p.pattern.shape != access_pattern::kind::partitioned) return false;
  return Direction == direction::gather ? p.record_bytes <= 4 && p.pattern.parameter >= 1024
                                        : p.record_bytes == 8 && p.pattern.parameter >= 64;
}

template <direction Direction>
void launch_words(const context& ctx, const primitives::movement& p, const move_arguments& arguments,
                  bool cache_sized = false) {
  with_word(p.word_bytes, [&](auto word) {
    using word_type = decltype(word);
    const auto with_index = [&](auto index) {
      using index_value = decltype(index);
      const word_arguments<index_value> a = word_arguments_of<index_value>(arguments);
      // Of these, scatters of 1, 2 and 16 bytes have forms below that do better already.
      constexpr bool two_suit = Direction == direction::gather || sizeof(word_type) == 4 || sizeof(word_type) == 8;
      if (p.count <= few_records || is_best_alone<Direction>(p)) {
        start_words<Direction, word_type, index_value, 256, 1>(ctx, a);
      } else if (p.count <= some_records && two_suit) {
        start_words<Direction, word_type, index_value, 256, 2>(ctx, a);
      } else if constexpr (Direction == direction::gather) {
        start_gather<word_type, index_value>(ctx, a, cache_sized);
      } else {
        start_scatter<word_type, index_value>(ctx, a);
      }
    };
    arguments.wide_index != 0 ? with_index(std::uint64_t{}) : with_index(std::uint32_t{});
  });
}

/// Why records of this problem cannot move as single words, or null.
inline const char* words_rejection(const primitives::movement& p) {
  if (p.record_bytes != p.word_bytes) return "a record is more than one aligned word";
  if (p.indexed_count == 0) return "there is no record that an index could name";
  if (std::max(p.sequential_stride_bytes, p.indexed_stride_bytes) > ~std::uint32_t{0}) return "strides pass 4 GiB";
  return nullptr;
}

}  // namespace sheaf::cuda
