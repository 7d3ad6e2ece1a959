#include "cuda/edges/bucket_lists.hpp"

#include <utility>

#include <sheaf/cuda/detail/edge_atomics.cuh>

#include "cuda/block/rank.cuh"
#include "cuda/block/scan.cuh"
#include "cuda/device/launch.cuh"
#include "cuda/device/speeds.hpp"
#include "cuda/edges/cost.hpp"
#include "cuda/edges/row_writer.cuh"

namespace sheaf::cuda {
namespace {

using edge_kernels::end_arrays;
using edge_kernels::second_end;
using edge_kernels::slice_nodes;
using edge_kernels::whole_lists;
using primitives::edge_sum_problem;

// Placing: 256 threads with 32 edges each. Ranks are stable, by ballots in a warp and by counters of its own; atomics
// on the block's counters took 0.41 ms where this takes 0.34 (H200, 2.9 x 10^7 edges in order).
constexpr unsigned place_threads = 256;
constexpr int place_items = 32;
constexpr std::uint32_t tile_edges = place_threads * place_items;
constexpr std::uint32_t tile_ends = 2 * tile_edges;
constexpr int bucket_number_bits = 12;
constexpr std::uint32_t most_node_buckets = 1U << bucket_number_bits;

// Listing: with blocks of 1024 threads a whole call takes 1.02 ms, with blocks of 512 and half the nodes 1.09 (H200,
// 2.9 x 10^7 edges in order).
constexpr unsigned list_threads = 1024;
/// Entries of a part's lists in shared memory, by the words that an entry carries. Tables of tiles take what is left.
constexpr std::uint32_t list_capacity(std::uint32_t carried) {
  constexpr std::uint32_t capacities[] = {36 * 1024, 18 * 1024, 16 * 1024};
  return capacities[carried];
}
/// And those that are aimed at.
constexpr std::uint32_t usual_entries(std::uint32_t carried) {
  constexpr std::uint32_t usual[] = {30 * 1024, 15 * 1024, 29 * 512};
  return usual[carried];
}
constexpr std::uint32_t most_carried = 2;
constexpr std::uint32_t most_part_bits = 11;
constexpr std::uint32_t least_part_bits = 5;
constexpr std::uint32_t most_log2_parts = 3;  ///< of a bucket
/// Entries of a list that a thread sorts: as many as 64 registers hold.
constexpr std::uint32_t longest_in_registers(int carried) { return carried == 0 ? 32 : 16; }
constexpr std::uint32_t longest_of_warp = 1024;  ///< and a warp

constexpr unsigned chunk_threads = 256;
constexpr std::uint32_t chunk_warps = chunk_threads / 32;
constexpr std::uint32_t chunks_of_long_parts = 1024;  ///< of all together, if there are no more of these

/// Exclusive prefix sums of n counts in shared memory, in place. Returns their sum. All threads of the block call it;
/// it begins and ends with a barrier.
template <unsigned Threads>
__device__ __forceinline__ std::uint32_t scan_counts(std::uint32_t* counts, std::uint32_t n) {
  __shared__ std::uint32_t warp_sums[Threads / 32];
  const unsigned lane = threadIdx.x % 32;
  const unsigned warp = threadIdx.x / 32;
  const std::uint32_t each = (n + Threads - 1) / Threads;
  const std::uint32_t begin = min(threadIdx.x * each, n);
  const std::uint32_t end = min(begin + each, n);
  __syncthreads();
  std::uint32_t sum = 0;
  for (std::uint32_t k = begin; k < end; ++k) sum += counts[k];
  const std::uint32_t inclusive = inclusive_warp_sum(sum, lane);
  if (lane == 31) warp_sums[warp] = inclusive;
  __syncthreads();
  std::uint32_t at = inclusive - sum;
  std::uint32_t total = 0;
  for (unsigned w = 0; w < Threads / 32; ++w) {
    if (w == warp) at += total;
    total += warp_sums[w];
  }
  for (std::uint32_t k = begin; k < end; ++k) {
    const std::uint32_t count = counts[k];
    counts[k] = at;
    at += count;
  }
  __syncthreads();
  return total;
}

/// The rank of the lane's record among the warp's records of its bin, whose number so far is in counts; all lanes call
/// it. Stable: by calls, then by lanes.
template <int Bits, class Count>
__device__ __forceinline__ std::uint32_t rank_in_bin(std::uint32_t bin, bool takes_part, Count* counts) {
  const unsigned lane = threadIdx.x % 32;
  constexpr std::uint32_t no_bin_of_counts = 1U << Bits;
  const std::uint32_t first = __shfl_sync(~0U, bin, 0);
  const std::uint32_t peers = __all_sync(~0U, takes_part && bin == first)
                                  ? ~0U
                                  : match_any<2 * no_bin_of_counts>(takes_part ? bin : no_bin_of_counts);
  const std::uint32_t peers_before = __popc(peers & ((1U << lane) - 1));
  const std::uint32_t found = takes_part ? counts[bin] : 0;
  __syncwarp();
  if (takes_part && peers_before == 0) counts[bin] = static_cast<Count>(found + __popc(peers));
  __syncwarp();
  return found + peers_before;
}

struct place_arguments {
  end_arrays edges;
  bucket_cut cut;
  bucket_scratch to;
  unsigned long long* first_bad;
  const std::uint32_t* weights;  ///< words of all edges; null: their numbers are carried
};

/// Shared memory of place_ends: the ends in order, and where each bucket's begin. Counters of warps lie where the ends
/// come to lie.
constexpr std::size_t place_bytes(std::uint32_t buckets) {
  return tile_ends * (sizeof(std::uint32_t) + sizeof(std::uint16_t)) + buckets * sizeof(std::uint32_t);
}
static_assert(place_threads / 32 * most_node_buckets * sizeof(std::uint16_t) <= place_bytes(0));

/// Brings the ends of a tile of edges into the order of their buckets, and writes where each bucket's begin.
/// @tparam Carried  words that go with an end. They take the place of the other ends in shared memory, once these are
///                  written
template <class End, int Carried>
__global__ void __launch_bounds__(place_threads, 2) place_ends(const __grid_constant__ place_arguments args) {
  extern __shared__ __align__(16) unsigned char shared[];
  constexpr unsigned warps = place_threads / 32;
  auto* const others = reinterpret_cast<std::uint32_t*>(shared);
  auto* const locals = reinterpret_cast<std::uint16_t*>(others + tile_ends);
  auto* const begins = reinterpret_cast<std::uint32_t*>(locals + tile_ends);
  auto* const warp_counts = reinterpret_cast<std::uint16_t*>(shared);
  const std::uint32_t buckets = args.cut.buckets;
  const std::uint32_t stride = (buckets + 1) / 2 * 2;
  for (std::uint32_t k = threadIdx.x; k < warps * stride / 2; k += place_threads)
    reinterpret_cast<std::uint32_t*>(warp_counts)[k] = 0;
  const unsigned warp = threadIdx.x / 32;
  const std::uint64_t first_edge =
      std::uint64_t{blockIdx.x} * tile_edges + warp * (32 * place_items) + threadIdx.x % 32;
  // ~0 takes the place of an end that is not a node: lists number nodes with 31 bits. There is no branch between loads,
  // so that all are on their way at once.
  constexpr std::uint32_t no_node = ~0U;
  std::uint32_t i[place_items];
  std::uint32_t j[place_items];
#pragma unroll
  for (int k = 0; k < place_items; ++k) {
    const std::uint64_t e = first_edge + k * 32;
    const std::uint64_t at = min(e, args.edges.count - 1) * args.edges.stride;
    const End first = __ldcs(static_cast<const End*>(args.edges.first) + at);
    const End second = __ldcs(static_cast<const End*>(args.edges.second) + at);
    const bool is_edge = e < args.edges.count;
    i[k] = is_edge && first < args.edges.limit ? static_cast<std::uint32_t>(first) : no_node;
    j[k] = is_edge && second < args.edges.limit ? static_cast<std::uint32_t>(second) : no_node;
  }
  static_assert(place_items <= 32);
  unsigned absent = 0;  // a bit for each edge that is bad or not there
#pragma unroll
  for (int k = 0; k < place_items; ++k) {
    const bool is_absent = i[k] == no_node || j[k] == no_node;
    i[k] = is_absent ? no_node : i[k];
    absent |= is_absent ? 1U << k : 0;
  }
  for (; absent != 0; absent &= absent - 1) {
    const std::uint64_t e = first_edge + (__ffs(static_cast<int>(absent)) - 1) * 32;
    if (e < args.edges.count) edge_kernels::note_bad_edge(args.first_bad, e);
  }
  __syncthreads();
  std::uint16_t* const own_counts = warp_counts + warp * stride;
  std::uint32_t rank[place_items];  // of the first end below that of the second
#pragma unroll
  for (int k = 0; k < place_items; ++k) {
    const bool takes_part = i[k] != no_node;
    rank[k] = rank_in_bin<bucket_number_bits>(i[k] >> args.cut.bucket_bits, takes_part, own_counts);
    rank[k] |= rank_in_bin<bucket_number_bits>(j[k] >> args.cut.bucket_bits, takes_part, own_counts) << 16;
  }
  __syncthreads();
  for (std::uint32_t b = threadIdx.x; b < buckets; b += place_threads) {
    std::uint32_t sum = 0;
    for (unsigned w = 0; w < warps; ++w) {
      const std::uint32_t count = warp_counts[w * stride + b];
      warp_counts[w * stride + b] = static_cast<std::uint16_t>(sum);
      sum += count;
    }
    begins[b] = sum;
  }
  const std::uint32_t total = scan_counts<place_threads>(begins, buckets);
  std::uint16_t* const row = args.to.table + std::uint64_t{blockIdx.x} * args.cut.row;
  for (std::uint32_t b = threadIdx.x; b < args.cut.row; b += place_threads)
    row[b] = static_cast<std::uint16_t>(b < buckets ? begins[b] : total);
#pragma unroll
  for (int k = 0; k < place_items; ++k) {
    if (i[k] == no_node) continue;
    const std::uint32_t p = i[k] >> args.cut.bucket_bits;
    const std::uint32_t q = j[k] >> args.cut.bucket_bits;
    rank[k] += (begins[p] + own_counts[p]) | (begins[q] + own_counts[q]) << 16;
  }
  __syncthreads();
  const std::uint32_t mask = (1U << args.cut.bucket_bits) - 1;
#pragma unroll
  for (int k = 0; k < place_items; ++k) {
    if (i[k] == no_node) continue;
    const std::uint32_t p = rank[k] & 0xffffU;
    const std::uint32_t q = rank[k] >> 16;
    others[p] = j[k];
    others[q] = i[k] | second_end;
    locals[p] = static_cast<std::uint16_t>(i[k] & mask);
    locals[q] = static_cast<std::uint16_t>(j[k] & mask);
  }
  __syncthreads();
  // What goes with the ends is read behind the barrier, when their registers are free again, and while others are
  // written. The empty instructions keep the compiler from holding both halves of ranks, and ends in place of the bits,
  // in registers, of which it then spills 30 to 80.
  unsigned present = 0;  // a bit for each edge that is there and not bad
  std::uint32_t carried[place_items];
  const auto read_carried = [&](int w) {
    const std::uint64_t tile_begin = std::uint64_t{blockIdx.x} * tile_edges;
    const auto last = static_cast<std::uint32_t>(min(args.edges.count - tile_begin, std::uint64_t{tile_edges})) - 1;
    const std::uint32_t first = warp * (32 * place_items) + threadIdx.x % 32;
    if (Carried == 1 && args.weights == nullptr) {
#pragma unroll
      for (int k = 0; k < place_items; ++k) carried[k] = static_cast<std::uint32_t>(tile_begin) + first + k * 32;
      return;
    }
    const std::uint32_t* const weights = args.weights + tile_begin * Carried + w;
#pragma unroll
    for (int k = 0; k < place_items; ++k) carried[k] = __ldcs(weights + min(first + k * 32, last) * Carried);
  };
  if constexpr (Carried > 0) {
#pragma unroll
    for (int k = 0; k < place_items; ++k) present |= i[k] == no_node ? 0 : 1U << k;
    asm("" : "+r"(present));
    read_carried(0);
  }
  auto* const to_others = reinterpret_cast<uint4*>(args.to.others + std::uint64_t{blockIdx.x} * tile_ends);
  auto* const to_locals = reinterpret_cast<uint4*>(args.to.locals + std::uint64_t{blockIdx.x} * tile_ends);
  for (std::uint32_t k = threadIdx.x; k < (total + 3) / 4; k += place_threads)
    to_others[k] = reinterpret_cast<const uint4*>(others)[k];
  for (std::uint32_t k = threadIdx.x; k < (total + 7) / 8; k += place_threads)
    to_locals[k] = reinterpret_cast<const uint4*>(locals)[k];
  if constexpr (Carried > 0) {
    const std::uint64_t ends = std::uint64_t{args.cut.tiles} * tile_ends;
#pragma unroll
    for (int w = 0; w < Carried; ++w) {
      __syncthreads();
#pragma unroll
      for (int k = 0; k < place_items; ++k) {
        asm("" : "+r"(rank[k]));
        if ((present >> k & 1U) == 0) continue;
        others[rank[k] & 0xffffU] = carried[k];
        others[rank[k] >> 16] = carried[k];
      }
      __syncthreads();
      if (w + 1 < Carried) read_carried(w + 1);
      auto* const to_carried =
          reinterpret_cast<uint4*>(args.to.carried + w * ends + std::uint64_t{blockIdx.x} * tile_ends);
      for (std::uint32_t k = threadIdx.x; k < (total + 3) / 4; k += place_threads)
        to_carried[k] = reinterpret_cast<const uint4*>(others)[k];
    }
  }
}

constexpr std::uint32_t turned_side = 64;

/// Writes the table bucket by bucket. Entries past the last tile are not read.
__global__ void __launch_bounds__(block_threads)
    turn_table(const std::uint16_t* table, std::uint16_t* turned, const __grid_constant__ bucket_cut cut) {
  __shared__ std::uint16_t part[turned_side][turned_side + 2];
  const std::uint32_t across = (cut.buckets + turned_side) / turned_side;  // of one column more than there are buckets
  const std::uint32_t first_bucket = blockIdx.x % across * turned_side;
  const std::uint32_t first_tile = blockIdx.x / across * turned_side;
  for (std::uint32_t k = threadIdx.x; k < turned_side * turned_side / 2; k += block_threads) {
    const std::uint32_t t = k / (turned_side / 2);
    const std::uint32_t b = k % (turned_side / 2) * 2;
    if (first_tile + t >= cut.tiles || first_bucket + b >= cut.row) continue;
    const std::uint32_t two =
        *reinterpret_cast<const std::uint32_t*>(table + std::uint64_t{first_tile + t} * cut.row + first_bucket + b);
    part[t][b] = static_cast<std::uint16_t>(two);
    part[t][b + 1] = static_cast<std::uint16_t>(two >> 16);
  }
  __syncthreads();
  for (std::uint32_t k = threadIdx.x; k < turned_side * turned_side / 2; k += block_threads) {
    const std::uint32_t b = k / (turned_side / 2);
    const std::uint32_t t = k % (turned_side / 2) * 2;
    if (first_bucket + b > cut.buckets || first_tile + t >= cut.turned_row) continue;
    *reinterpret_cast<std::uint32_t*>(turned + std::uint64_t{first_bucket + b} * cut.turned_row + first_tile + t) =
        part[t][b] | std::uint32_t{part[t + 1][b]} << 16;
  }
}

/// Ends of each bucket; a warp takes a bucket.
__global__ void __launch_bounds__(block_threads)
    count_buckets(const std::uint16_t* turned, const __grid_constant__ bucket_cut cut, std::uint32_t* counts) {
  const std::uint32_t b = blockIdx.x * (block_threads / 32) + threadIdx.x / 32;
  if (b >= cut.buckets) return;
  const std::uint16_t* const begins = turned + std::uint64_t{b} * cut.turned_row;
  std::uint32_t sum = 0;
  for (std::uint32_t t = threadIdx.x % 32; t < cut.tiles; t += 32)
    sum += std::uint32_t{begins[cut.turned_row + t]} - begins[t];
  sum = __reduce_add_sync(~0U, sum);
  if (threadIdx.x % 32 == 0) counts[b] = sum;
}

/// Where the lists of each bucket begin, in place of its number of ends. One block.
__global__ void __launch_bounds__(list_threads) begin_buckets(std::uint32_t* counts, std::uint32_t buckets) {
  extern __shared__ __align__(16) unsigned char shared[];
  auto* const begins = reinterpret_cast<std::uint32_t*>(shared);
  for (std::uint32_t b = threadIdx.x; b < buckets; b += list_threads) begins[b] = counts[b];
  const std::uint32_t total = scan_counts<list_threads>(begins, buckets);
  for (std::uint32_t b = threadIdx.x; b <= buckets; b += list_threads) counts[b] = b == buckets ? total : begins[b];
}

/// The ends of a bucket in a range of tiles, of which each warp of a block takes an equal share.
class bucket_ends {
 public:
  /// Tiles that a warp looks at at once.
  static constexpr std::uint32_t group = 32;

