#pragma once

#include "cuda/sparse/solvers/system_rows.cuh"

// The parts that the blocks of a cooperative kernel have of a system, the sums that they give to each other, and a
// barrier at once: a block goes on when it has the sums of all tiles, which others store after all that they wrote
// before.
namespace sheaf::cuda {

/// The rows and tiles of a block.
struct block_part {
  std::uint64_t first_tile;
  std::uint64_t last_tile;
  std::uint64_t first;
  std::uint64_t last;
};

/// The first tile of block `block` if the blocks before it have their share of entries and rows. All searches halve the
/// same ranges, so that cuts do not descend whatever the offsets are. Rows with ends of their own are cut by their
/// number.
template <class Value, class Column>
__device__ std::uint64_t cut_at(const system_vectors<Value>& vectors, const system_matrix<Value, Column>& matrix,
                                bool has_row_ends, std::uint64_t block) {
  constexpr std::uint64_t entries_of_a_row = 6;  // what the vectors of a row take beside its entries
  if (block >= gridDim.x) return vectors.tiles;
  if (has_row_ends) return vectors.tiles * block / gridDim.x;
  const row_offsets& rows = matrix.a.rows;
  const std::uint64_t begin = min(rows.begin(0), rows.limit);
  const auto work_before = [&](std::uint64_t row) {
    const std::uint64_t at = row == vectors.rows ? rows.end(row - 1) : rows.begin(row);
    return max(min(at, rows.limit), begin) - begin + entries_of_a_row * row;
  };
  const auto wanted = static_cast<std::uint64_t>(static_cast<double>(work_before(vectors.rows)) *
                                                 static_cast<double>(block) / static_cast<double>(gridDim.x));
  return partition_point(std::uint64_t{0}, vectors.tiles, [&](std::uint64_t tile) {
    // A tile is its block's in whose share its middle lies.
    return work_before(min(vectors.rows, tile * vectors.tile_rows + vectors.tile_rows / 2)) < wanted;
  });
}

/// The tiles of this block, at least one: a block that nobody waits for might be an exchange behind the others. `ahead`
/// is how far the cut of a block at or before this one, or the next, is past that block's number. All threads call it.
template <class Value, class Column>
__device__ void find_part(const system_vectors<Value>& vectors, const system_matrix<Value, Column>& matrix,
                          bool has_row_ends, long long (&ahead)[2], block_part& part) {
  if (threadIdx.x < 2) ahead[threadIdx.x] = 0;
  __syncthreads();
  for (std::uint64_t block = threadIdx.x; block <= std::uint64_t{blockIdx.x} + 1; block += blockDim.x) {
    const auto of_block =
        static_cast<long long>(cut_at(vectors, matrix, has_row_ends, block)) - static_cast<long long>(block);
    if (block <= blockIdx.x) atomicMax(&ahead[0], of_block);
    atomicMax(&ahead[1], of_block);
  }
  __syncthreads();
  if (threadIdx.x < 2) {
    const std::uint64_t block = std::uint64_t{blockIdx.x} + threadIdx.x;
    const std::uint64_t cut =
        min(static_cast<std::uint64_t>(ahead[threadIdx.x]) + block, vectors.tiles - (gridDim.x - block));
    (threadIdx.x == 0 ? part.first_tile : part.last_tile) = cut;
    (threadIdx.x == 0 ? part.first : part.last) = min(vectors.rows, cut * vectors.tile_rows);
  }
  __syncthreads();
}

/// A sum of one tile, stored at once with the number of the exchange that it belongs to, so that whoever finds the
/// number has the sum.
struct alignas(16) tile_slot {
  double sum;
  std::uint64_t exchange;  ///< and fault_bit

  static constexpr std::uint64_t fault_bit = std::uint64_t{1} << 63;
};

__device__ __forceinline__ void store_slot(tile_slot* to, double sum, std::uint64_t exchange) {
  asm volatile("{ .reg .b128 slot; mov.b128 slot, {%1, %2}; st.relaxed.gpu.global.b128 [%0], slot; }"
               :
               : "l"(to), "l"(__double_as_longlong(sum)), "l"(exchange)
               : "memory");
}

__device__ __forceinline__ tile_slot load_slot(const tile_slot* from) {
  long long sum;
  std::uint64_t exchange;
  asm volatile("{ .reg .b128 slot; ld.relaxed.gpu.global.b128 slot, [%2]; mov.b128 {%0, %1}, slot; }"
               : "=l"(sum), "=l"(exchange)
               : "l"(from)
               : "memory");
  return {__longlong_as_double(sum), exchange};
}

/// The slots of all tiles, of which every block has one or more. Exchanges take turns with two sets of them. Nobody is
/// overtaken: a block stores its sums of exchange e + 2, over those of e, when it has all sums of e + 1; each block
/// stored its own of e + 1 after it had read all of e.
struct exchange_slots {
  static constexpr unsigned most_sums = 3;  ///< of an exchange
  static constexpr unsigned sets = 2;

