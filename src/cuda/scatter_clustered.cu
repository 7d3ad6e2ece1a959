#include <algorithm>

#include "cuda/block/rank.cuh"
#include "cuda/block/scan.cuh"
#include "cuda/block/walk.cuh"
#include "cuda/clusters.hpp"
#include "cuda/traffic.hpp"
#include "cuda/unless_scattered.cuh"
#include "primitives/scatter.hpp"

// A scatter at random in three streams: records go with their index into 2^k regions of the output, each of these again
// into windows that fit shared memory, and each window is put in order there and written in whole lines. Regions and
// windows have fixed room; a record that finds its window full, because the list is skewed or repeats itself, is
// written to the output at once: with duplicates::any its writer may win as well as another.
namespace sheaf::cuda {
namespace {

using primitives::scatter_buffers;
using primitives::scatter_problem;

constexpr std::uint32_t window_threads = 512;

/// What plan_clustered decides.
struct cut {
  std::uint32_t far_bits;     ///< of an index
  std::uint32_t window_bits;  ///< of a place in a window
  std::uint32_t levels;       ///< 1 or 2
  std::uint32_t first_bits;   ///< of a region's number, where there are two levels
  std::uint32_t last_bits;    ///< of a window's number in its region
  std::uint32_t regions;      ///< that the output has; one where there is one level
  std::uint32_t windows;      ///< of all regions
};

/// Windows of 32 KiB to 128 KiB; places in them are 16 bits.
cut cut_of(const scatter_problem& p) {
  const std::uint32_t far_bits = bits_for(p.far_count);
  const std::uint32_t usual = p.record_bytes >= 8 ? 12 : p.record_bytes == 4 ? 13 : 14;
  const std::uint32_t most = std::min(16U, 17 - bits_for(p.record_bytes));
  const std::uint32_t level_bits = bits_for(most_clusters);
  std::uint32_t window = std::min(usual, far_bits);
  while (window < most && far_bits - window > 2 * level_bits) ++window;
  // Eight bits a level go best: runs of a tile are longer then.
  if (window < most && far_bits - window == 17) ++window;
  const std::uint32_t rest = far_bits - window;
  const std::uint32_t levels = rest <= 8 ? 1 : 2;
  const std::uint32_t last = levels == 1 ? rest : rest / 2;
  const auto parts = [&](std::uint32_t bits) {
    return static_cast<std::uint32_t>(ceil_div(std::max<std::uint64_t>(1, p.far_count), std::uint64_t{1} << bits));
  };
  const std::uint32_t regions = levels == 2 ? parts(window + last) : 1;
  return {far_bits, window, levels, rest - last, last, regions, levels == 2 ? regions << last : parts(window)};
}

std::uint64_t rounded(std::uint64_t bytes) { return ceil_div(bytes, 256) * 256; }

/// Where things lie in the call's scratch.
struct layout {
  std::uint64_t region_room;  // records of a region, of a window
  std::uint64_t window_room;
  std::uint64_t fill, ticket, region_index, region_word, window_index, window_word, end;  // bytes from the beginning
};

layout layout_of(const scatter_problem& p, const cut& c) {
  layout l{};
  const std::uint64_t regions = c.levels == 2 ? c.regions : 0;
  l.region_room = cluster_capacity(p.count, p.far_count, std::uint64_t{1} << (c.far_bits - c.first_bits));
  l.window_room = cluster_capacity(p.count, p.far_count, std::uint64_t{1} << c.window_bits);
  std::uint64_t at = 0;
  const auto take = [&](std::uint64_t bytes) {
    const std::uint64_t begin = at;
    at += rounded(bytes);
    return begin;
  };
  l.fill = take((regions + c.windows + most_tickets) * sizeof(std::uint32_t));
  l.ticket = l.fill + (regions + c.windows) * sizeof(std::uint32_t);
  l.region_index = take(regions * l.region_room * sizeof(std::uint32_t));
  l.region_word = take(regions * l.region_room * p.record_bytes);
  l.window_index = take(c.windows * l.window_room * sizeof(std::uint16_t));
  l.window_word = take(c.windows * l.window_room * p.record_bytes);
  l.end = at;
  return l;
}

const char* clustered_rejection(const scatter_problem& p) {
  if (p.backend != backend_kind::cuda) return "works on CUDA memory";
  if (p.duplicates == duplicates::last) return "any writer may win";
  if (const char* reason = words_rejection(p)) return reason;
  const cut c = cut_of(p);
  const std::uint32_t most = bits_for(most_clusters);
  if (c.first_bits > most || c.last_bits > most) return "the output has more windows than two levels tell apart";
  const layout l = layout_of(p, c);
  if (p.count >= ~std::uint32_t{0} - cluster_tile || l.region_room >= ~std::uint32_t{0}) return "counts pass 32 bits";
  return nullptr;
}

/// Shares of copy bandwidth that the levels and the placing reach, and records that a multiprocessor takes through them
/// a second where words are narrow.
constexpr double level_share = 0.67;
constexpr double wide_level_share = 0.78;  // of 16-byte words
constexpr double level_per_second = 2.2e9;
constexpr double place_share = 0.90;
constexpr double place_per_second = 3.5e9;

plan::planned plan_clustered(const scatter_problem& p, const machine& m) {
  if (const char* reason = clustered_rejection(p)) return plan::rejected(reason);
  const cut c = cut_of(p);
  const auto count = static_cast<double>(p.count);
  const auto width = static_cast<double>(p.record_bytes);
  const double index = static_cast<double>(bytes(p.index));
  const double bus = m.copy_bytes_per_second;
  const double in = count * (static_cast<double>(p.near_stride_bytes) + index);
  plan::planned plan;
  plan.scratch_bytes = layout_of(p, c).end;
  // Kernels wait for one another, and the few blocks of a short list for memory.
  plan.add("latency", m.launch_seconds + (6 + 2 * c.levels) * m.step_seconds);
  const auto stream = [&](const char* name, double bytes, double share, double per_second) {
    plan::planned part;
    part.add_beside(3, {{"streamed", bytes / bus / share}, {"ranked", count / (per_second * m.parallelism)}});
    plan.add(name, part.seconds);
  };
  const double share = p.record_bytes == 16 ? wide_level_share : level_share;
  if (c.levels == 2) {
    stream("regions", in + count * (width + 4), share, level_per_second);
    stream("windows", count * (2 * width + 4 + 2), share, level_per_second);
  } else {
    stream("windows", in + count * (width + 2), share, level_per_second);
  }
  stream("placing", count * (width + 2) + std::min(count, static_cast<double>(p.far_count)) * width, place_share,
         place_per_second);
  plan.add("empty windows", static_cast<double>(c.windows) * 1e-9);
  if (p.pattern.shape == access_pattern::kind::unknown) {
    // Kernels that leave at once cost a list in order some microseconds each.
    plan.add("sampling", 0.03 * plan.seconds);
    primitives::movement in_order = p;
    in_order.pattern = access_pattern::sequential();
    constexpr double least_in_order = 180e-6;
    plan.by_name_only = priced(writes_of(in_order, m), m, true).seconds < least_in_order;
  } else {
    plan.by_name_only = p.pattern.shape != access_pattern::kind::random;
  }
  return plan;
}

/// A level's input: the caller's list, or a region of the level before.
template <class Index>
struct level_arguments {
  const Index* index;
  const std::byte* in;
  std::uint64_t in_stride;
  std::uint64_t count;  ///< of the list
  Index last;           ///< highest index that names a record
  index_guard guard;
  std::uint32_t tiles;           ///< of the list, or of a region's room
  std::uint32_t regions;         ///< of the input
  const std::uint32_t* in_fill;  ///< records of each region; null: the input is the list
  std::uint64_t in_room;         ///< places of a region
  std::uint32_t region_bits;     ///< of an index inside a region
  std::uint32_t shift;           ///< bits of an index inside a cluster
  std::uint32_t clusters;        ///< of a region
  std::uint32_t* fill;
  void* out_index;  ///< u32, or u16 in the last level
  std::byte* out_word;
  std::uint64_t room;
  std::byte* out;  ///< of the call
  std::uint64_t out_stride;
  order_sample sample;
  std::uint32_t* ticket;  ///< where tiles are drawn; null where the list is known to be scattered
};

template <class Word, class Index, class OutIndex>
__global__ void __launch_bounds__(cluster_threads, sizeof(Word) < 16 ? 2 : 1)
    split_into_clusters(const __grid_constant__ level_arguments<Index> a) {
  constexpr int items = cluster_items;
  extern __shared__ __align__(16) unsigned char shared[];
  Word* const staged = reinterpret_cast<Word*>(shared);
  std::uint32_t* const staged_index = reinterpret_cast<std::uint32_t*>(shared + cluster_tile * sizeof(Word));
  __shared__ std::uint32_t histogram[most_clusters];
  __shared__ std::uint32_t place[most_clusters];
  __shared__ __align__(16) std::uint32_t warp_sums[cluster_threads / 32];
  __shared__ std::uint32_t kept;
  if (a.ticket != nullptr && !was_scattered(a.sample)) return;
  const std::uint64_t all_tiles = std::uint64_t{a.tiles} * a.regions;
  const tile_walk walk(a.ticket);
  for (std::uint64_t t = walk.first(); t < all_tiles; t = walk.after(t)) {
    if (a.ticket != nullptr) __syncthreads();
    const auto region = static_cast<std::uint32_t>(t / a.tiles);
    const std::uint64_t tile = (t - std::uint64_t{region} * a.tiles) * cluster_tile;
    const std::uint64_t have = a.in_fill == nullptr ? a.count : min(std::uint64_t{a.in_fill[region]}, a.in_room);
    if (tile >= have) continue;
    const std::uint64_t first = region * a.in_room + tile;
    const auto left = static_cast<std::uint32_t>(min(have - tile, std::uint64_t{cluster_tile}));
    histogram[threadIdx.x] = 0;
    __syncthreads();

    // What a cluster is told of an index fits 32 bits; bad ones get a cluster that there is not.
    std::uint32_t near_bits[items];
    packed_numbers<items> cluster;
    packed_numbers<items> rank;
    {
      Index index[items];
#pragma unroll
      for (int k = 0; k < items; ++k) {
        index[k] = __ldcs(a.index + first + min(k * cluster_threads + threadIdx.x, left - 1));
      }
#pragma unroll
      for (int k = 0; k < items; ++k) {
        const std::uint32_t s = k * cluster_threads + threadIdx.x;
        const bool good = index[k] <= a.last;
        if (s < left && !good) report_bad_index(a.guard, first + s, index[k]);
        cluster.set(k, s < left && good ? static_cast<std::uint32_t>(index[k] >> a.shift) : no_bin);
        near_bits[k] = static_cast<std::uint32_t>(index[k]);
      }
    }
    rank_unordered<items, most_clusters>([&](int k) { return cluster.get(k); }, histogram, rank);
    __syncthreads();
    std::uint32_t begin[1] = {histogram[threadIdx.x]};
    const std::uint32_t mine = begin[0];
    std::uint32_t taken = 0;
    if (mine > 0) taken = atomicAdd(a.fill + region * a.clusters + threadIdx.x, mine);
    scan_bins<most_clusters, cluster_threads>(begin, warp_sums);
    histogram[threadIdx.x] = begin[0];
    place[threadIdx.x] = taken - begin[0];
    if (threadIdx.x == cluster_threads - 1) kept = begin[0] + mine;
    __syncthreads();
    const std::byte* const words = a.in + first * a.in_stride;
#pragma unroll
    for (int k = 0; k < items; ++k) {
      const std::uint32_t c = cluster.get(k);
      if (c == no_bin) continue;
      const std::uint32_t s = histogram[c] + rank.get(k);
      staged[s] =
          __ldcs(reinterpret_cast<const Word*>(words + std::uint64_t{k * cluster_threads + threadIdx.x} * a.in_stride));
      staged_index[s] = near_bits[k];
    }
    __syncthreads();
    const std::uint32_t inside = (a.shift < 32 ? 1U << a.shift : 0U) - 1;
#pragma unroll
    for (int k = 0; k < items; ++k) {
      const std::uint32_t s = k * cluster_threads + threadIdx.x;
      if (s >= kept) continue;
      const std::uint32_t index = staged_index[s];
      // The cluster of a staged index: its bits above the window, or, where they are past 32, by search.
      std::uint32_t c = sizeof(Index) == 4 ? index >> a.shift : 0;
      if constexpr (sizeof(Index) == 8) {
        std::uint32_t step = most_clusters / 2;
#pragma unroll 1
        for (; step > 0; step /= 2) {
          if (c + step < a.clusters && histogram[c + step] <= s) c += step;
        }
      }
      const std::uint32_t q = place[c] + s;
      const Word word = staged[s];
      if (q < a.room) {
        const std::uint64_t at = (std::uint64_t{region} * a.clusters + c) * a.room + q;
        __stcs(static_cast<OutIndex*>(a.out_index) + at, static_cast<OutIndex>(index & inside));
        __stcs(reinterpret_cast<Word*>(a.out_word) + at, word);
      } else {
        const std::uint64_t to =
            (std::uint64_t{region} << a.region_bits) + (std::uint64_t{c} << a.shift) + (index & inside);
        store_word(a.out + to * a.out_stride, word);
      }
    }
    __syncthreads();
  }
}

/// Puts a window's records in order in shared memory, and writes those that were named.
template <class Word>
__global__ void __launch_bounds__(window_threads)
    place_windows(const std::uint16_t* index, const Word* word, const std::uint32_t* fill, std::uint64_t room,
                  std::uint32_t window_bits, std::uint32_t windows, std::byte* out, std::uint64_t out_stride,
                  const order_sample sample, std::uint32_t* ticket) {
  constexpr int at_once = 8;
  extern __shared__ __align__(16) unsigned char shared[];
  Word* const placed = reinterpret_cast<Word*>(shared);
  const std::uint32_t records = 1U << window_bits;
  unsigned char* const named = shared + records * sizeof(Word);
  if (ticket != nullptr && !was_scattered(sample)) return;
  const tile_walk walk(ticket);
  for (std::uint64_t w = walk.first(); w < windows; w = walk.after(w)) {
    if (ticket != nullptr) __syncthreads();
    const auto have = static_cast<std::uint32_t>(min(std::uint64_t{fill[w]}, room));
    if (have == 0) continue;
    for (std::uint32_t i = threadIdx.x; i < records / 4; i += window_threads)
      reinterpret_cast<std::uint32_t*>(named)[i] = 0;
    __syncthreads();
    const std::uint16_t* const from_index = index + w * room;
    const Word* const from = word + w * room;
    for (std::uint32_t f = threadIdx.x; f < have; f += window_threads * at_once) {
      std::uint16_t to[at_once];
      Word moved[at_once];
#pragma unroll
      for (int k = 0; k < at_once; ++k) {
        const std::uint32_t i = min(f + k * window_threads, have - 1);
        to[k] = __ldcs(from_index + i);
        moved[k] = __ldcs(from + i);
      }
#pragma unroll
      for (int k = 0; k < at_once; ++k) {
        if (f + k * window_threads >= have) continue;
        placed[to[k]] = moved[k];
        named[to[k]] = 1;
      }
    }
    __syncthreads();
    std::byte* const to = out + (std::uint64_t{w} << window_bits) * out_stride;
#pragma unroll 8
    for (std::uint32_t i = threadIdx.x; i < records; i += window_threads) {
      if (named[i] != 0) store_streamed(to + i * out_stride, placed[i]);
    }
    __syncthreads();
  }
}

template <class Word>
class clustered_scatter {
 public:
  clustered_scatter(const context& ctx, const scatter_problem& p, const scatter_buffers& b, std::byte* scratch)
      : ctx_(ctx), p_(p), b_(b), cut_(cut_of(p)), at_(layout_of(p, cut_)), scratch_(scratch) {}

