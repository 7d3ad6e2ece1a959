#include "cuda/device/launch.cuh"
#include "cuda/edges/buckets/ends.cuh"
#include "cuda/edges/buckets/list_order.cuh"
#include "cuda/edges/row_writer.cuh"

// A block lists the ends of a part of a bucket in shared memory, sorts each list, and writes it in rows.
namespace sheaf::cuda {
namespace {

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

}  // namespace

void queue_short_parts(const context& ctx, const list_kernel_arguments& args) {
  const auto kernel = args.cut.carried == 0 ? list_parts<0> : args.cut.carried == 1 ? list_parts<1> : list_parts<2>;
  launch_shared(ctx, kernel, args.cut.parts(), list_threads, list_bytes(args.cut), args);
}

}  // namespace sheaf::cuda
