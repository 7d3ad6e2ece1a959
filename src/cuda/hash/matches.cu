#include "cuda/hash/matches.hpp"

#include <algorithm>

#include "core/scratch_offsets.hpp"
#include "cuda/device/launch.cuh"
#include "cuda/hash/answers.cuh"

namespace sheaf::cuda {
namespace {

using primitives::hash_match_room;
using primitives::hash_search_buffers;
using primitives::hash_search_problem;

constexpr unsigned tile_threads = 256;
constexpr unsigned items_each = 8;
constexpr unsigned tile_probes = tile_threads * items_each;
constexpr unsigned tile_ids = 4096;  ///< record numbers that a block writes where keys may have several
constexpr unsigned scan_threads = 1024;

/// Where the scratch of steps 3 and 4 lies, in bytes.
struct matches_layout {
  std::uint64_t sums, end;

  explicit matches_layout(const hash_search_problem& p) noexcept {
    core::scratch_offsets arrays;
    sums = arrays.take((ceil_div(p.probes, tile_probes) + 1) * sizeof(unsigned long long));
    end = arrays.bytes();
  }
};

template <class Word>
__device__ __forceinline__ std::uint64_t count_of(Word value) {
  return value != hash_slot<Word>::empty ? 1 : 0;
}
template <class Word>
__device__ __forceinline__ std::uint64_t count_of(const found_key<Word>& found) {
  return found.count;
}

/// Sum over the block; valid in all threads. `sums` is shared memory of a word for each warp.
__device__ __forceinline__ unsigned long long sum_of_block(unsigned long long own, unsigned long long* sums) {
  for (int other = 16; other > 0; other /= 2) own += __shfl_xor_sync(~0U, own, other);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = own;
  __syncthreads();
  unsigned long long all = 0;
  for (unsigned w = 0; w < blockDim.x / 32; ++w) all += sums[w];
  __syncthreads();
  return all;
}

/// Exclusive prefix sum over the block. `sums` is shared memory of a word for each warp.
__device__ __forceinline__ unsigned long long sum_before(unsigned long long own, unsigned long long* sums) {
  unsigned long long upto = own;
  for (unsigned distance = 1; distance < 32; distance *= 2) {
    const unsigned long long lower = __shfl_up_sync(~0U, upto, distance);
    if (threadIdx.x % 32 >= distance) upto += lower;
  }
  if (threadIdx.x % 32 == 31) sums[threadIdx.x / 32] = upto;
  __syncthreads();
  unsigned long long before = upto - own;
  for (unsigned w = 0; w < threadIdx.x / 32; ++w) before += sums[w];
  __syncthreads();
  return before;
}

template <class Found>
__global__ void __launch_bounds__(tile_threads)
    sum_tiles(const Found* found, std::uint64_t probes, unsigned long long* sums) {
  __shared__ unsigned long long sums_of_warps[tile_threads / 32];
  const std::uint64_t first = std::uint64_t{blockIdx.x} * tile_probes;
  unsigned long long own = 0;
#pragma unroll
  for (unsigned k = 0; k < items_each; ++k) {
    const std::uint64_t i = first + k * tile_threads + threadIdx.x;
    if (i < probes) own += count_of(found[i]);
  }
  const unsigned long long all = sum_of_block(own, sums_of_warps);
  if (threadIdx.x == 0) sums[blockIdx.x] = all;
}

/// Replaces sums by what comes before them, and writes the sum of all behind the last. One block.
__global__ void __launch_bounds__(scan_threads) scan_sums(unsigned long long* sums, std::uint64_t tiles) {
  __shared__ unsigned long long sums_of_warps[scan_threads / 32];
  unsigned long long before = 0;
  for (std::uint64_t first = 0; first < tiles; first += 4 * scan_threads) {
    unsigned long long own[4];
    unsigned long long sum = 0;
#pragma unroll
    for (unsigned k = 0; k < 4; ++k) {
      const std::uint64_t t = first + threadIdx.x * 4 + k;
      own[k] = t < tiles ? sums[t] : 0;
      sum += own[k];
    }
    unsigned long long at = before + sum_before(sum, sums_of_warps);
#pragma unroll
    for (unsigned k = 0; k < 4; ++k) {
      const std::uint64_t t = first + threadIdx.x * 4 + k;
      if (t < tiles) sums[t] = at;
      at += own[k];
    }
    before += sum_of_block(sum, sums_of_warps);
  }
  if (threadIdx.x == 0) sums[tiles] = before;
}

/// Step 3: where the matches of each probe begin.
template <class Found>
__global__ void __launch_bounds__(tile_threads)
    write_offsets(const Found* found, std::uint64_t probes, const unsigned long long* sums, std::uint64_t* offsets) {
  __shared__ unsigned long long sums_of_warps[tile_threads / 32];
  const std::uint64_t tile = std::uint64_t{blockIdx.x} * tile_probes;
  unsigned long long before = sums[blockIdx.x];
  // Rounds of one probe a thread, so that neighbours write neighbours.
#pragma unroll 1
  for (unsigned k = 0; k < items_each; ++k) {
    const std::uint64_t i = tile + k * tile_threads + threadIdx.x;
    const unsigned long long own = i < probes ? count_of(found[i]) : 0;
    const unsigned long long at = before + sum_before(own, sums_of_warps);
    if (i < probes) offsets[i] = at;
    before += sum_of_block(own, sums_of_warps);
  }
  if (threadIdx.x == 0 && tile + tile_probes >= probes) offsets[probes] = before;
}

template <class Word, class Id>
__global__ void __launch_bounds__(block_threads)
    write_single_ids(const Word* found, std::uint64_t probes, const std::uint64_t* offsets, Id* ids,
                     std::uint64_t capacity) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * block_threads;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x; i < probes; i += step) {
    const Word value = __ldcs(found + i);
    if (value == hash_slot<Word>::empty) continue;
    const std::uint64_t at = offsets[i];
    if (at < capacity) ids[at] = static_cast<Id>(value);
  }
}