  void run() {
    index_guard guard;  // with bounds::trust an index past the output has no cluster and is left out in silence
    if (p_.bounds == bounds::check) {
      guard = state_of(ctx_).guard(core::index_role::scatter_index, p_.index, p_.far_count);
    }
    if (p_.pattern.shape == access_pattern::kind::unknown) {
      auto* const first_ticket = reinterpret_cast<std::uint32_t*>(scratch_ + at_.ticket);
      const begun_movement before = begin_scatter(
          ctx_, what, p_, cuda::arguments_of(p_, b_.in.data, b_.out.data, b_.index, guard), first_ticket + most_walks);
      if (!before.asks) return;
      sample_ = before.sample;
      moved_ = before.moved;
      tickets_ = first_ticket;
    }
    const std::uint64_t fills = (cut_.levels == 2 ? cut_.regions : 0) + cut_.windows + most_tickets;
    require(cudaMemsetAsync(scratch_ + at_.fill, 0, fills * sizeof(std::uint32_t), ctx_.stream()), what);
    bytes(p_.index) == 8 ? first_level<std::uint64_t>(guard) : first_level<std::uint32_t>(guard);
    if (cut_.levels == 2) second_level();
    place();
  }

 private:
  static constexpr const char* what = "cuda.clustered";
  static constexpr std::size_t level_shared = cluster_tile * (sizeof(Word) + sizeof(std::uint32_t));