  /// @param group_begins  shared memory for one number more than there are groups of tiles
  __device__ bucket_ends(const bucket_scratch& from, const bucket_cut& cut, std::uint32_t bucket,
                         std::uint32_t first_tile, std::uint32_t tiles, std::uint32_t* group_begins)
      : begins_(from.turned + std::uint64_t{bucket} * cut.turned_row + first_tile),
        ends_(begins_ + cut.turned_row),
        first_tile_(first_tile),
        tiles_(tiles),
        groups_((tiles + group - 1) / group),
        group_begins_(group_begins) {}

  /// Counts the ends. All threads of the block call it; it ends with a barrier.
  template <unsigned Threads>
  __device__ __forceinline__ void count() {
    const unsigned lane = threadIdx.x % 32;
    for (std::uint32_t g = threadIdx.x / 32; g < groups_; g += Threads / 32) {
      const std::uint32_t t = g * group + lane;
      const std::uint32_t sum = __reduce_add_sync(~0U, t < tiles_ ? std::uint32_t{ends_[t]} - begins_[t] : 0);
      if (lane == 0) group_begins_[g] = sum;
    }
    count_ = scan_counts<Threads>(group_begins_, groups_);
    if (threadIdx.x == 0) group_begins_[groups_] = count_;
    __syncthreads();
  }

