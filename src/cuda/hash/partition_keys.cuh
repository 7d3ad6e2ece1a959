#pragma once

#include <cub/block/block_scan.cuh>

#include "cuda/device/launch.cuh"
#include "cuda/hash/slots.cuh"

// One MSD radix pass over the hashes of a small build: tiles of records are partitioned by the leading bits of the
// hash. A partition fits the shared memory of a block, which sorts it (place_partitions.cuh).
namespace sheaf::cuda {

constexpr unsigned partition_threads = 512;
constexpr unsigned tile_items_each = 16;  ///< most records of a tile that a thread has
constexpr unsigned most_tile_records = partition_threads * tile_items_each;
constexpr unsigned most_partition_tiles = partition_threads;  ///< whose pieces of a partition a block gathers
constexpr unsigned most_partition_bits = 11;
constexpr unsigned most_partitions = 1U << most_partition_bits;
/// Bits of the hash behind those of the partition: the bins of the sort in shared memory.
constexpr unsigned bin_bits = 11;
constexpr unsigned partition_bins = 1U << bin_bits;
constexpr unsigned partition_items_each = 6;  ///< most records of a partition that a thread has
constexpr unsigned most_partition_records = partition_threads * partition_items_each;

/// A record of the build.
template <class Key>
struct alignas(2 * sizeof(Key)) hashed_record {
  Key hash;
  std::uint32_t id;
};

/// How the records of a build are cut into tiles, and their hashes into partitions.
struct partitioning {
  std::uint32_t count = 0;
  std::uint32_t tile = 0;            ///< records of a tile
  std::uint32_t tiles = 0;           ///< 0: the build does not take this way
  std::uint32_t partition_bits = 0;  ///< leading bits of a hash

  __host__ __device__ std::uint32_t partitions() const { return 1U << partition_bits; }
  /// A larger piece of a partition in one tile says that a key is so frequent that the partition cannot fit: three
  /// times what fits, and more than neighbours reach of which 16 share a key.
  __host__ __device__ std::uint32_t most_of_piece() const {
    constexpr std::uint32_t least = 256;
    const std::uint32_t fits_three_times = 3 * most_partition_records / tiles;
    return fits_three_times > least ? fits_three_times : least;
  }
  __host__ __device__ std::uint32_t tile_size(std::uint32_t t) const { return t + 1 < tiles ? tile : count - t * tile; }

