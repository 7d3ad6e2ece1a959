#include <cub/block/block_reduce.cuh>

#include "cuda/block/scan.cuh"
#include "cuda/device/launch.cuh"
#include "cuda/hash/answers.cuh"
#include "cuda/hash/cost.hpp"
#include "cuda/hash/search.hpp"
#include "cuda/hash/tile_sums.cuh"

// Steps 3 and 4 of a search for matches.
namespace sheaf::cuda {
namespace {

using namespace primitives;

constexpr unsigned tile_threads = 256;
constexpr unsigned items_each = 8;
constexpr unsigned tile_probes = tile_threads * items_each;
constexpr unsigned tile_ids = 4096;  ///< record numbers that a block writes where keys may have several

template <class Row>
constexpr Row no_record = ~Row{0};

template <class Row>
__device__ __forceinline__ std::uint64_t count_of(Row record) {
  return record != no_record<Row> ? 1 : 0;
}
template <class Row>
__device__ __forceinline__ std::uint64_t count_of(const found_key<Row>& found) {
  return found.count;
}

template <class Found>
__global__ void __launch_bounds__(tile_threads)
    sum_tiles(const Found* found, std::uint64_t probes, std::uint64_t* sums) {
  using block_reduce = cub::BlockReduce<std::uint64_t, tile_threads>;
  __shared__ typename block_reduce::TempStorage storage;
  const std::uint64_t first = std::uint64_t{blockIdx.x} * tile_probes;
  std::uint64_t own = 0;
#pragma unroll
  for (unsigned k = 0; k < items_each; ++k) {
    const std::uint64_t i = first + k * tile_threads + threadIdx.x;
    if (i < probes) own += count_of(found[i]);
  }
  const std::uint64_t all = block_reduce(storage).Sum(own);
  if (threadIdx.x == 0) sums[blockIdx.x] = all;
}

struct add_sums {
  __device__ __forceinline__ std::uint64_t operator()(std::uint64_t a, std::uint64_t b) const { return a + b; }
};
using match_sums = tile_sums<std::uint64_t>;

/// Where matches of a tile's probes begin: the probe of item k of a thread is tile + k * tile_threads + threadIdx.x, so
/// that neighbours write neighbours.
struct tile_offsets {
  unsigned long long sums[items_each * tile_threads / 32];  ///< of each item of each warp, then what comes before it

  /// Turns each thread's counts into what comes before them in the tile. All threads of the block call it.
  __device__ __forceinline__ void scan(unsigned long long (&count)[items_each]) {
    const unsigned lane = threadIdx.x % 32;
    const unsigned warp = threadIdx.x / 32;
    constexpr unsigned warps = tile_threads / 32;
#pragma unroll
    for (unsigned k = 0; k < items_each; ++k) {
      const unsigned long long upto = inclusive_warp_sum(count[k], lane);
      if (lane == 31) sums[k * warps + warp] = upto;
      count[k] = upto - count[k];
    }
    finish(count);
  }

  /// scan() of probes that have one match or none.
  __device__ __forceinline__ void scan(const bool (&has_match)[items_each], unsigned long long (&before)[items_each]) {
    const unsigned lane = threadIdx.x % 32;
#pragma unroll
    for (unsigned k = 0; k < items_each; ++k) {
      const unsigned matches = __ballot_sync(~0U, has_match[k]);
      if (lane == 0) sums[k * (tile_threads / 32) + threadIdx.x / 32] = __popc(matches);
      before[k] = __popc(matches & ((1U << lane) - 1));
    }
    finish(before);
  }

