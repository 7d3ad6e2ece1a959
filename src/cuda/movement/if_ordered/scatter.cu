#include "cuda/movement/copy/words.cuh"
#include "cuda/movement/if_ordered/direct.hpp"

namespace sheaf::cuda {
namespace {

/// A tile a block. The device starts blocks in order, so that all of them work on one stretch of the list, and lines
/// that they share stay in the cache. Block 0 takes the sample; when blocks behind the first ones start, the verdict is
/// published. Blocks that draw tiles took 12 % longer for 10^8 records of 8 and 16 bytes in order; gathers do draw
/// them, because their lists come in more streams than these blocks keep close.
template <class Tile>
__global__ void __launch_bounds__(sample_threads)
    scatter_words_if_ordered(const __grid_constant__ word_arguments<typename Tile::index> args,
                             const __grid_constant__ order_sample sample, std::uint64_t unconditional_blocks) {
  let_next_kernel_start();
  if (blockIdx.x == 0 && unconditional_blocks < gridDim.x) publish_verdict(args.index, sample);
  if (blockIdx.x >= unconditional_blocks && order_is_scattered(args.index, sample)) return;
  const std::uint64_t first = Tile::first_of(std::uint64_t{blockIdx.x} * (sample_threads * Tile::items));
  if (first >= args.count) return;
  Tile t;
  t.load(args, first);
  t.finish(args, first);
}

template <class Word, int Items, int Step = 256>
direct_attempt launch_if_ordered(const context& ctx, const primitives::movement& problem, const move_arguments& args) {
  const order_verdict verdict = state_of(ctx).new_order_verdict();
  constexpr std::uint64_t tile = std::uint64_t{sample_threads} * Items;
  // Blocks of each multiprocessor that do not wait for the verdict: few enough that a random list loses little by them,
  // enough to keep memory busy until the verdict is published.
  constexpr std::uint64_t blocks_ahead = 4;
  const std::uint64_t blocks = ceil_div(problem.count, tile);
  const std::uint64_t ahead = static_cast<std::uint64_t>(state_of(ctx).multiprocessors()) * blocks_ahead;
  const std::uint64_t unconditional_blocks = can_sample(problem, verdict) ? std::min(ahead, blocks) : blocks;
  const order_sample sample = order_sample_of(ctx, problem, true, verdict);
  const auto with_index = [&](auto index) {
    using index_value = decltype(index);
    launch_blocks(ctx, scatter_words_if_ordered<scatter_tile<Word, index_value, Items, Step>>, blocks, sample_threads,
                  word_arguments_of<index_value>(args), sample, unconditional_blocks);
  };
  args.wide_index != 0 ? with_index(std::uint64_t{}) : with_index(std::uint32_t{});
  return {sample, std::min(problem.count, unconditional_blocks * tile), unconditional_blocks < blocks};
}

}  // namespace

direct_attempt scatter_if_ordered(const context& ctx, const primitives::movement& problem, const move_arguments& args) {
  switch (problem.record_bytes) {
    case 1: return launch_if_ordered<std::uint8_t, 8>(ctx, problem, args);
    case 2: return launch_if_ordered<std::uint16_t, 4>(ctx, problem, args);
    case 4: return launch_if_ordered<std::uint32_t, 4>(ctx, problem, args);
    case 8: return launch_if_ordered<uint2, 2, 32>(ctx, problem, args);
    default: return launch_if_ordered<uint4, 1>(ctx, problem, args);
  }
}

direct_attempt scatter_positions_if_ordered(const context& ctx, const primitives::movement& p,
                                            const move_arguments& a) {
  return launch_if_ordered<row_position, 4>(ctx, p, a);
}

}  // namespace sheaf::cuda