  static constexpr int steps = 4;
  using places = std::uint32_t[steps];
  using flags = bool[steps];

  /// Calls f(place, is_end) for the ends of the warp, 32 times `steps` at a time, in the order of tiles and of places
  /// in them: lane l has the ends l, 32 + l and so on. Where is_end[k] is not set, place[k] is that of another end.
  template <unsigned Threads, class F>
  __device__ __forceinline__ void for_each(F f) const {
    constexpr std::uint32_t warps = Threads / 32;
    const unsigned lane = threadIdx.x % 32;
    const std::uint32_t share = (count_ + warps * 32 - 1) / (warps * 32) * 32;
    std::uint32_t at = min(threadIdx.x / 32 * share, count_);
    const std::uint32_t end = min(at + share, count_);
    std::uint32_t low = 0;
    for (std::uint32_t high = groups_; high - low > 1;) {
      const std::uint32_t middle = (low + high) / 2;
      if (group_begins_[middle] <= at) {
        low = middle;
      } else {
        high = middle;
      }
    }
    for (std::uint32_t g = low; at < end; ++g) {
      const std::uint32_t t = g * group + lane;
      const std::uint32_t first = t < tiles_ ? begins_[t] : 0;
      const std::uint32_t length = t < tiles_ ? ends_[t] - first : 0;
      const std::uint32_t inclusive = inclusive_warp_sum(length, lane);
      const std::uint32_t origin = (first_tile_ + t) * tile_ends + first - (inclusive - length);
      const std::uint32_t stop = min(end, group_begins_[g + 1]) - group_begins_[g];
      for (std::uint32_t step = at - group_begins_[g]; step < stop; step += 32 * steps) {
        places place;
        flags is_end;
#pragma unroll
        for (int k = 0; k < steps; ++k) {
          const std::uint32_t wanted = step + k * 32 + lane;
          const std::uint32_t n = min(wanted, stop - 1);
          is_end[k] = wanted == n;
          unsigned tile = 0;  // the first of the group whose ends, and those before it, are more than n
#pragma unroll
          for (unsigned half = group / 2; half > 0; half /= 2) {
            const std::uint32_t before = __shfl_sync(~0U, inclusive, tile + half - 1);
            if (before <= n) tile += half;
          }
          place[k] = __shfl_sync(~0U, origin, tile) + n;
        }
        f(place, is_end);
      }
      at = group_begins_[g] + stop;
    }
  }