  std::uint32_t* fill_of_regions() const { return reinterpret_cast<std::uint32_t*>(scratch_ + at_.fill); }
  std::uint32_t* fill_of_windows() const { return fill_of_regions() + (cut_.levels == 2 ? cut_.regions : 0); }

  // Where blocks may have to leave they are as many as run at once, and walk.
  std::uint64_t blocks_for(std::uint64_t tiles, std::uint32_t resident) const {
    const auto few = static_cast<std::uint64_t>(state_of(ctx_).multiprocessors()) * resident;
    constexpr std::uint64_t most = (std::uint64_t{1} << 31) - 1;
    return std::max<std::uint64_t>(1, std::min(tiles, tickets_ != nullptr ? few : most));
  }

  std::uint32_t* next_ticket() { return tickets_ == nullptr ? nullptr : tickets_ + used_tickets_++; }

  template <class Index>
  void first_level(const index_guard& guard) {
    level_arguments<Index> a{};
    a.index = static_cast<const Index*>(b_.index.data) + moved_;
    a.in = b_.in.data + moved_ * p_.near_stride_bytes;
    a.in_stride = p_.near_stride_bytes;
    a.count = p_.count - moved_;
    a.last = static_cast<Index>(
        std::min<std::uint64_t>(std::min(p_.index_limit(), p_.far_count) - 1, static_cast<Index>(~Index{0})));
    a.guard = guard;
    a.tiles = static_cast<std::uint32_t>(ceil_div(a.count, cluster_tile));
    a.regions = 1;
    a.region_bits = cut_.far_bits;
    if (cut_.levels == 2) {
      a.shift = cut_.far_bits - cut_.first_bits;
      a.clusters = cut_.regions;
      a.fill = fill_of_regions();
      a.out_index = scratch_ + at_.region_index;
      a.out_word = scratch_ + at_.region_word;
      a.room = at_.region_room;
      launch_level<Index, std::uint32_t>(a);
    } else {
      to_windows(a);
      launch_level<Index, std::uint16_t>(a);
    }
  }