  tile_slot* slots;  ///< zeroed before the first exchange
  std::uint64_t tiles;

  exchange_slots(std::uint64_t tiles_of_all, core::scratch_arrays& place)
      : slots(place.take<tile_slot>(sets * most_sums * tiles_of_all)), tiles(tiles_of_all) {}
  __device__ tile_slot* sum(std::uint64_t exchange, unsigned i) const {
    return slots + (exchange % sets * most_sums + i) * tiles;
  }
};

/// Waits for the sums of a tile in an exchange, adds them, and returns whether their block found a fault.
template <unsigned Count>
__device__ __forceinline__ bool await_tile(const exchange_slots& slots, std::uint64_t exchange, std::uint64_t tile,
                                           row_sums<Count>& sums) {
  tile_slot found[Count];
  bool has_all = false;
  for (unsigned tries = 0; !has_all; ++tries) {
    if (tries > 0) __nanosleep(20);
    has_all = true;
#pragma unroll
    for (unsigned k = 0; k < Count; ++k) {
      found[k] = load_slot(slots.sum(exchange, k) + tile);
      has_all &= (found[k].exchange & ~tile_slot::fault_bit) == exchange;
    }
  }
#pragma unroll
  for (unsigned k = 0; k < Count; ++k) sums.sum[k] += found[k].sum;
  return (found[0].exchange & tile_slot::fault_bit) != 0;
}

/// Gives the sums of the tiles [first, last), which are the block's, to all blocks, and adds those of all tiles, in
/// every block in one order. of_row(row) does a row's work and returns what is to be summed; thread 0 has take(sums).
/// What the block's threads wrote before its last barrier, and what of_row writes, others see after their exchange.
/// @param exchange  numbers that ascend by one, from 1
/// @param is_faulty  the block found a fault
/// @return whether any block found one; the same in all threads
template <unsigned Threads, unsigned Count, class Value, class OfRow, class Take>
__device__ __forceinline__ bool exchange_sums(const exchange_slots& slots, const system_vectors<Value>& vectors,
                                              std::uint64_t exchange, bool is_faulty, std::uint64_t first,
                                              std::uint64_t last, OfRow of_row, Take take) {
  constexpr unsigned warps = Threads / 32;
  __shared__ double of_warp[Count][warps];
  const unsigned lane = threadIdx.x % 32;
  const std::uint64_t stored = is_faulty ? exchange | tile_slot::fault_bit : exchange;
  for_tile_sums<Threads, Count>(vectors, first, last, of_row, [&](std::uint64_t tile, const row_sums<Count>& sums) {
    __threadfence();
#pragma unroll
    for (unsigned k = 0; k < Count; ++k) store_slot(slots.sum(exchange, k) + tile, sums.sum[k], stored);
  });
  row_sums<Count> sums{};
  bool found_fault = false;
  for (std::uint64_t tile = threadIdx.x; tile < slots.tiles; tile += Threads) {
    found_fault |= await_tile(slots, exchange, tile, sums);
  }
  __threadfence();
  __syncwarp();
#pragma unroll
  for (unsigned k = 0; k < Count; ++k) {
    sums.sum[k] = sum_of_lanes<32>(sums.sum[k]);
    if (lane == 0) of_warp[k][threadIdx.x / 32] = sums.sum[k];
  }
  const bool any_fault = __syncthreads_or(found_fault ? 1 : 0) != 0;
  if (threadIdx.x < 32) {
#pragma unroll
    for (unsigned k = 0; k < Count; ++k) sums.sum[k] = sum_of_lanes<32>(lane < warps ? of_warp[k][lane] : 0.0);
    if (lane == 0) take(sums);
  }
  __syncthreads();
  return any_fault;
}

}  // namespace sheaf::cuda