 private:
  const std::uint16_t* begins_;
  const std::uint16_t* ends_;
  std::uint32_t first_tile_;
  std::uint32_t tiles_;
  std::uint32_t groups_;
  std::uint32_t* group_begins_;
  std::uint32_t count_ = 0;
};

struct list_kernel_arguments {
  bucket_cut cut;
  bucket_scratch from;
  row_outputs to;
  std::uint64_t nodes;
};

/// A part, and where its nodes begin.
struct part_range {
  std::uint32_t bucket;
  std::uint32_t local_begin;  ///< in the bucket
  std::uint64_t first_node;

  __device__ part_range(const bucket_cut& cut, std::uint32_t part)
      : bucket(part >> (cut.bucket_bits - cut.part_bits)),
        local_begin((part << cut.part_bits) - (bucket << cut.bucket_bits)),
        first_node(std::uint64_t{part} << cut.part_bits) {}
};

/// An entry of a list: the other end, and the words that go with it. In shared memory, each of its words lies as many
/// words behind the one before as a part's lists have entries at most.
template <int Carried>
struct list_words {
  std::uint32_t word[1 + Carried];

  /// Behind every entry of a list: the other end is no node.
  __device__ __forceinline__ list_words() {
#pragma unroll
    for (std::uint32_t& w : word) w = ~0U;
  }
  __device__ __forceinline__ explicit list_words(const std::uint32_t* at) {
#pragma unroll
    for (int w = 0; w <= Carried; ++w) word[w] = at[w * list_capacity(Carried)];
  }
  __device__ __forceinline__ void store(std::uint32_t* at) const {
#pragma unroll
    for (int w = 0; w <= Carried; ++w) at[w * list_capacity(Carried)] = word[w];
  }
  __device__ __forceinline__ list_words of_lane(unsigned lane) const {
    list_words other;
#pragma unroll
    for (int w = 0; w <= Carried; ++w) other.word[w] = __shfl_sync(~0U, word[w], lane);
    return other;
  }
  /// By the other end, and then by the bits that go with it, so that entries which are alike contribute the same.
  friend __device__ __forceinline__ bool operator<(const list_words& a, const list_words& b) {
    if constexpr (Carried == 0) {
      return a.word[0] < b.word[0];
    } else {
      const std::uint64_t of_a = std::uint64_t{a.word[0]} << 32 | a.word[1];
      const std::uint64_t of_b = std::uint64_t{b.word[0]} << 32 | b.word[1];
      if constexpr (Carried == 1) return of_a < of_b;
      return of_a < of_b || (of_a == of_b && a.word[Carried] < b.word[Carried]);
    }
  }
};

template <int Carried>
__device__ __forceinline__ void put_in_order(list_words<Carried>& low, list_words<Carried>& high) {
  const list_words<Carried> a = low;
  const list_words<Carried> b = high;
  if constexpr (Carried == 0) {
    low.word[0] = min(a.word[0], b.word[0]);
    high.word[0] = max(a.word[0], b.word[0]);
  } else {
    const bool are_swapped = b < a;
#pragma unroll
    for (int w = 0; w <= Carried; ++w) {
      low.word[w] = are_swapped ? b.word[w] : a.word[w];
      high.word[w] = are_swapped ? a.word[w] : b.word[w];
    }
  }
}

/// The comparators of Batcher's odd-even merge sort of N words.
template <int N>
struct merge_network {
  template <class Use>
  static constexpr void for_each(Use use) {
    for (int p = 1; p < N; p *= 2) {
      for (int k = p; k >= 1; k /= 2) {
        for (int j = k % p; j <= N - 1 - k; j += 2 * k) {
          for (int i = 0; i < k && i < N - j - k; ++i) {
            if ((i + j) / (2 * p) == (i + j + k) / (2 * p)) use(i + j, i + j + k);
          }
        }
      }
    }
  }
  static constexpr int count = [] {
    int comparators = 0;
    for_each([&](int, int) { ++comparators; });
    return comparators;
  }();
  struct comparator {
    int low;
    int high;
  };
  struct table {
    comparator at[count];
  };
  static constexpr table comparators = [] {
    table all{};
    int made = 0;
    for_each([&](int low, int high) { all.at[made++] = {low, high}; });
    return all;
  }();
  template <int C, class Entry>
  static __device__ __forceinline__ void compare(Entry (&entry)[N]) {
    constexpr comparator c = comparators.at[C];
    put_in_order(entry[c.low], entry[c.high]);
  }
  template <class Entry, int... C>
  static __device__ __forceinline__ void sort(Entry (&entry)[N], std::integer_sequence<int, C...>) {
    (compare<C>(entry), ...);
  }
};

/// Sorts a list of at most N entries in registers.
template <int N, int Carried>
__device__ __forceinline__ void sort_in_registers(std::uint32_t* list, std::uint32_t length) {
  list_words<Carried> entry[N];
#pragma unroll
  for (std::uint32_t k = 0; k < N; ++k) entry[k] = k < length ? list_words<Carried>(list + k) : list_words<Carried>();
  merge_network<N>::sort(entry, std::make_integer_sequence<int, merge_network<N>::count>{});
#pragma unroll
  for (std::uint32_t k = 0; k < N; ++k) {
    if (k < length) entry[k].store(list + k);
  }
}

/// Sorts a list of at most 32 entries, one in each lane of a warp (bitonic sort).
template <int Carried>
__device__ __forceinline__ void sort_in_lanes(std::uint32_t* list, std::uint32_t length) {
  const unsigned lane = threadIdx.x % 32;
  list_words<Carried> entry = lane < length ? list_words<Carried>(list + lane) : list_words<Carried>();
#pragma unroll
  for (unsigned run = 2; run <= 32; run *= 2) {
#pragma unroll
    for (unsigned step = run / 2; step > 0; step /= 2) {
      const list_words<Carried> other = entry.of_lane(lane ^ step);
      const bool takes_less = ((lane & step) == 0) == ((lane & run) == 0);
      if (takes_less ? other < entry : entry < other) entry = other;
    }
  }
  if (lane < length) entry.store(list + lane);
}

/// Sorts a list in shared memory by `threads` threads, which `meet` brings together (bitonic merge sort whose
/// comparators all ascend, so that words past the end, which would be the greatest, need not be there).
template <int Carried, class Meet>
__device__ __forceinline__ void sort_together(std::uint32_t* list, std::uint32_t length, unsigned thread,
                                              unsigned threads, Meet meet) {
  for (std::uint32_t run = 2; run < 2 * length; run *= 2) {
    for (std::uint32_t step = run / 2; step > 0; step /= 2) {
      meet();
      for (std::uint32_t n = thread;; n += threads) {
        const std::uint32_t low = n / step * (2 * step) + n % step;
        if (low >= length) break;
        // The first step of a run compares with the mirrored place in its other half.
        const std::uint32_t high = step == run / 2 ? low + run - 1 - 2 * (low % run) : low + step;
        if (high >= length) continue;
        const list_words<Carried> a(list + low);
        const list_words<Carried> b(list + high);
        if (b < a) {
          b.store(list + low);
          a.store(list + high);
        }
      }
    }
  }
  meet();
}

/// Shared memory of a block that lists parts.
constexpr std::size_t list_bytes(const bucket_cut& cut) {
  const std::uint32_t groups = (cut.tiles + bucket_ends::group - 1) / bucket_ends::group;
  return ((1 + cut.carried) * list_capacity(cut.carried) + (std::size_t{1} << cut.part_bits) + groups + 1) *
         sizeof(std::uint32_t);
}

/// Sorts the lists of a part, each of which ends where `ends` says.
template <int Carried>
__device__ __forceinline__ void sort_lists(std::uint32_t* lists, const std::uint32_t* ends, std::uint32_t nodes) {
  constexpr std::uint32_t longest_of_thread = longest_in_registers(Carried);
  __shared__ std::uint32_t long_lists[list_capacity(Carried) / longest_of_warp];
  __shared__ std::uint32_t long_count;
  const unsigned lane = threadIdx.x % 32;
  if (threadIdx.x == 0) long_count = 0;
  __syncthreads();
  for (std::uint32_t k = threadIdx.x; k < nodes; k += list_threads) {  // whole warps
    const std::uint32_t begin = k == 0 ? 0 : ends[k - 1];
    const std::uint32_t length = ends[k] - begin;
    if (length <= longest_of_thread / 2) {
      sort_in_registers<longest_of_thread / 2, Carried>(lists + begin, length);
    } else if (length <= longest_of_thread) {
      sort_in_registers<longest_of_thread, Carried>(lists + begin, length);
    } else if (length > longest_of_warp) {
      long_lists[atomicAdd(&long_count, 1U)] = k;
    }
    unsigned left = __ballot_sync(~0U, length > longest_of_thread && length <= longest_of_warp);
    for (; left != 0; left &= left - 1) {
      const int which = __ffs(static_cast<int>(left)) - 1;
      std::uint32_t* const list = lists + __shfl_sync(~0U, begin, which);
      const std::uint32_t entries = __shfl_sync(~0U, length, which);
      if constexpr (longest_of_thread < 32) {
        if (entries <= 32) {
          sort_in_lanes<Carried>(list, entries);
          continue;
        }
      }
      sort_together<Carried>(list, entries, lane, 32, [] { __syncwarp(); });
    }
  }
  __syncthreads();
  for (std::uint32_t n = 0; n < long_count; ++n) {
    const std::uint32_t k = long_lists[n];
    const std::uint32_t begin = k == 0 ? 0 : ends[k - 1];
    sort_together<Carried>(lists + begin, ends[k] - begin, threadIdx.x, list_threads, [] { __syncthreads(); });
  }
}

/// Writes the words that an entry carries beside the others.
template <int Carried>
__device__ __forceinline__ void write_carried(std::uint32_t* to, std::uint64_t at,
                                              const std::uint32_t (&word)[Carried]) {
  if constexpr (Carried == 1) {
    to[at] = word[0];
  } else {
    reinterpret_cast<uint2*>(to)[at] = make_uint2(word[0], word[1]);
  }
}

/// Writes the lists of a part in rows. `base` is where they begin.
template <int Carried>
__device__ __forceinline__ void write_part(const list_kernel_arguments& args, const part_range& part,
                                           const std::uint32_t* lists, const std::uint32_t* ends, std::uint32_t base) {
  const unsigned lane = threadIdx.x % 32;
  for (std::uint32_t k = threadIdx.x; k < args.cut.part_nodes(); k += list_threads) {
    if (part.first_node + k - lane >= args.nodes) break;
    const std::uint32_t begin = k == 0 ? 0 : ends[k - 1];
    const std::uint32_t length = ends[k] - begin;
    const row_writer rows(length, args.to.longest);
    if (part.first_node + k < args.nodes) args.to.begins[part.first_node + k] = rows.begin_word(base + begin);
    const std::uint32_t first = __shfl_sync(~0U, begin, 0);
    rows.for_each(begin - first, [&](std::uint32_t at, std::uint32_t from) {
      args.to.others[base + first + at] = lists[first + from];
      if constexpr (Carried > 0) {
        std::uint32_t word[Carried];
#pragma unroll
        for (int w = 0; w < Carried; ++w) word[w] = lists[(w + 1) * list_capacity(Carried) + first + from];
        write_carried<Carried>(args.to.edges, base + first + at, word);
      }
    });
  }
}

/// Lists the ends of a part in shared memory. A part that has too many is left to the kernels of long parts.
template <int Carried>
__global__ void __launch_bounds__(list_threads, 1) list_parts(const __grid_constant__ list_kernel_arguments args) {
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ std::uint32_t ends_before;  // of the bucket's parts before this one
  auto* const lists = reinterpret_cast<std::uint32_t*>(shared);
  std::uint32_t* const counts = lists + (1 + Carried) * list_capacity(Carried);
  const std::uint32_t nodes = args.cut.part_nodes();
  const std::uint64_t ends_of_tiles = std::uint64_t{args.cut.tiles} * tile_ends;
  const part_range part(args.cut, blockIdx.x);
  bucket_ends ends(args.from, args.cut, part.bucket, 0, args.cut.tiles, counts + nodes);
  for (std::uint32_t k = threadIdx.x; k < nodes; k += list_threads) counts[k] = 0;
  if (threadIdx.x == 0) ends_before = 0;
  ends.count<list_threads>();
  std::uint32_t before = 0;
  ends.for_each<list_threads>([&](const bucket_ends::places& place, const bucket_ends::flags& is_end) {
    std::uint32_t local[bucket_ends::steps];
#pragma unroll
    for (int k = 0; k < bucket_ends::steps; ++k) local[k] = __ldg(args.from.locals + place[k]);
#pragma unroll
    for (int k = 0; k < bucket_ends::steps; ++k) {
      if (!is_end[k]) continue;
      if (local[k] < part.local_begin) ++before;
      if (local[k] - part.local_begin < nodes) atomicAdd(counts + (local[k] - part.local_begin), 1U);
    }
  });
  before = __reduce_add_sync(~0U, before);
  if (threadIdx.x % 32 == 0 && before != 0) atomicAdd(&ends_before, before);
  const std::uint32_t entries = scan_counts<list_threads>(counts, nodes);
  const std::uint32_t base = args.from.begins[part.bucket] + ends_before;
  if (threadIdx.x == 0 && part.first_node + nodes >= args.nodes) args.to.begins[args.nodes] = base + entries;
  if (entries > list_capacity(Carried)) {
    if (threadIdx.x == 0) {
      std::uint32_t* const to = args.from.long_part + 1 + 2 * atomicAdd(args.from.long_part, 1U);
      to[0] = blockIdx.x;
      to[1] = base;
    }
    return;
  }
  ends.for_each<list_threads>([&](const bucket_ends::places& place, const bucket_ends::flags& is_end) {
    std::uint32_t local[bucket_ends::steps];
    list_words<Carried> entry[bucket_ends::steps];
#pragma unroll
    for (int k = 0; k < bucket_ends::steps; ++k) {
      local[k] = __ldg(args.from.locals + place[k]) - part.local_begin;
      entry[k].word[0] = __ldg(args.from.others + place[k]);
#pragma unroll
      for (int w = 0; w < Carried; ++w) entry[k].word[1 + w] = __ldg(args.from.carried + w * ends_of_tiles + place[k]);
    }
#pragma unroll
    for (int k = 0; k < bucket_ends::steps; ++k) {
      if (is_end[k] && local[k] < nodes) entry[k].store(lists + atomicAdd(counts + local[k], 1U));
    }
  });
  __syncthreads();
  sort_lists<Carried>(lists, counts, nodes);
  write_part<Carried>(args, part, lists, counts, base);
}

/// A chunk of a long part: a range of tiles.
struct part_chunk {
  std::uint32_t part;
  std::uint32_t base;  ///< where the part's lists begin
  std::uint32_t first_tile;
  std::uint32_t tiles;

