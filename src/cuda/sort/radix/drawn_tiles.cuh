#pragma once

#include "cuda/sort/radix/arguments.cuh"

namespace sheaf::cuda {

/// The tiles that a block of a pass moves: that of its number, then tiles that it draws from a counter. All blocks are
/// resident, they draw tiles in order, and a block begins to move a tile as soon as it has drawn it. So the tiles
/// before one are being moved or done, and look-back ends.
/// @tparam Block  has `tile` in its shared memory
template <class Block>
class drawn_tiles {
 public:
  __device__ __forceinline__ drawn_tiles(const Block& block, std::uint32_t tiles) : block_(block), tiles_(tiles) {}

  __device__ __forceinline__ std::uint32_t count() const { return tiles_; }

  /// Calls move(tile) for each tile of the block. It has to draw once.
  template <class Move>
  __device__ __forceinline__ void for_each(Move move) const {
    for (std::uint32_t tile = blockIdx.x; tile < tiles_; tile = next()) move(tile);
  }

  /// Draws the block's next tile from the pass's counter, where there are more tiles than blocks. The stores behind it
  /// hide the atomic's latency, a microsecond. If the next tile were drawn before the look-back, it would have to wait
  /// for the present one, and later tiles of other blocks would wait for it.
  __device__ __forceinline__ void draw(const std::uint32_t& pass) {
    if (threadIdx.x == 0 && tiles_ > gridDim.x)
      drawn_ = gridDim.x + atomicAdd(block_.arguments.tables.counters->tile + pass, 1U);
  }

 private:
  // The tile that was drawn, or the number of tiles. No thread goes on before all have stored.
  __device__ __forceinline__ std::uint32_t next() const {
    if (tiles_ <= gridDim.x) return tiles_;
    if (threadIdx.x == 0) block_.shared.tile = drawn_;
    __syncthreads();
    return block_.shared.tile;
  }

  const Block& block_;
  std::uint32_t tiles_;
  std::uint32_t drawn_ = 0;  ///< in the first thread alone
};

}  // namespace sheaf::cuda
