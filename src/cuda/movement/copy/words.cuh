#pragma once

#include "cuda/movement/copy/records.cuh"

// Moves records of one aligned word, 1 to 16 bytes. Two aims compete. Many loads in flight for each thread make ordered
// lists fast. Neighbouring positions that move close in time let lines fill up in L2 before they are evicted. The tile
// shapes below were measured on an H200 over nine patterns from 2^20 to 2^28 records against thrust::gather and
// thrust::scatter; docs/experiments/movement.md has the table.
namespace sheaf::cuda {

/// Arguments of the kernels that move words. Strides have 32 bits and the last good index has the width of an index,
/// which halves the arithmetic for each record.
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

/// The records of a tile that one thread has in flight: Items of them, Step positions apart. With Step the number of
/// the block's threads these take neighbouring positions; with Step = 32 the lanes of a warp do.
template <direction Direction, class Word, class Index, int Items, int Step>
class word_tile {
 public:
  using word = Word;
  using index = Index;
  static constexpr int items = Items;
  static constexpr int step = Step;

  /// The position of a thread's first record in the tile that begins at position `tile`.
  static __device__ __forceinline__ std::uint64_t first_of(std::uint64_t tile) {
    return tile + threadIdx.x / Step * (Step * Items) + threadIdx.x % Step;
  }

  // First half of moving a tile: the loads that depend on no other load. Loads never branch. Past the end they read the
  // last position again, and for a bad index the second half reads record 0. A branch would separate the loads, which
  // costs up to 20 %.
  __device__ __forceinline__ void load(const word_arguments<Index>& args, std::uint64_t first) {
    records_left_ = static_cast<std::uint32_t>(min(args.count - first, std::uint64_t{Step * Items}));
    const Index* const index = args.index + first;
#pragma unroll
    for (int k = 0; k < Items; ++k) {
      const std::uint32_t offset = min(static_cast<std::uint32_t>(k * Step), records_left_ - 1);
      if constexpr (Direction == direction::gather) {
        index_[k] = __ldcs(index + offset);
      } else {
        index_[k] = __ldg(index + offset);
        word_[k] = load_word<Word>(args.from + first * args.sequential_stride +
                                   std::uint64_t{offset} * args.sequential_stride);
      }
    }
  }

  // Second half of moving a tile: the accesses to the indexed side. A gather issues all loads before the first store.
  __device__ __forceinline__ void finish(const word_arguments<Index>& args, std::uint64_t first) {
    const std::uint32_t bad = move_indexed(args);
    if constexpr (Direction == direction::gather) store_in_order(args, first);
    if (bad == 0) return;
#pragma unroll
    for (int k = 0; k < Items; ++k) {
      if ((bad >> k & 1) != 0) report_bad_index(args.guard, first + static_cast<std::uint32_t>(k * Step), index_[k]);
    }
  }

 private:
  // Returns a bit for each index that names no record.
  __device__ __forceinline__ std::uint32_t move_indexed(const word_arguments<Index>& args) {
    std::uint32_t bad = 0;
#pragma unroll
    for (int k = 0; k < Items; ++k) {
      const bool good = index_[k] <= args.last;
      const bool is_in_list = static_cast<std::uint32_t>(k * Step) < records_left_;
      if (is_in_list && !good) bad |= 1U << k;
      if constexpr (Direction == direction::gather) {
        const Index checked_index = good ? index_[k] : Index{0};
        word_[k] = load_word<Word>(args.from + std::uint64_t{checked_index} * args.indexed_stride);
        if (!good) word_[k] = Word{};
      } else {
        if (is_in_list && good) store_word(args.to + std::uint64_t{index_[k]} * args.indexed_stride, word_[k]);
      }
    }
    return bad;
  }

  __device__ __forceinline__ void store_in_order(const word_arguments<Index>& args, std::uint64_t first) const {
    const std::uint64_t sequential_begin = first * args.sequential_stride;
#pragma unroll
    for (int k = 0; k < Items; ++k) {
      const auto offset = static_cast<std::uint32_t>(k * Step);
      if (offset < records_left_)
        store_streamed(args.to + sequential_begin + std::uint64_t{offset} * args.sequential_stride, word_[k]);
    }
  }

