#include <cooperative_groups.h>

#include "core/scratch_offsets.hpp"
#include "cuda/movement/memory_cost.hpp"
#include "cuda/reduce/terms.cuh"
#include "cuda/reduce/tile_buckets.cuh"

// The variant cuda.tiled, for short lists: a kernel adds up the values of each slot in each tile of the list, and then
// the sums that tiles have of a slot. The order of additions depends on positions alone, so sums of floats are
// deterministic. Kernels for lists of one tile and for few slots stand here, that for many slots in tile_buckets.cuh.
namespace sheaf::cuda {
namespace {

using namespace primitives;

/// out[index[i]] += in[i] for a list of one tile.
template <class T>
__global__ void __launch_bounds__(block_threads) sum_one_tile(const __grid_constant__ tile_sums_arguments<T> args) {
  __shared__ tile_sort_memory<T> shared;
  thread_values<T> values;
  values.load(args, [] {});
  sort_tile(args, values, shared);
  slot_sums<T> sums;
  sum_segments(shared.tile, [&](int k, std::uint32_t slot, T sum) { sums.set(k, slot, sum); });
  sums.add_to(args.out);
}

/// out[index[i]] += in[i] for few slots, by a block for each tile. `rows` has room for a sum of each tile and slot.
/// Cooperative.
template <class T>
__global__ void __launch_bounds__(block_threads, 4)
    sum_tiles_in_rows(const __grid_constant__ tile_sums_arguments<T> args, T* rows) {
  __shared__ tile_sort_memory<T> shared;
  __shared__ T column[tile_warps][32];
  const std::uint32_t slots = args.highest_slot + 1;
  T* const row = rows + std::uint64_t{blockIdx.x} * slots;
  thread_values<T> values;
  values.load(args, [&] {
    for (std::uint32_t slot = threadIdx.x; slot < slots; slot += block_threads) row[slot] = empty_sum<T>;
  });
  sort_tile(args, values, shared);
  sum_segments(shared.tile, [&](int, std::uint32_t slot, T sum) { row[slot] = sum; });
  cooperative_groups::this_grid().sync();
  // A block adds up 32 columns at a time: each warp every eighth row of them, then the first warp what the warps have.
  const std::uint32_t lane = threadIdx.x % 32;
  const std::uint32_t warp = threadIdx.x / 32;
  for (std::uint32_t first = blockIdx.x * 32; first < slots; first += gridDim.x * 32) {
    const std::uint32_t slot = min(first + lane, args.highest_slot);
    T sum = empty_sum<T>;
#pragma unroll 8
    for (std::uint32_t tile = warp; tile < gridDim.x; tile += tile_warps)
      sum += __ldcg(rows + std::uint64_t{tile} * slots + slot);
    column[warp][lane] = sum;
    __syncthreads();
    if (warp == 0 && first + lane < slots) {
#pragma unroll
      for (int w = 1; w < tile_warps; ++w) sum += column[w][lane];
      if (!is_empty_sum(sum)) args.out[slot] += sum;
    }
    __syncthreads();
  }
}

/// Most slots of which each tile writes a row of sums: four times as many as a tile has values.
constexpr std::uint64_t most_slots_in_rows = std::uint64_t{4} * segment_tile;
constexpr std::uint64_t most_tiles_in_rows = 512;

/// What a plan decides for run.
struct tiled_decision {
  std::uint32_t tiles;
  bool sums_in_rows;  ///< else in buckets, where the list has several tiles
  slot_buckets buckets;

  void tell(plan::told& to) const { to.add("tiles", tiles).add("sums_in_rows", sums_in_rows); }

  explicit tiled_decision(const scatter_reduce_problem& problem)
      : tiles(static_cast<std::uint32_t>(ceil_div(problem.count, segment_tile))),
        sums_in_rows(problem.indexed_count <= most_slots_in_rows) {
    // Where a slot has no bucket of its own, there are at least twice as many buckets as values, and up to eight times
    // as many where that is at most 2^20: a sum that shares its bucket has to wait for others. A bucket takes 44 or 56
    // bytes of scratch, of which 4 are cleared, and the rest is touched where sums share it.
    constexpr std::uint64_t most_for_eight = 1 << 20;
    const std::uint64_t values = std::bit_ceil(problem.count);
    const std::uint64_t most = std::max(2 * values, std::min(8 * values, most_for_eight));
    buckets.bits = static_cast<std::uint32_t>(std::bit_width(std::min(std::bit_ceil(problem.indexed_count), most)) - 1);
  }
};

/// The tables of a call in its scratch. A list of one tile needs none.
template <class T>
struct tiled_scratch {
  T* rows = nullptr;
  bucket_tables<T> tables{};

