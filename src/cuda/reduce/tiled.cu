#include <algorithm>
#include <bit>

#include "core/scratch_offsets.hpp"
#include "cuda/movement/memory_cost.hpp"
#include "cuda/reduce/tile_buckets.cuh"
#include "cuda/reduce/tile_rows.cuh"
#include "cuda/reduce/variants.hpp"
#include "primitives/scatter_reduce.hpp"

// The variant cuda.tiled, for short lists: one kernel adds up the values of each slot in each tile of the list, and
// then the sums that tiles have of a slot. The order of additions depends on positions alone, so sums of floats are
// deterministic. No list is sorted as a whole.
namespace sheaf::cuda {
namespace {

using primitives::scatter_reduce_buffers;
using primitives::scatter_reduce_problem;

constexpr const char* operation = "cuda.tiled";
constexpr std::uint64_t most_values = std::uint64_t{most_tiles_at_once} * segment_tile;

std::uint64_t tile_count(const scatter_reduce_problem& p) { return ceil_div(p.count, segment_tile); }

/// Whether each tile writes a row of sums, one for every slot: four times as many as it has values at most.
bool sums_in_rows(const scatter_reduce_problem& p) { return p.indexed_count <= std::uint64_t{4} * segment_tile; }

/// Each slot has a bucket of its own, or buckets are at least twice as many as values; eight times in short lists.
slot_buckets buckets_of(const scatter_reduce_problem& p) {
  constexpr std::uint64_t most_sparse = 1 << 21;
  const std::uint64_t values = std::bit_ceil(p.count);
  const std::uint64_t most = std::max(2 * values, std::min(8 * values, most_sparse));
  return {static_cast<std::uint32_t>(std::bit_width(std::min(std::bit_ceil(p.indexed_count), most)) - 1)};
}

/// The tables of a call in its scratch; without scratch, their size alone. A list of one tile needs none.
template <class T>
struct tiled_scratch {
  T* rows = nullptr;
  bucket_tables<T> tables{};
  std::uint64_t bytes;

  tiled_scratch(const scatter_reduce_problem& p, std::byte* scratch) {
    const std::uint64_t tiles = tile_count(p);
    core::scratch_arrays arrays(scratch);
    if (tiles > 1 && sums_in_rows(p)) {
      rows = arrays.take<T>(tiles * std::max<std::uint64_t>(1, p.indexed_count));
    } else if (tiles > 1) {
      const std::uint64_t buckets = std::uint64_t{1} << buckets_of(p).bits;
      tables.totals = arrays.take<bucket_totals>(1);
      tables.count = arrays.take<std::uint32_t>(buckets);
      tables.begin = arrays.take<std::uint32_t>(buckets);
      tables.few = {arrays.take<std::uint64_t>(buckets * few_sums), arrays.take<T>(buckets * few_sums)};
      tables.joined = {arrays.take<std::uint64_t>(p.count), arrays.take<T>(p.count)};
      tables.long_buckets = arrays.take<long_bucket>(p.count / few_sums);
    }
    bytes = arrays.bytes();
  }
};

/// Fitted to an H100.
struct tiled_tuning {
  double tile_steps = 3.5;     ///< latency of a tile that is sorted and added up, in steps of the profile
  double row_barriers = 4;     ///< of adding up columns, the barrier before included, in barriers of the profile
  double bucket_barriers = 8;  ///< of meeting in buckets
  double tile_bytes = 64;      ///< to sort and add up a value takes as long as so many bytes of a copy
  double bucket_bytes = 250;   ///< to bring its sum to a bucket, where each value has a slot of its own
};
constexpr tiled_tuning tuning;

plan::planned plan_tiled(const scatter_reduce_problem& p, const plan::scope& scope) {
  const machine& m = scope.machine;
  if (!p.sums()) return plan::rejected("adds and subtracts");
  if (p.count > most_values) return plan::rejected("takes up to 2^20 values");
  if (p.indexed_count >= ~std::uint32_t{0}) return plan::rejected("slots pass 32 bits");
  const auto count = static_cast<double>(p.count);
  const bool meets = tile_count(p) > 1;
  const bool in_rows = sums_in_rows(p);
  const double barriers = !meets ? 0 : in_rows ? tuning.row_barriers : tuning.bucket_barriers;
  plan::planned plan;
  plan.add("latency", m.launch_seconds + tuning.tile_steps * m.step_seconds + barriers * m.barrier_seconds);
  plan.add("tiles", count * tuning.tile_bytes / m.copy_bytes_per_second);
  if (meets && !in_rows) {
    plan.add("buckets", count * tuning.bucket_bytes / m.copy_bytes_per_second);
    plan.add("sums", atomic_add_cost(p, m).access);
  }
  plan.scratch_bytes =
      bytes(p.type) == 4 ? tiled_scratch<float>(p, nullptr).bytes : tiled_scratch<double>(p, nullptr).bytes;
  return plan;
}

template <class T>
class tiled_call {
 public:
  tiled_call(const context& ctx, const scatter_reduce_problem& p, const scatter_reduce_buffers& b, std::byte* scratch)
      : ctx_(ctx), p_(p), scratch_(p, scratch) {
    const index_guard guard = state_of(ctx).guard(primitives::scatter_reduce_words, p.index, p.indexed_count);
    a_.list = arguments_of(p, nullptr, nullptr, b.index, guard);
    a_.in = static_cast<const T*>(b.in.data);
    a_.out = static_cast<T*>(b.out.data);
    a_.is_negated = p.op == reduction::subtract;
    a_.last_slot = static_cast<std::uint32_t>(std::max<std::uint64_t>(1, p.indexed_count) - 1);
    a_.slot_bits = std::max(1U, static_cast<std::uint32_t>(std::bit_width(a_.last_slot)));
    constexpr std::uint32_t most_digit_bits = 8;
    a_.digit_bits = static_cast<std::uint32_t>(ceil_div(a_.slot_bits, ceil_div(a_.slot_bits, most_digit_bits)));
  }