  /// @param chunks  of each long part
  __device__ part_chunk(const list_kernel_arguments& args, std::uint32_t item, std::uint32_t chunks) {
    const std::uint32_t* const from = args.from.long_part + 1 + 2 * (item / chunks);
    part = from[0];
    base = from[1];
    const std::uint64_t chunk = item % chunks;
    first_tile = static_cast<std::uint32_t>(args.cut.tiles * chunk / chunks);
    tiles = static_cast<std::uint32_t>(args.cut.tiles * (chunk + 1) / chunks) - first_tile;
  }
};

/// Chunks of each long part.
__device__ __forceinline__ std::uint32_t chunks_of(std::uint32_t long_parts, std::uint32_t tiles) {
  return min(tiles, max(1U, chunks_of_long_parts / long_parts));
}

/// Shared memory of a block that takes chunks: counts of nodes, for each warp or for all, and groups of tiles.
constexpr std::size_t chunk_bytes(const bucket_cut& cut, std::uint32_t warps) {
  const std::uint32_t groups = (cut.tiles + bucket_ends::group - 1) / bucket_ends::group;
  return ((std::size_t{warps} << cut.part_bits) + groups + 1) * sizeof(std::uint32_t);
}

/// Counts the ends of each node of a long part in each chunk. Blocks take chunks in turn.
__global__ void __launch_bounds__(chunk_threads) count_chunks(const __grid_constant__ list_kernel_arguments args) {
  extern __shared__ __align__(16) unsigned char shared[];
  const std::uint32_t long_parts = *args.from.long_part;
  if (long_parts == 0) return;
  auto* const counts = reinterpret_cast<std::uint32_t*>(shared);
  const std::uint32_t nodes = args.cut.part_nodes();
  const std::uint32_t chunks = chunks_of(long_parts, args.cut.tiles);
  for (std::uint32_t item = blockIdx.x; item < long_parts * chunks; item += gridDim.x) {
    const part_chunk chunk(args, item, chunks);
    const part_range part(args.cut, chunk.part);
    __syncthreads();
    for (std::uint32_t k = threadIdx.x; k < nodes; k += chunk_threads) counts[k] = 0;
    bucket_ends ends(args.from, args.cut, part.bucket, chunk.first_tile, chunk.tiles, counts + nodes);
    ends.count<chunk_threads>();
    ends.for_each<chunk_threads>([&](const bucket_ends::places& place, const bucket_ends::flags& is_end) {
#pragma unroll
      for (int k = 0; k < bucket_ends::steps; ++k) {
        const std::uint32_t local = __ldg(args.from.locals + place[k]) - part.local_begin;
        if (is_end[k] && local < nodes) atomicAdd(counts + local, 1U);
      }
    });
    __syncthreads();
    std::uint32_t* const to = args.from.part_counts + (std::uint64_t{item} << args.cut.part_bits);
    for (std::uint32_t k = threadIdx.x; k < nodes; k += chunk_threads) to[k] = counts[k];
  }
}

/// Where the lists of a long part begin, and where each chunk's entries of them do, in place of their number. Blocks
/// take parts in turn.
__global__ void __launch_bounds__(chunk_threads) begin_long_lists(const __grid_constant__ list_kernel_arguments args) {
  extern __shared__ __align__(16) unsigned char shared[];
  const std::uint32_t long_parts = *args.from.long_part;
  if (long_parts == 0) return;
  auto* const begins = reinterpret_cast<std::uint32_t*>(shared);
  const std::uint32_t nodes = args.cut.part_nodes();
  const std::uint32_t chunks = chunks_of(long_parts, args.cut.tiles);
  for (std::uint32_t n = blockIdx.x; n < long_parts; n += gridDim.x) {
    const part_chunk chunk(args, n * chunks, chunks);
    const part_range part(args.cut, chunk.part);
    std::uint32_t* const counts = args.from.part_counts + (std::uint64_t{n} * chunks << args.cut.part_bits);
    __syncthreads();
    for (std::uint32_t k = threadIdx.x; k < nodes; k += chunk_threads) {
      std::uint32_t sum = 0;
      for (std::uint32_t c = 0; c < chunks; ++c) {
        const std::uint64_t at = (std::uint64_t{c} << args.cut.part_bits) + k;
        const std::uint32_t count = counts[at];
        counts[at] = sum;
        sum += count;
      }
      begins[k] = sum;
      if (sum >= edge_kernels::long_list) atomicMax(args.to.longest, sum);
    }
    scan_counts<chunk_threads>(begins, nodes);
    for (std::uint32_t k = threadIdx.x; k < nodes; k += chunk_threads) {
      const std::uint32_t begin = chunk.base + begins[k];
      for (std::uint32_t c = 0; c < chunks; ++c) counts[(std::uint64_t{c} << args.cut.part_bits) + k] += begin;
      if (part.first_node + k < args.nodes) {
        args.to.begins[part.first_node + k] = begin + (k % slice_nodes == 0 ? whole_lists : 0);
      }
    }
  }
}

/// Writes the lists of long parts, one after another. Each warp takes a share of a chunk, stably: it counts its ends of
/// each node, warps before it come first, and ballots rank those that come at once.
template <int Carried>
__global__ void __launch_bounds__(chunk_threads) write_long_lists(const __grid_constant__ list_kernel_arguments args) {
  extern __shared__ __align__(16) unsigned char shared[];
  const std::uint32_t long_parts = *args.from.long_part;
  if (long_parts == 0) return;
  auto* const places = reinterpret_cast<std::uint32_t*>(shared);
  const std::uint32_t nodes = args.cut.part_nodes();
  std::uint32_t* const own_places = places + threadIdx.x / 32 * nodes;
  const std::uint32_t chunks = chunks_of(long_parts, args.cut.tiles);
  for (std::uint32_t item = blockIdx.x; item < long_parts * chunks; item += gridDim.x) {
    const part_chunk chunk(args, item, chunks);
    const part_range part(args.cut, chunk.part);
    __syncthreads();
    for (std::uint32_t k = threadIdx.x; k < chunk_warps * nodes; k += chunk_threads) places[k] = 0;
    bucket_ends ends(args.from, args.cut, part.bucket, chunk.first_tile, chunk.tiles, places + chunk_warps * nodes);
    ends.count<chunk_threads>();
    ends.for_each<chunk_threads>([&](const bucket_ends::places& place, const bucket_ends::flags& is_end) {
#pragma unroll
      for (int k = 0; k < bucket_ends::steps; ++k) {
        const std::uint32_t local = __ldg(args.from.locals + place[k]) - part.local_begin;
        if (is_end[k] && local < nodes) atomicAdd(own_places + local, 1U);
      }
    });
    __syncthreads();
    const std::uint32_t* const begins = args.from.part_counts + (std::uint64_t{item} << args.cut.part_bits);
    for (std::uint32_t k = threadIdx.x; k < nodes; k += chunk_threads) {
      std::uint32_t sum = begins[k];
      for (std::uint32_t w = 0; w < chunk_warps; ++w) {
        const std::uint32_t count = places[w * nodes + k];
        places[w * nodes + k] = sum;
        sum += count;
      }
    }
    __syncthreads();
    ends.for_each<chunk_threads>([&](const bucket_ends::places& place, const bucket_ends::flags& is_end) {
#pragma unroll 1  // unrolled, it takes more predicates than there are
      for (int k = 0; k < bucket_ends::steps; ++k) {
        const std::uint32_t local = __ldg(args.from.locals + place[k]) - part.local_begin;
        const bool takes_part = is_end[k] && local < nodes;
        const std::uint32_t to = rank_in_bin<most_part_bits>(local, takes_part, own_places);
        if (!takes_part) continue;
        args.to.others[to] = __ldg(args.from.others + place[k]);
        if constexpr (Carried > 0) {
          const std::uint64_t ends_of_tiles = std::uint64_t{args.cut.tiles} * tile_ends;
          std::uint32_t word[Carried];
#pragma unroll
          for (int w = 0; w < Carried; ++w) word[w] = __ldg(args.from.carried + w * ends_of_tiles + place[k]);
          write_carried<Carried>(args.to.edges, to, word);
        }
      }
    });
  }
}

std::uint32_t chunk_items(const bucket_cut& cut) {
  return cut.long_parts == 0 ? 0 : std::max(chunks_of_long_parts, cut.long_parts);
}

}  // namespace

bucket_cut::bucket_cut(const edge_sum_problem& p) noexcept {
  const std::uint64_t words = p.weight_components * p.value_bytes() / sizeof(std::uint32_t);
  carries_weights = words > 0 && words <= most_carried;
  carried = carries_weights ? static_cast<std::uint32_t>(words) : words > 0 ? 1 : 0;
  constexpr std::uint64_t blocks = 132;  // of which a device has about as many multiprocessors
  const std::uint64_t mean = std::max<std::uint64_t>(1, ceil_div(2 * p.edges, std::max<std::uint64_t>(1, p.nodes)));
  const std::uint64_t aimed_at = usual_entries(carried);
  const std::uint64_t usual =
      std::min(aimed_at / std::min(mean, aimed_at), std::max<std::uint64_t>(1, p.nodes / blocks));
  const auto usual_bits = static_cast<std::uint32_t>(std::bit_width(std::max<std::uint64_t>(1, usual)) - 1);
  part_bits = std::clamp(usual_bits, least_part_bits, most_part_bits);
  bucket_bits = part_bits;
  while (bucket_bits < part_bits + most_log2_parts && p.nodes > std::uint64_t{most_node_buckets} << bucket_bits)
    ++bucket_bits;
  buckets = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(ceil_div(p.nodes, std::uint64_t{1} << bucket_bits), most_node_buckets));
  tiles = static_cast<std::uint32_t>(ceil_div(p.edges, tile_edges));
  row = (buckets + 2) / 2 * 2;
  turned_row = (tiles + 1) / 2 * 2;
  long_parts = static_cast<std::uint32_t>(std::min<std::uint64_t>(2 * p.edges / list_capacity(carried), parts()));
}