  void second_level() {
    level_arguments<std::uint32_t> a{};
    a.index = reinterpret_cast<const std::uint32_t*>(scratch_ + at_.region_index);
    a.in = scratch_ + at_.region_word;
    a.in_stride = sizeof(Word);
    a.last = ~std::uint32_t{0};
    a.tiles = static_cast<std::uint32_t>(ceil_div(at_.region_room, cluster_tile));
    a.regions = cut_.regions;
    a.in_fill = fill_of_regions();
    a.in_room = at_.region_room;
    a.region_bits = cut_.far_bits - cut_.first_bits;
    to_windows(a);
    launch_level<std::uint32_t, std::uint16_t>(a);
  }

  template <class Index>
  void to_windows(level_arguments<Index>& a) {
    a.shift = cut_.window_bits;
    a.clusters = cut_.levels == 2 ? 1U << cut_.last_bits : cut_.windows;
    a.fill = fill_of_windows();
    a.out_index = scratch_ + at_.window_index;
    a.out_word = scratch_ + at_.window_word;
    a.room = at_.window_room;
  }

  template <class Index, class OutIndex>
  void launch_level(level_arguments<Index>& a) {
    a.out = b_.out.data;
    a.out_stride = p_.far_stride_bytes;
    a.sample = sample_;
    a.ticket = next_ticket();
    launch_shared(ctx_, what, split_into_clusters<Word, Index, OutIndex>,
                  blocks_for(std::uint64_t{a.tiles} * a.regions, 2), cluster_threads, level_shared, a);
  }