  tiled_scratch(const scatter_reduce_problem& problem, const tiled_decision& decided, core::scratch_arrays& arrays) {
    if (decided.tiles > 1 && decided.sums_in_rows) {
      rows = arrays.take<T>(decided.tiles * std::max<std::uint64_t>(1, problem.indexed_count));
    } else if (decided.tiles > 1) {
      const std::uint64_t buckets = std::uint64_t{1} << decided.buckets.bits;
      tables.totals = arrays.take<bucket_totals>(1);
      tables.sums_in_bucket = arrays.take<std::uint32_t>(buckets);
      tables.begin_of_long = arrays.take<std::uint32_t>(buckets);
      tables.later = {arrays.take<std::uint64_t>(buckets * later_sums), arrays.take<T>(buckets * later_sums)};
      // A sum of each value at most, and one of the places past the end of the list, which are of the highest slot.
      const std::uint64_t most_sums = problem.count + 1;
      tables.gathered = {arrays.take<std::uint64_t>(most_sums), arrays.take<T>(most_sums)};
      tables.long_buckets = arrays.take<long_bucket>(most_sums / (few_sums + 1));
    }
  }
};

/// Fitted to an H100.
struct tiled_tuning {
  double tile_steps = 3.5;     ///< latency of sorting a tile and adding it up, in steps of the profile
  double row_barriers = 4;     ///< latency of adding columns up, in barriers of the profile
  double bucket_barriers = 8;  ///< latency of adding sums up in buckets, likewise
  double tile_bytes = 64;      ///< a value is sorted and added up in the time in which a copy moves so many bytes
  double bucket_bytes = 250;   ///< a sum is brought to its bucket, and added up there, in the time of so many
};
constexpr tiled_tuning tuning_of_tiled;

plan::planned plan_tiled(const scatter_reduce_problem& problem, const plan::scope& scope) {
  const machine& machine = scope.machine;
  if (!problem.sums()) return plan::rejected("only adds and subtracts");
  if (problem.indexed_count >= ~std::uint32_t{0}) return plan::rejected("slots exceed 32 bits");
  if (problem.count > most_tiles_in_rows * segment_tile) return plan::rejected("handles at most 2^20 values");
  const tiled_decision decided(problem);
  if (!decided.sums_in_rows && decided.tiles > most_tiles_in_buckets)
    return plan::rejected("handles at most 2^19 values with more than 8192 slots");
  const auto count = static_cast<double>(problem.count);
  const double barriers = decided.tiles == 1     ? 0
                          : decided.sums_in_rows ? tuning_of_tiled.row_barriers
                                                 : tuning_of_tiled.bucket_barriers;
  plan::planned plan;
  plan.add("latency", machine.launch_seconds + tuning_of_tiled.tile_steps * machine.step_seconds +
                          barriers * machine.barrier_seconds);
  plan.add("tiles", count * tuning_of_tiled.tile_bytes / machine.copy_bytes_per_second);
  if (decided.tiles > 1 && !decided.sums_in_rows) {
    plan.add("buckets", count * tuning_of_tiled.bucket_bytes / machine.copy_bytes_per_second);
    plan.add("sums", atomic_add_cost(problem, machine).access);
  }
  plan.decided.set(decided);
  plan.scratch_bytes = bytes(problem.type) == 4 ? core::bytes_of<tiled_scratch<float>>(problem, decided)
                                                : core::bytes_of<tiled_scratch<double>>(problem, decided);
  return plan;
}

template <class T>
class tiled_call {
 public:
  tiled_call(const context& ctx, const scatter_reduce_problem& problem, const tiled_decision& decided,
             const scatter_reduce_buffers& buffers, std::byte* scratch)
      : ctx_(ctx), decided_(decided), scratch_(core::arrays_in<tiled_scratch<T>>(scratch, problem, decided)) {
    const index_guard guard = state_of(ctx).guard(scatter_reduce_wording, problem.index, problem.indexed_count);
    args_.list = arguments_of(problem, nullptr, nullptr, buffers.index, guard);
    args_.in = static_cast<const T*>(buffers.in.data);
    args_.out = static_cast<T*>(buffers.out.data);
    args_.is_negated = problem.op == reduction::subtract;
    args_.highest_slot = static_cast<std::uint32_t>(std::max<std::uint64_t>(1, problem.indexed_count) - 1);
    args_.slot_bits = std::max(1U, static_cast<std::uint32_t>(std::bit_width(args_.highest_slot)));
    args_.digit_bits =
        static_cast<std::uint32_t>(ceil_div(args_.slot_bits, ceil_div(args_.slot_bits, tile_digit_bits)));
  }

  void run() const {
    if (decided_.tiles == 1) return launch(ctx_, sum_one_tile<T>, 1, args_);
    if (decided_.sums_in_rows) return launch_in_parts(sum_tiles_in_rows<T>, args_, scratch_.rows);
    bucket_sums_arguments<T> a{args_};
    a.buckets = decided_.buckets;
    a.tables = scratch_.tables;
    launch_in_parts(sum_tiles_in_buckets<T>, a);
  }

 private:
  /// All tiles of a launch have a block at the same time. A device that does not hold so many blocks takes the list in
  /// parts, one after the other.
  template <class Kernel, class Arguments, class... More>
  void launch_in_parts(Kernel kernel, Arguments a, More... more) const {
    const auto at_once = static_cast<std::uint32_t>(
        state_of(ctx_).resident_blocks(reinterpret_cast<const void*>(kernel), block_threads, 0));
    for (a.first_tile = 0; a.first_tile < decided_.tiles; a.first_tile += at_once) {
      launch_cooperative(ctx_, kernel, std::min(at_once, decided_.tiles - a.first_tile), block_threads, 0, a, more...);
    }
  }

  const context& ctx_;
  const tiled_decision& decided_;
  tiled_scratch<T> scratch_;
  tile_sums_arguments<T> args_{};
};

void run_tiled(const context& ctx, const scatter_reduce_problem& p, const plan::planned& plan,
               const scatter_reduce_buffers& b, std::byte* scratch) {
  const device_scope current_device(ctx.device());
  const auto decided = plan.decided.get<tiled_decision>();
  with_term(p.type, [&](auto term) { tiled_call<decltype(term)>(ctx, p, decided, b, scratch).run(); });
}

}  // namespace

extern constinit const scatter_reduce_variant scatter_reduce_tiled{"cuda.tiled", backend_kind::cuda, plan_tiled,
                                                                   run_tiled};

}  // namespace sheaf::cuda
