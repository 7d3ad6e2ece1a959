#include "cuda/movement/copy/records.cuh"
#include "cuda/ranks/owners.cuh"
#include "cuda/ranks/steps.hpp"

// A gather that reads the tables of other devices where they lie. Their links carry each record once, and no pass over
// the list comes before.
namespace sheaf::cuda {
namespace {

using namespace primitives;

/// As move_collective of copy/records.cuh: a tile's entries are read and checked once, into shared memory, as addresses
/// of records. Then neighbouring lanes read neighbouring words, so that a wide record crosses the link in whole lines.
template <class Index, class Word>
__global__ void __launch_bounds__(block_threads)
    move_from_parts(const __grid_constant__ move_arguments args, const tile_shape tile, const rows_of_ranks rows,
                    const record_part* parts, std::uint64_t* first_bad) {
  __shared__ std::uint64_t address[most_tile_records];
  const std::uint64_t first = std::uint64_t{blockIdx.x} * tile.records;
  const auto in_tile = static_cast<std::uint32_t>(min(std::uint64_t{tile.records}, args.count - first));
  for (std::uint32_t record = threadIdx.x; record < in_tile; record += block_threads) {
    const std::uint64_t row = entry_at<Index>(args.index, first + record);
    if (row >= rows.limit) {
      address[record] = no_record;
      note_bad(first_bad, first + record);
      continue;
    }
    const std::uint32_t owner = owner_of(rows, row);
    const record_part part = parts[owner];
    address[record] = reinterpret_cast<std::uintptr_t>(part.data) + (row - rows.begins[owner]) * part.stride_bytes;
  }
  __syncthreads();
  move_listed<direction::gather, Word>(args, tile, first, in_tile, address, [](std::uint32_t r) { return r; });
}

}  // namespace

void gather_parts(const context& ctx, const gather_from_parts& p) {
  const run_scope scope(ctx, "gather from parts");
  clear_first_bad(ctx, p.first_bad);
  if (p.list.count == 0) return;
  movement problem;
  problem.count = p.list.count;
  problem.record_bytes = p.out.record_bytes;
  problem.sequential_stride_bytes = p.out.stride_bytes;
  problem.word_bytes = p.word_bytes;
  const tile_shape tile = shape_of(problem, static_cast<std::uint32_t>(state_of(ctx).multiprocessors()));
  // Places of records are addresses, not offsets from the beginning of one table.
  move_arguments args{};
  args.to = p.out.data;
  args.index = p.list.data;
  args.count = p.list.count;
  args.sequential_stride = p.out.stride_bytes;
  with_word(p.word_bytes, [&](auto word) {
    const auto queue = [&](auto index) {
      launch(ctx, move_from_parts<decltype(index), decltype(word)>, ceil_div(p.list.count, tile.records), args, tile,
             p.rows, p.parts, p.first_bad);
    };
    bytes(p.list.type) == sizeof(std::uint32_t) ? queue(std::uint32_t{}) : queue(std::uint64_t{});
  });
}

}  // namespace sheaf::cuda