  void place() {
    const std::size_t shared = (sizeof(Word) + 1) << cut_.window_bits;
    launch_shared(
        ctx_, what, place_windows<Word>, blocks_for(cut_.windows, 4), window_threads, std::max<std::size_t>(shared, 16),
        reinterpret_cast<const std::uint16_t*>(scratch_ + at_.window_index),
        reinterpret_cast<const Word*>(scratch_ + at_.window_word), static_cast<const std::uint32_t*>(fill_of_windows()),
        at_.window_room, cut_.window_bits, cut_.windows, b_.out.data, p_.far_stride_bytes, sample_, next_ticket());
  }

  const context& ctx_;
  const scatter_problem& p_;
  const scatter_buffers& b_;
  cut cut_;
  layout at_;
  std::byte* scratch_;
  order_sample sample_{};
  std::uint64_t moved_ = 0;
  std::uint32_t* tickets_ = nullptr;  // where the list was of unknown order
  std::uint32_t used_tickets_ = 0;
};

void run_clustered(const context& ctx, const scatter_problem& p, const plan::planned& plan, const scatter_buffers& b) {
  const device_scope here(ctx.device());
  const core::scratch memory(ctx.state(), plan.scratch_bytes);
  with_word(p.word_bytes,
            [&](auto word) { clustered_scatter<decltype(word)>(ctx, p, b, memory.as<std::byte>()).run(); });
}

}  // namespace

constinit const primitives::scatter_variant scatter_clustered{"cuda.clustered", plan_clustered, run_clustered};

}  // namespace sheaf::cuda