void bucket_cut::tell(plan::told& to) const { to.add("buckets", buckets).add("nodes of a part", part_nodes()); }

const char* bucket_rejection(const edge_sum_problem& p, const bucket_cut& cut, const plan::scope& in) noexcept {
  if (p.edges == 0 || p.nodes == 0) return "there is nothing to put in order";
  if (ceil_div(p.edges, tile_edges) * tile_ends >> 32 != 0) return "it numbers ends with 32 bits";
  if (!suits_rows(p)) return "lists are longer than a thread should sum";
  if (p.nodes > std::uint64_t{cut.buckets} << cut.bucket_bits) return "there are more nodes than its buckets have";
  if (in.context == nullptr) return nullptr;  // a plan for a machine of another day has no device to ask
  constexpr std::uint64_t table_bytes = 4 * 1024;
  const std::uint64_t most_bytes = static_cast<const cuda_state*>(in.context)->shared_bytes_of_block();
  return std::max(list_bytes(cut), place_bytes(cut.buckets)) + table_bytes <= most_bytes
             ? nullptr
             : "a block of this device has too little shared memory for a part";
}

bucket_scratch::bucket_scratch(const bucket_cut& cut, core::scratch_arrays& arrays)
    : others(arrays.take<std::uint32_t>(std::uint64_t{cut.tiles} * tile_ends)),
      locals(arrays.take<std::uint16_t>(std::uint64_t{cut.tiles} * tile_ends)),
      carried(arrays.take<std::uint32_t>(std::uint64_t{cut.tiles} * tile_ends * cut.carried)),
      table(arrays.take<std::uint16_t>(std::uint64_t{cut.tiles} * cut.row)),
      turned(arrays.take<std::uint16_t>((std::uint64_t{cut.buckets} + 1) * cut.turned_row)),
      begins(arrays.take<std::uint32_t>(cut.buckets + 1)),
      long_part(arrays.take<std::uint32_t>(2 * std::uint64_t{cut.long_parts} + 1)),
      part_counts(arrays.take<std::uint32_t>(std::uint64_t{chunk_items(cut)} << cut.part_bits)) {}