  void run() const {
    if (tile_count(p_) == 1) return launch(ctx_, operation, sum_one_tile<T>, 1, a_);
    if (sums_in_rows(p_)) return launch_in_parts(sum_tiles_in_rows<T>, a_, scratch_.rows);
    bucket_sums_arguments<T> a{a_};
    a.buckets = buckets_of(p_);
    a.tables = scratch_.tables;
    launch_in_parts(sum_tiles_in_buckets<T>, a);
  }

 private:
  /// A launch takes as many tiles as the device holds blocks: on one with few multiprocessors, a part of the list.
  template <class Kernel, class Arguments, class... More>
  void launch_in_parts(Kernel kernel, Arguments a, More... more) const {
    const std::uint64_t resident =
        state_of(ctx_).resident_blocks(reinterpret_cast<const void*>(kernel), block_threads, 0);
    const std::uint64_t at_once = std::min<std::uint64_t>(most_tiles_at_once, resident);
    const std::uint64_t tiles = tile_count(p_);
    for (std::uint64_t first = 0; first < tiles; first += at_once) {
      a.first_tile = static_cast<std::uint32_t>(first);
      launch_cooperative(ctx_, operation, kernel, std::min(at_once, tiles - first), block_threads, 0, a, more...);
    }
  }

  const context& ctx_;
  const scatter_reduce_problem& p_;
  tiled_scratch<T> scratch_;
  tile_sums_arguments<T> a_{};
};

void run_tiled(const context& ctx, const scatter_reduce_problem& p, const plan::planned&,
               const scatter_reduce_buffers& b, std::byte* scratch) {
  const device_scope current_device(ctx.device());
  switch (p.type) {
    case value_type::f32: return tiled_call<float>(ctx, p, b, scratch).run();
    case value_type::f64: return tiled_call<double>(ctx, p, b, scratch).run();
    case value_type::i32:
    case value_type::u32: return tiled_call<std::uint32_t>(ctx, p, b, scratch).run();
    default: return tiled_call<std::uint64_t>(ctx, p, b, scratch).run();
  }
}

}  // namespace

constinit const primitives::scatter_reduce_variant scatter_reduce_tiled{"cuda.tiled", backend_kind::cuda, plan_tiled,
                                                                        run_tiled};

}  // namespace sheaf::cuda