  /// The bin of a hash among those of all partitions; bins ascend with the hash.
  template <class Key>
  __device__ __forceinline__ std::uint32_t bin_of(Key hash) const {
    return static_cast<std::uint32_t>(hash >> (8 * sizeof(Key) - bin_bits - partition_bits));
  }
  template <class Key>
  __device__ __forceinline__ std::uint32_t partition_of(Key hash) const {
    return bin_of(hash) >> bin_bits;
  }
};

/// What a stretch of partitions does to what follows, as other blocks read it: two words of 64 bits, each with a flag,
/// so that no fence has to order them. 0: nothing is published.
struct published_state {
  unsigned long long sums;  ///< keys and words of rows
  unsigned long long reach;
};

constexpr unsigned does_not_fit = 1;  ///< a partition has too many records for a block, or one of its bins has
constexpr unsigned lacks_rows = 2;    ///< keys repeat, and there is no memory for their rows

/// What the host reads of a build from partitions.
struct partition_outcome {
  unsigned long long keys;
  unsigned long long row_words;
  unsigned long long end_of_slots;
  unsigned long long longest_chain;
  unsigned int faults;  ///< why the table is of no use: does_not_fit, lacks_rows
  unsigned int drawn;   ///< partitions that blocks have begun
};

/// Device memory of a build from partitions, of which partition_keys clears what place_partitions counts in.
template <class Key>
struct partition_arrays {
  hashed_record<Key>* records;  ///< tile by tile, each in the order of partitions
  std::uint16_t* begins;        ///< where each tile's piece of each partition begins in the tile: [tile][partition]
  std::uint8_t* crowded;        ///< [tile]: whether a piece of the tile says that its partition cannot fit
  published_state* states;      ///< [place_rounds][partition]
  partition_outcome* outcomes;  ///< [place_rounds]
};

constexpr unsigned place_rounds = 2;  ///< as if no key repeated; then for as many keys as there are

template <class Key>
std::size_t partition_keys_shared_bytes(const partitioning& cut) {
  return cut.tile * sizeof(hashed_record<Key>) + cut.partitions() * sizeof(std::uint32_t);
}

/// A block partitions a tile in shared memory. In which order the records of a piece lie is left to the atomics.
template <class Key>
__global__ void __launch_bounds__(partition_threads)
    partition_keys(const key_source keys, const partitioning cut, const partition_arrays<Key> arrays) {
  let_next_kernel_start();
  using block_scan = cub::BlockScan<std::uint32_t, partition_threads, cub::BLOCK_SCAN_WARP_SCANS>;
  __shared__ typename block_scan::TempStorage storage;
  extern __shared__ __align__(16) unsigned char partition_keys_memory[];
  auto* const staged = reinterpret_cast<hashed_record<Key>*>(partition_keys_memory);
  auto* const begins = reinterpret_cast<std::uint32_t*>(staged + cut.tile);
  const std::uint32_t partitions = cut.partitions();
  const std::uint32_t first = blockIdx.x * cut.tile;
  const std::uint32_t size = cut.tile_size(blockIdx.x);

  for (std::uint32_t p = threadIdx.x; p < partitions; p += partition_threads) begins[p] = 0;
  const std::uint32_t thread = blockIdx.x * partition_threads + threadIdx.x;
  for (std::uint32_t s = thread; s < place_rounds * partitions; s += gridDim.x * partition_threads) {
    arrays.states[s] = {0, 0};
  }
  if (thread < place_rounds) arrays.outcomes[thread] = {};
  __syncthreads();

  Key hash[tile_items_each];
  std::uint32_t rank[tile_items_each];  // within the piece
#pragma unroll
  for (unsigned k = 0; k < tile_items_each; ++k) {
    const std::uint32_t i = k * partition_threads + threadIdx.x;
    if (i < size) hash[k] = primitives::hash_of(load_key<Key>(keys, std::uint64_t{first} + i));
  }
#pragma unroll
  for (unsigned k = 0; k < tile_items_each; ++k) {
    const std::uint32_t i = k * partition_threads + threadIdx.x;
    if (i < size) rank[k] = atomicAdd(begins + cut.partition_of(hash[k]), 1U);
  }
  __syncthreads();

  constexpr unsigned each = most_partitions / partition_threads;
  std::uint32_t begin[each];
  bool is_crowded = false;
#pragma unroll
  for (unsigned k = 0; k < each; ++k) {
    const std::uint32_t p = threadIdx.x * each + k;
    begin[k] = p < partitions ? begins[p] : 0;
    is_crowded |= begin[k] > cut.most_of_piece();
  }
  is_crowded = __syncthreads_or(is_crowded) != 0;
  if (threadIdx.x == 0) arrays.crowded[blockIdx.x] = is_crowded ? 1 : 0;
  block_scan(storage).ExclusiveSum(begin, begin);
#pragma unroll
  for (unsigned k = 0; k < each; ++k) {
    const std::uint32_t p = threadIdx.x * each + k;
    if (p >= partitions) break;
    begins[p] = begin[k];
    arrays.begins[std::uint64_t{blockIdx.x} * partitions + p] = static_cast<std::uint16_t>(begin[k]);
  }
  __syncthreads();

#pragma unroll
  for (unsigned k = 0; k < tile_items_each; ++k) {
    const std::uint32_t i = k * partition_threads + threadIdx.x;
    if (i < size) staged[begins[cut.partition_of(hash[k])] + rank[k]] = {hash[k], first + i};
  }
  __syncthreads();
  for (std::uint32_t i = threadIdx.x; i < size; i += partition_threads) arrays.records[first + i] = staged[i];
}

}  // namespace sheaf::cuda