namespace {

/// The kernels of lists that carry so many words.
struct bucket_list_kernels {
  void (*place_narrow)(place_arguments);
  void (*place_wide)(place_arguments);
  void (*list)(list_kernel_arguments);
  void (*write_long)(list_kernel_arguments);
};
template <int Carried>
constexpr bucket_list_kernels kernels_that_carry{place_ends<std::uint32_t, Carried>, place_ends<std::uint64_t, Carried>,
                                                 list_parts<Carried>, write_long_lists<Carried>};

}  // namespace

void queue_bucket_lists(const context& ctx, const edge_sum_problem& p, const end_arrays& edges, const void* weights,
                        const bucket_cut& cut, const bucket_scratch& scratch, const row_outputs& to,
                        unsigned long long* first_bad) {
  const bucket_list_kernels kernels = cut.carried == 0   ? kernels_that_carry<0>
                                      : cut.carried == 1 ? kernels_that_carry<1>
                                                         : kernels_that_carry<2>;
  require(cudaMemsetAsync(scratch.long_part, 0, sizeof *scratch.long_part, ctx.stream()), ctx);
  require(cudaMemsetAsync(to.longest, 0, sizeof *to.longest, ctx.stream()), ctx);
  launch_shared(ctx, edges.is_wide ? kernels.place_wide : kernels.place_narrow, cut.tiles, place_threads,
                place_bytes(cut.buckets),
                place_arguments{edges, cut, scratch, first_bad, static_cast<const std::uint32_t*>(weights)});
  launch(ctx, turn_table, ceil_div(cut.buckets + 1, turned_side) * ceil_div(cut.tiles, turned_side), scratch.table,
         scratch.turned, cut);
  launch(ctx, count_buckets, ceil_div(cut.buckets, block_threads / 32), scratch.turned, cut, scratch.begins);
  launch_shared(ctx, begin_buckets, 1, list_threads, cut.buckets * sizeof(std::uint32_t), scratch.begins, cut.buckets);
  const list_kernel_arguments args{cut, scratch, to, p.nodes};
  launch_shared(ctx, kernels.list, cut.parts(), list_threads, list_bytes(cut), args);
  if (cut.long_parts == 0) return;
  constexpr std::uint64_t blocks_of_a_multiprocessor = 2;
  const std::uint64_t blocks = blocks_of_a_multiprocessor * static_cast<unsigned>(state_of(ctx).multiprocessors());
  launch_shared(ctx, count_chunks, blocks, chunk_threads, chunk_bytes(cut, 1), args);
  launch_shared(ctx, begin_long_lists, std::min<std::uint64_t>(blocks, cut.long_parts), chunk_threads,
                chunk_bytes(cut, 1), args);
  launch_shared(ctx, kernels.write_long, blocks, chunk_threads, chunk_bytes(cut, chunk_warps), args);
}