 private:
  __device__ __forceinline__ void finish(unsigned long long (&before)[items_each]) {
    constexpr unsigned warps = tile_threads / 32;
    static_assert(items_each * warps == 64);
    __syncthreads();
    if (threadIdx.x < 32) {
      const unsigned long long first = sums[2 * threadIdx.x];
      const unsigned long long second = sums[2 * threadIdx.x + 1];
      const unsigned long long upto = inclusive_warp_sum(first + second, threadIdx.x);
      sums[2 * threadIdx.x] = upto - first - second;
      sums[2 * threadIdx.x + 1] = upto - second;
    }
    __syncthreads();
#pragma unroll
    for (unsigned k = 0; k < items_each; ++k) before[k] += sums[k * warps + threadIdx.x / 32];
  }
};

/// Steps 3 and 4 where every key has one record: where the matches of each probe begin, and the record numbers.
template <class Row, class Id>
__global__ void __launch_bounds__(tile_threads)
    write_single_matches(const Row* found, std::uint64_t probes, const match_sums sums, std::uint64_t* offsets, Id* ids,
                         std::uint64_t capacity) {
  __shared__ tile_offsets tile;
  const std::uint64_t first = std::uint64_t{blockIdx.x} * tile_probes + threadIdx.x;
  Row record[items_each];
#pragma unroll
  for (unsigned k = 0; k < items_each; ++k) {
    const std::uint64_t i = first + k * tile_threads;
    record[k] = i < probes ? __ldcs(found + i) : no_record<Row>;
  }
  bool has_match[items_each];
#pragma unroll
  for (unsigned k = 0; k < items_each; ++k) has_match[k] = record[k] != no_record<Row>;
  unsigned long long at[items_each];
  tile.scan(has_match, at);
  const std::uint64_t before = sums.before(blockIdx.x, add_sums());
#pragma unroll
  for (unsigned k = 0; k < items_each; ++k) {
    const std::uint64_t i = first + k * tile_threads;
    at[k] += before;
    if (i < probes) __stcs(offsets + i, at[k]);
    if (has_match[k] && at[k] < capacity) __stcs(ids + at[k], static_cast<Id>(record[k]));
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) offsets[probes] = sums.of_chunk[match_sums::chunks(gridDim.x)];
}

/// Step 3: where the matches of each probe begin.
template <class Row>
__global__ void __launch_bounds__(tile_threads)
    write_offsets(const found_key<Row>* found, std::uint64_t probes, const match_sums sums, std::uint64_t* offsets) {
  __shared__ tile_offsets tile;
  const std::uint64_t first = std::uint64_t{blockIdx.x} * tile_probes + threadIdx.x;
  unsigned long long at[items_each];
#pragma unroll
  for (unsigned k = 0; k < items_each; ++k) {
    const std::uint64_t i = first + k * tile_threads;
    at[k] = i < probes ? count_of(found[i]) : 0;
  }
  tile.scan(at);
  const std::uint64_t before = sums.before(blockIdx.x, add_sums());
#pragma unroll
  for (unsigned k = 0; k < items_each; ++k) {
    const std::uint64_t i = first + k * tile_threads;
    if (i < probes) offsets[i] = before + at[k];
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) offsets[probes] = sums.of_chunk[match_sums::chunks(gridDim.x)];
}

/// The probe in [first, last] that has match j: the last whose matches begin at j or before, where begins[first] <= j.
template <class Begin, class Number>
__device__ __forceinline__ Number probe_of(const Begin* begins, Number first, Number last, Number j) {
  while (first < last) {
    const Number middle = first + (last - first + 1) / 2;
    if (begins[middle] <= j) {
      first = middle;
    } else {
      last = middle - 1;
    }
  }
  return first;
}

/// probe_of() by a warp, 32 reads at a time.
__device__ __forceinline__ std::uint64_t probe_by_warp(const std::uint64_t* offsets, std::uint64_t first,
                                                       std::uint64_t last, std::uint64_t j) {
  while (first < last) {
    const std::uint64_t step = (last - first + 31) / 32;
    const std::uint64_t at = first + (threadIdx.x % 32 + 1) * step;
    const auto begun = static_cast<unsigned>(__popc(__ballot_sync(~0U, at <= last && offsets[at] <= j)));
    last = min(last, first + (begun + 1) * step - 1);
    first += begun * step;
  }
  return first;
}

/// Step 4, where keys may have several records: a block writes tile_ids of them, wherever a probe's begin and end.
template <class Row, class Id>
__global__ void __launch_bounds__(tile_threads)
    write_ids(const found_key<Row>* found, std::uint64_t probes, const std::uint64_t* offsets, const Row* rows, Id* ids,
              std::uint64_t written) {
  constexpr std::uint32_t most_kept = 2 * tile_ids;
  __shared__ std::uint16_t begins[most_kept];  // of probes, in the tile; those before it count as 0
  __shared__ std::uint64_t ends[2];
  const std::uint64_t first = std::uint64_t{blockIdx.x} * tile_ids;
  const auto count = static_cast<std::uint32_t>(min(std::uint64_t{tile_ids}, written - first));
  if (threadIdx.x < 64) {
    const unsigned end = threadIdx.x / 32;
    const std::uint64_t probe = probe_by_warp(offsets, 0, probes - 1, first + (end == 0 ? 0 : count - 1));
    if (threadIdx.x % 32 == 0) ends[end] = probe;
  }
  __syncthreads();
  const std::uint64_t first_probe = ends[0];
  const std::uint64_t last_probe = ends[1];
  const bool keeps = last_probe - first_probe < most_kept;
  if (keeps) {
    for (std::uint32_t k = threadIdx.x; first_probe + k <= last_probe; k += tile_threads) {
      const std::uint64_t begin = offsets[first_probe + k];
      begins[k] = static_cast<std::uint16_t>(begin > first ? begin - first : 0);
    }
  }
  __syncthreads();
  for (std::uint32_t j = threadIdx.x; j < count; j += tile_threads) {
    const std::uint64_t probe =
        keeps ? first_probe + probe_of(begins, 0U, static_cast<std::uint32_t>(last_probe - first_probe), j)
              : probe_of(offsets, first_probe, last_probe, first + j);
    const found_key<Row> key = found[probe];
    const Row id = key.count == 1 ? key.value : rows[key.value + (first + j - offsets[probe])];
    ids[first + j] = static_cast<Id>(id);
  }
}

/// Sums of tiles, then what comes before each; returns the sum of all.
template <class Found>
std::uint64_t count_matches(const context& ctx, const Found* found, std::uint64_t probes, const match_sums& sums) {
  const std::uint64_t tiles = ceil_div(probes, tile_probes);
  launch_blocks(ctx, sum_tiles<Found>, tiles, tile_threads, found, probes, sums.of_tile);
  const std::uint64_t* const all = scan_sums(ctx, sums, tiles, std::uint64_t{0}, add_sums());
  std::uint64_t total = 0;
  ctx.state().copy(&total, all, sizeof total);  // waits
  return total;
}

template <class Types, class Id>
void write_matches_of(const context& ctx, const hash_search_problem& problem, const slot_index& index,
                      const hash_search_buffers& buffers, const std::byte* found, const match_sums& sums) {
  using row = typename Types::row;
  auto* const offsets = static_cast<std::uint64_t*>(buffers.out);
  const std::uint64_t tiles = ceil_div(problem.probes, tile_probes);
  if (!problem.index.has_repeats()) {
    const auto* const values = reinterpret_cast<const row*>(found);
    const hash_match_room room = (*buffers.make_room)(count_matches(ctx, values, problem.probes, sums));
    launch_blocks(ctx, write_single_matches<row, Id>, tiles, tile_threads, values, problem.probes, sums, offsets,
                  static_cast<Id*>(room.ids), room.capacity);
    return;
  }
  const auto* const keys = reinterpret_cast<const found_key<row>*>(found);
  const std::uint64_t total = count_matches(ctx, keys, problem.probes, sums);
  launch_blocks(ctx, write_offsets<row>, tiles, tile_threads, keys, problem.probes, sums, offsets);
  const hash_match_room room = (*buffers.make_room)(total);
  const std::uint64_t written = std::min(total, room.capacity);
  if (written == 0) return;
  launch_blocks(ctx, write_ids<row, Id>, ceil_div(written, tile_ids), tile_threads, keys, problem.probes,
                static_cast<const std::uint64_t*>(offsets), static_cast<const row*>(index.rows()),
                static_cast<Id*>(room.ids), written);
}

}  // namespace

match_arrays::match_arrays(const hash_search_problem& p, core::scratch_arrays& arrays) {
  if (p.output != hash_output::matches) return;
  found = arrays.take<std::byte>(p.probes * found_bytes(p));
  sums = arrays.take<std::byte>(match_sums::bytes(ceil_div(p.probes, tile_probes)));
}

void write_matches(const context& ctx, const hash_search_problem& problem, const slot_index& index,
                   const hash_search_buffers& buffers, const std::byte* found, std::byte* sums_of_tiles) {
  const match_sums sums = match_sums::at(sums_of_tiles, ceil_div(problem.probes, tile_probes));
  with_slot_types(index.form, problem.index.key_bytes, [&](auto* pointer) {
    using types = std::remove_pointer_t<decltype(pointer)>;
    if (problem.index.id == index_type::u32) {
      write_matches_of<types, std::uint32_t>(ctx, problem, index, buffers, found, sums);
    } else {
      write_matches_of<types, std::uint64_t>(ctx, problem, index, buffers, found, sums);
    }
  });
}

}  // namespace sheaf::cuda
