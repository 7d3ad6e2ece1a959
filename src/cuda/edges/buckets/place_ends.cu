#include <sheaf/cuda/detail/edge_atomics.cuh>

#include "cuda/device/launch.cuh"
#include "cuda/edges/buckets/counts.cuh"
#include "cuda/edges/buckets/phases.hpp"

// Ends of a tile of edges are brought into the order of their buckets, through shared memory.
namespace sheaf::cuda {
namespace {

using edge_kernels::end_arrays;
using edge_kernels::second_end;

struct place_arguments {
  end_arrays edges;
  bucket_cut cut;
  bucket_scratch to;
  unsigned long long* first_bad;
  const std::uint32_t* weights;  ///< words of all edges; null: their numbers are carried
};

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

template <int Carried>
void queue_kernel(const context& ctx, const place_arguments& args) {
  launch_shared(ctx, args.edges.is_wide ? place_ends<std::uint64_t, Carried> : place_ends<std::uint32_t, Carried>,
                args.cut.tiles, place_threads, place_bytes(args.cut.buckets), args);
}

}  // namespace

void queue_placed_ends(const context& ctx, const end_arrays& edges, const void* weights, const bucket_cut& cut,
                       const bucket_scratch& scratch, unsigned long long* first_bad) {
  const place_arguments args{edges, cut, scratch, first_bad, static_cast<const std::uint32_t*>(weights)};
  switch (cut.carried) {
    case 0: return queue_kernel<0>(ctx, args);
    case 1: return queue_kernel<1>(ctx, args);
    default: return queue_kernel<2>(ctx, args);
  }
}

}  // namespace sheaf::cuda