namespace {

/// Fitted to an H200, 2.9 x 10^7 and 5.6 x 10^7 edges of a box of tetrahedra: 14 and 17 ps an edge in order, 16 and 24
/// at random. With words that are carried, to 10^6 to 3 x 10^7 edges with weights of f32 and f64.
struct bucket_list_tuning {
  double ends_placed = 0.0166;  ///< ends of which the ranks are found in the time in which the L2 cache moves a byte
  double ends_listed = 0.0115;  ///< ends that are listed in that time
  double placed_with_a_word = 0.35;  ///< time that a word which is carried adds, of that without
  double listed_with_a_word = 0.45;
  double listed_again = 0.4;  ///< and each part of a bucket behind the first
};
constexpr bucket_list_tuning tuning_of_bucket_lists;

}  // namespace

void add_bucket_list_cost(const edge_sum_problem& p, const bucket_cut& cut, const machine& m, plan::planned& plan) {
  const std::uint64_t ends = 2 * p.edges;
  const auto phase = [&](const char* name, std::uint64_t streamed, double handled, double shares) {
    plan::planned seconds;
    seconds.add_overlapped(3, {{"streamed", m.streamed(streamed, streamed)},
                               {"handled", instruction_seconds(static_cast<double>(ends) * shares, handled, m)}});
    plan.add(name, m.step_seconds + seconds.seconds);
  };
  // Few tiles and few parts leave multiprocessors idle.
  const auto whole = [&](std::uint64_t blocks, std::uint64_t at_once) {
    return static_cast<double>(ceil_div(blocks, at_once) * at_once) / static_cast<double>(blocks);
  };
  const std::uint64_t multiprocessors = std::max<std::uint64_t>(1, m.parallelism);
  const std::uint64_t table = std::uint64_t{cut.tiles} * cut.row * 2;
  const std::uint64_t weights = cut.carries_weights ? p.edges * 4 * cut.carried : 0;
  phase("ends placed", p.edges * 2 * bytes(p.index) + weights + ends * (6 + 4 * cut.carried) + table,
        tuning_of_bucket_lists.ends_placed,
        (1 + tuning_of_bucket_lists.placed_with_a_word * cut.carried) * whole(cut.tiles, 2 * multiprocessors));
  plan.add("table turned", 3 * m.step_seconds + m.streamed(3 * table, 3 * table));
  const std::uint32_t again = cut.carried == 0 ? 0 : (1U << (cut.bucket_bits - cut.part_bits)) - 1;
  phase("ends listed", ends * (6 + 4 + 8 * cut.carried) + p.nodes * 8, tuning_of_bucket_lists.ends_listed,
        (1 + tuning_of_bucket_lists.listed_with_a_word * cut.carried + tuning_of_bucket_lists.listed_again * again) *
            whole(cut.parts(), multiprocessors));
  plan.add("long parts", cut.long_parts == 0 ? 0 : 3 * m.step_seconds);
}

}  // namespace sheaf::cuda