/// The probe in [first, last] that has match j: the last whose matches begin at j or before, where offsets[first] <= j.
__device__ __forceinline__ std::uint64_t probe_of(const std::uint64_t* offsets, std::uint64_t first, std::uint64_t last,
                                                  std::uint64_t j) {
  while (first < last) {
    const std::uint64_t middle = first + (last - first + 1) / 2;
    if (offsets[middle] <= j) {
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
template <class Types, class Id>
__global__ void __launch_bounds__(tile_threads)
    write_ids(const found_key<typename Types::word>* found, std::uint64_t probes, const std::uint64_t* offsets,
              const typename Types::row* rows, Id* ids, std::uint64_t written) {
  using slot = typename Types::slot;
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
    std::uint64_t probe;
    if (keeps) {
      std::uint32_t low = 0;
      auto high = static_cast<std::uint32_t>(last_probe - first_probe);
      while (low < high) {
        const std::uint32_t middle = low + (high - low + 1) / 2;
        if (begins[middle] <= j) {
          low = middle;
        } else {
          high = middle - 1;
        }
      }
      probe = first_probe + low;
    } else {
      probe = probe_of(offsets, first_probe, last_probe, first + j);
    }
    const auto value = found[probe].value;
    std::uint64_t id = value;
    if ((value & slot::repeated) != 0) id = rows[(value & ~slot::repeated) + 1 + (first + j - offsets[probe])];
    ids[first + j] = static_cast<Id>(id);
  }
}

template <class Id, class Types>
void write_ids_of(const context& ctx, const char* operation, const hash_search_problem& p, const slot_index& index,
                  const std::uint64_t* offsets, const std::byte* found, const hash_match_room& room,
                  std::uint64_t total) {
  using word = typename Types::word;
  auto* const ids = static_cast<Id*>(room.ids);
  if (!p.index.has_repeats()) {
    constexpr std::uint64_t blocks_each = 8;
    const std::uint64_t blocks = std::min(static_cast<std::uint64_t>(state_of(ctx).multiprocessors()) * blocks_each,
                                          ceil_div(p.probes, block_threads));
    launch(ctx, operation, write_single_ids<word, Id>, blocks, reinterpret_cast<const word*>(found), p.probes, offsets,
           ids, room.capacity);
    return;
  }
  const std::uint64_t written = std::min(total, room.capacity);
  launch_blocks(ctx, operation, write_ids<Types, Id>, ceil_div(written, tile_ids), tile_threads,
                reinterpret_cast<const found_key<word>*>(found), p.probes, offsets,
                static_cast<const typename Types::row*>(index.rows()), ids, written);
}

template <class Found>
std::uint64_t write_all_offsets(const context& ctx, const char* operation, const hash_search_problem& p,
                                const std::byte* found, std::uint64_t* offsets, unsigned long long* sums) {
  const std::uint64_t tiles = ceil_div(p.probes, tile_probes);
  const auto* const all = reinterpret_cast<const Found*>(found);
  launch_blocks(ctx, operation, sum_tiles<Found>, tiles, tile_threads, all, p.probes, sums);
  launch_blocks(ctx, operation, scan_sums, 1, scan_threads, sums, tiles);
  launch_blocks(ctx, operation, write_offsets<Found>, tiles, tile_threads, all, p.probes,
                static_cast<const unsigned long long*>(sums), offsets);
  unsigned long long total = 0;
  ctx.state().copy(&total, sums + tiles, sizeof total);  // waits
  return total;
}

}  // namespace

std::uint64_t matches_bytes(const hash_search_problem& p) noexcept { return matches_layout(p).end; }

void write_matches(const context& ctx, const char* operation, const hash_search_problem& p, const slot_index& index,
                   const hash_search_buffers& b, const std::byte* found, std::byte* scratch) {
  auto* const sums = reinterpret_cast<unsigned long long*>(scratch + matches_layout(p).sums);
  auto* const offsets = static_cast<std::uint64_t*>(b.out);
  with_slot_types(index.form, p.index.key_bytes, [&](auto* types) {
    using slot_types = std::remove_pointer_t<decltype(types)>;
    using word = typename slot_types::word;
    const std::uint64_t total = p.index.has_repeats()
                                    ? write_all_offsets<found_key<word>>(ctx, operation, p, found, offsets, sums)
                                    : write_all_offsets<word>(ctx, operation, p, found, offsets, sums);
    const hash_match_room room = (*b.make_room)(total);
    if (total == 0 || room.capacity == 0) return;
    if (p.index.id == index_type::u32) {
      write_ids_of<std::uint32_t, slot_types>(ctx, operation, p, index, offsets, found, room, total);
    } else {
      write_ids_of<std::uint64_t, slot_types>(ctx, operation, p, index, offsets, found, room, total);
    }
  });
}

}  // namespace sheaf::cuda