  Index index_[Items];
  Word word_[Items];            ///< input records of a scatter
  std::uint32_t records_left_;  ///< positions from the thread's first record to the list's end, at most Step * Items
};

// Each thread moves the records of a tile, then in further rounds those of the next tiles. More rounds make a block's
// share longer without more loads in flight, so that sectors of narrow scatters leave L2 fuller.
template <class Tile, int Threads, int Rounds>
__global__ void __launch_bounds__(Threads)
    move_words(const __grid_constant__ word_arguments<typename Tile::index> args) {
  static_assert(Threads % Tile::step == 0, "the threads take all positions of a tile");
  constexpr std::uint32_t records = Threads * Tile::items;
  std::uint64_t first = Tile::first_of(std::uint64_t{blockIdx.x} * (records * Rounds));
#pragma unroll 1
  for (int round = 0; round < Rounds; ++round, first += records) {
    if (first >= args.count) return;
    Tile t;
    t.load(args, first);
    t.finish(args, first);
  }
}

// Gathers bytes. A thread takes four neighbouring positions twice, so that index and output move in wide words.
template <class Index>
__global__ void __launch_bounds__(block_threads)
    gather_neighbour_bytes(const __grid_constant__ word_arguments<Index> args) {
  constexpr int rounds = 2;
  constexpr int neighbours = 4;
  constexpr int step = block_threads * neighbours;
  struct alignas(16) index_pack {
    Index value[neighbours];
  };
  const std::uint64_t first = std::uint64_t{blockIdx.x} * (rounds * step) + threadIdx.x * neighbours;
  index_pack index[rounds];
  uchar4 word[rounds];
  std::uint32_t bad = 0;
#pragma unroll
  for (int k = 0; k < rounds; ++k) {
    const std::uint64_t i = first + k * step;
    if (i + neighbours <= args.count) {
      index[k] = *reinterpret_cast<const index_pack*>(args.index + i);
    } else {
      for (int n = 0; n < neighbours; ++n) {
        index[k].value[n] = i + n < args.count ? args.index[i + n] : Index{0};
      }
    }
  }
#pragma unroll
  for (int k = 0; k < rounds; ++k) {
    auto* const bytes = reinterpret_cast<unsigned char*>(&word[k]);
#pragma unroll
    for (int n = 0; n < neighbours; ++n) {
      const bool good = index[k].value[n] <= args.last;
      if (!good) bad |= 1U << (k * neighbours + n);  // positions past the end have index 0
      const Index checked_index = good ? index[k].value[n] : Index{0};
      bytes[n] = load_word<unsigned char>(args.from + std::uint64_t{checked_index} * args.indexed_stride);
      if (!good) bytes[n] = 0;
    }
  }
#pragma unroll
  for (int k = 0; k < rounds; ++k) {
    const std::uint64_t i = first + k * step;
    if (i + neighbours <= args.count) {
      *reinterpret_cast<uchar4*>(args.to + i) = word[k];
    } else {
      for (int n = 0; n < neighbours && i + n < args.count; ++n) {
        args.to[i + n] = static_cast<std::byte>(reinterpret_cast<const unsigned char*>(&word[k])[n]);
      }
    }
  }
  if (bad == 0) return;
#pragma unroll
  for (int k = 0; k < rounds; ++k) {
#pragma unroll
    for (int n = 0; n < neighbours; ++n) {
      if ((bad >> (k * neighbours + n) & 1) != 0) {
        report_bad_index(args.guard, first + k * step + n, index[k].value[n]);
      }
    }
  }
}

// ---- tile shapes, chosen by width and count

/// Short lists: each thread takes one record up to the first limit and two up to the second, so that every
/// multiprocessor has work.
constexpr std::uint64_t most_for_one_item = std::uint64_t{1} << 18;
constexpr std::uint64_t most_for_two_items = std::uint64_t{1} << 20;

template <class Tile, int Threads = 256, int Rounds = 1>
void launch_tiles(const context& ctx, const word_arguments<typename Tile::index>& a) {
  launch_blocks(ctx, move_words<Tile, Threads, Rounds>, ceil_div(a.count, Threads * Tile::items * Rounds), Threads, a);
}

template <class Word, class Index, int Items, int Step = 256>
using gather_tile = word_tile<direction::gather, Word, Index, Items, Step>;
template <class Word, class Index, int Items, int Step = 256>
using scatter_tile = word_tile<direction::scatter, Word, Index, Items, Step>;

// Speed over thrust::gather on an H200, least and mean over lists of 2^22 to 2^28 records: in order, permuted, Zipf,
// strided, in 256 partitions, all the same. In parentheses stands the runner-up. 1 byte 1.02 and 1.29 (no neighbouring
// positions 1.00, 1.21); 2 bytes 1.00, 1.21 (blocks of 256 1.00, 1.20); 4 bytes 1.00, 1.19 (four in flight 1.00, 1.21,
// but 0.97 on 4096 partitions); 8 bytes 1.00, 1.15 (1024 threads 1.00, 1.13); 16 bytes 0.97, 1.06 (blocks of 512 0.98,
// 1.06, but 0.92 in windows of 64 KiB).
//
// A table of about the size of L2 that is swept again and again has tile shapes of its own: there L2 evicts a line just
// before the next sweep reads it. More rounds with fewer records in flight keep lines longer. Speed over
// thrust::gather, strided by 16: 1 byte 1.05 (0.95 with the usual shape), 2 bytes 1.06 (0.83), 4 bytes 1.01 (0.91).
template <class Word, class Index>
void launch_gather(const context& ctx, const word_arguments<Index>& args, bool cache_sized) {
  if constexpr (sizeof(Word) == 1) {
    const auto misalignment =
        reinterpret_cast<std::uintptr_t>(args.index) % 16 + reinterpret_cast<std::uintptr_t>(args.to) % 4;
    if (cache_sized) {
      launch_tiles<gather_tile<Word, Index, 4>, 256, 6>(ctx, args);
    } else if (misalignment == 0 && args.sequential_stride == 1) {
      launch(ctx, gather_neighbour_bytes<Index>, ceil_div(args.count, block_threads * 8), args);
    } else {
      launch_tiles<gather_tile<Word, Index, 4>>(ctx, args);
    }
  } else if constexpr (sizeof(Word) == 2) {
    cache_sized ? launch_tiles<gather_tile<Word, Index, 6>, 256, 2>(ctx, args)
                : launch_tiles<gather_tile<Word, Index, 4, 512>, 512>(ctx, args);
  } else if constexpr (sizeof(Word) == 4) {
    cache_sized ? launch_tiles<gather_tile<Word, Index, 3>, 256, 2>(ctx, args)
                : launch_tiles<gather_tile<Word, Index, 6>>(ctx, args);
  } else if constexpr (sizeof(Word) == 8) {
    launch_tiles<gather_tile<Word, Index, 2, 512>, 512>(ctx, args);
  } else {
    launch_tiles<gather_tile<Word, Index, 2, 1024>, 1024>(ctx, args);
  }
}

// Speed over thrust::scatter on an H200, least and mean over the lists that launch_gather names, with the runner-up in
// parentheses. 4 bytes 1.01, 1.06 (one in flight 0.89, 1.04); 8 bytes 1.00, 1.05 (one in flight 0.95 in order, 1.08 in
// the mean); 16 bytes 1.01, 1.09 (two in flight 0.96, 1.02). Streaming loads of the input would cost 7 % at 8 and 16
// bytes. Narrow words gain from rounds, as many as leave every multiprocessor its blocks: 1 byte from 2^24 records on
// 0.97, 1.10 (one round 0.88), below that 0.99, 1.05 (0.94); 2 bytes 1.00, 1.07 (0.92).
template <class Word, class Index>
void launch_scatter(const context& ctx, const word_arguments<Index>& args) {
  if constexpr (sizeof(Word) == 1) {
    if (args.count <= std::uint64_t{1} << 20) {
      launch_tiles<scatter_tile<Word, Index, 8>>(ctx, args);
    } else if (args.count <= std::uint64_t{1} << 21) {
      launch_tiles<scatter_tile<Word, Index, 8, 128>, 128, 2>(ctx, args);
    } else if (args.count <= std::uint64_t{1} << 23) {
      launch_tiles<scatter_tile<Word, Index, 8, 128>, 128, 4>(ctx, args);
    } else {
      launch_tiles<scatter_tile<Word, Index, 8>, 256, 3>(ctx, args);
    }
  } else if constexpr (sizeof(Word) == 2) {
    if (args.count < std::uint64_t{1} << 22) {
      launch_tiles<scatter_tile<Word, Index, 4, 512>, 512>(ctx, args);
    } else if (args.count < std::uint64_t{1} << 24) {
      launch_tiles<scatter_tile<Word, Index, 4>, 256, 2>(ctx, args);
    } else {
      launch_tiles<scatter_tile<Word, Index, 4>, 256, 4>(ctx, args);
    }
  } else if constexpr (sizeof(Word) == 4) {
    launch_tiles<scatter_tile<Word, Index, 2>>(ctx, args);
  } else if constexpr (sizeof(Word) == 8) {
    launch_tiles<scatter_tile<Word, Index, 2, 32>>(ctx, args);
  } else {
    launch_tiles<scatter_tile<Word, Index, 1>>(ctx, args);
  }
}

/// The arguments of word kernels for indices of one width. The list must hold indices of that width.
template <class Index>
word_arguments<Index> word_arguments_of(const move_arguments& args) {
  const std::uint64_t last = std::min<std::uint64_t>(args.limit - 1, static_cast<Index>(~Index{0}));
  return {args.from,
          args.to,
          static_cast<const Index*>(args.index),
          args.count,
          static_cast<Index>(last),
          static_cast<std::uint32_t>(args.sequential_stride),
          static_cast<std::uint32_t>(args.indexed_stride),
          args.guard};
}

/// Whether a list that is known to be partitioned into many streams moves faster with one record in flight for each
/// thread. Blocks that run less far ahead lose fewer of the streams' lines. Against the usual tile shapes, gathers from
/// 4096 streams of 1, 2 and 4 bytes take 0.78 to 0.95 of the time, scatters of 8 bytes to 256 and 4096 streams 0.87 to
/// 0.91.
template <direction Direction>
bool prefers_one_item(const primitives::movement& p) {
  if (p.pattern.shape != access_pattern::kind::partitioned) return false;
  return Direction == direction::gather ? p.record_bytes <= 4 && p.pattern.parameter >= 1024
                                        : p.record_bytes == 8 && p.pattern.parameter >= 64;
}

/// Launches cuda.direct's kernel with the tile shape for the problem's width, count and pattern.
template <direction Direction>
void launch_words(const context& ctx, const primitives::movement& problem, const move_arguments& arguments,
                  bool cache_sized = false) {
  with_word(problem.word_bytes, [&](auto word) {
    using word_type = decltype(word);
    const auto with_index = [&](auto index) {
      using index_value = decltype(index);
      const word_arguments<index_value> args = word_arguments_of<index_value>(arguments);
      // Scatters of 1, 2 and 16 bytes do better with their usual tile shapes than with two items.
      constexpr bool gains_from_two_items =
          Direction == direction::gather || sizeof(word_type) == 4 || sizeof(word_type) == 8;
      if (problem.count <= most_for_one_item || prefers_one_item<Direction>(problem)) {
        return launch_tiles<word_tile<Direction, word_type, index_value, 1, 256>>(ctx, args);
      }
      if constexpr (gains_from_two_items) {
        if (problem.count <= most_for_two_items) {
          return launch_tiles<word_tile<Direction, word_type, index_value, 2, 256>>(ctx, args);
        }
      }
      if constexpr (Direction == direction::gather) {
        launch_gather<word_type, index_value>(ctx, args, cache_sized);
      } else {
        launch_scatter<word_type, index_value>(ctx, args);
      }
    };
    arguments.wide_index != 0 ? with_index(std::uint64_t{}) : with_index(std::uint32_t{});
  });
}

/// Why the records of a problem cannot move as single words, or null if they can.
inline const char* words_rejection(const primitives::movement& p) {
  if (p.record_bytes != p.word_bytes) return "a record is more than one aligned word";
  if (p.indexed_count == 0) return "there is no record that an index could name";
  if (std::max(p.sequential_stride_bytes, p.indexed_stride_bytes) > ~std::uint32_t{0}) return "strides exceed 4 GiB";
  return nullptr;
}

}  // namespace sheaf::cuda
