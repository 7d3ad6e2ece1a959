#include "cuda/device/launch.cuh"
#include "cuda/edges/buckets/ends.cuh"

// A part that has more ends than shared memory holds, as that of a hub. Its tiles are cut into chunks, whose ends of
// each node are counted, and then written in the order of the tiles.
namespace sheaf::cuda {
namespace {

using edge_kernels::slice_nodes;
using edge_kernels::whole_lists;

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
  return ((std::size_t{warps} << cut.part_bits) + group_words(cut.tiles)) * sizeof(std::uint32_t);
}

/// The ends of a chunk, of which the block has counted those of each node.
/// @param counts  as many for each of the tables as a part has nodes; behind them, group_words of the chunk's tiles
/// @param own     the table to which the thread's warp adds
template <std::uint32_t Tables>
__device__ __forceinline__ bucket_ends count_chunk(const list_kernel_arguments& args, const part_chunk& chunk,
                                                   const part_range& part, std::uint32_t* counts, std::uint32_t* own) {
  const std::uint32_t nodes = args.cut.part_nodes();
  __syncthreads();
  for (std::uint32_t k = threadIdx.x; k < Tables * nodes; k += chunk_threads) counts[k] = 0;
  bucket_ends ends(args.from, args.cut, part.bucket, chunk.first_tile, chunk.tiles, counts + Tables * nodes);
  ends.count<chunk_threads>();
  ends.for_each<chunk_threads>([&](const bucket_ends::places& place, const bucket_ends::flags& is_end) {
#pragma unroll
    for (int k = 0; k < bucket_ends::steps; ++k) {
      const std::uint32_t local = __ldg(args.from.locals + place[k]) - part.local_begin;
      if (is_end[k] && local < nodes) atomicAdd(own + local, 1U);
    }
  });
  __syncthreads();
  return ends;
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
    count_chunk<1>(args, chunk, part, counts, counts);
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
    const bucket_ends ends = count_chunk<chunk_warps>(args, chunk, part, places, own_places);
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

}  // namespace

void queue_long_parts(const context& ctx, const list_kernel_arguments& args) {
  const bucket_cut& cut = args.cut;
  if (cut.long_parts == 0) return;
  constexpr std::uint64_t blocks_of_a_multiprocessor = 2;
  const std::uint64_t blocks = blocks_of_a_multiprocessor * static_cast<unsigned>(state_of(ctx).multiprocessors());
  launch_shared(ctx, count_chunks, blocks, chunk_threads, chunk_bytes(cut, 1), args);
  launch_shared(ctx, begin_long_lists, std::min<std::uint64_t>(blocks, cut.long_parts), chunk_threads,
                chunk_bytes(cut, 1), args);
  const auto write = cut.carried == 0   ? write_long_lists<0>
                     : cut.carried == 1 ? write_long_lists<1>
                                        : write_long_lists<2>;
  launch_shared(ctx, write, blocks, chunk_threads, chunk_bytes(cut, chunk_warps), args);
}

}  // namespace sheaf::cuda
