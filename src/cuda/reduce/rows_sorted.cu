#include "cuda/movement/copy/records.cuh"
#include "cuda/reduce/rows/calls.hpp"
#include "cuda/reduce/rows/cost.hpp"
#include "cuda/split/cub/radix_sort.hpp"
#include "primitives/split/contract.hpp"

// The variant cuda.sorted for rows: pairs of slot and row number are sorted by the upper bits of slots alone, by CUB,
// and blocks bring each bucket of slots into order in shared memory and combine its rows. Buckets longer than a tile
// are combined in pieces of a tile, whose results are combined then. What is combined in which order follows from
// positions alone.
namespace sheaf::cuda {
namespace {

using namespace primitives;

constexpr std::uint64_t most_rows_of_a_sort = (std::uint64_t{1} << 32) - 2;

/// What a plan decides for run.
struct rows_sort {
  std::uint32_t bin_bits = 0;  ///< lower bits of slots, which the sort leaves to the tiles
  bool sorts = false;          ///< there are upper bits
  bool narrows = false;        ///< slots are copied first: indices have 8 bytes, or CUB cannot set bad ones apart

  void tell(plan::told& to) const { to.add("bin_bits", bin_bits).add("sorts", sorts); }
};

std::uint32_t bits_of_slots(const scatter_reduce_rows_problem& p) {
  return std::max(1U, category_bits(std::max<std::uint64_t>(1, p.indexed_count)));
}

cub_sort_shape sort_of_rows(const scatter_reduce_rows_problem& p, const rows_sort& decided) {
  cub_sort_shape shape;
  shape.count = p.count;
  shape.value_bytes = sizeof(std::uint32_t);
  shape.first_bit = decided.bin_bits;
  shape.end_bit = bits_of_slots(p);
  shape.encodes_keys = !decided.narrows;
  return shape;
}

sorted_buckets buckets_of(const scatter_reduce_rows_problem& p, const rows_sort& decided) {
  sorted_buckets at;
  at.buckets = ceil_div(p.indexed_count, std::uint64_t{1} << decided.bin_bits);
  at.pairs = p.count;
  at.bin_bits = decided.bin_bits;
  at.slot_limit = static_cast<std::uint32_t>(std::min(p.indexed_count, p.index_limit()));
  const std::uint32_t bits = bits_of_slots(p);
  at.last_bucket = bits > decided.bin_bits ? (std::uint32_t{1} << (bits - decided.bin_bits)) - 1 : 0;
  return at;
}

/// The arrays of a call.
struct rows_sorted_arrays {
  std::byte* sort;
  std::uint32_t* narrowed;
  std::uint32_t* slots;  ///< sorted
  std::uint32_t* numbers;
  std::uint32_t* positions;  ///< sorted
  std::uint64_t* begins;
  long_list_scratch longs;

  rows_sorted_arrays(const scatter_reduce_rows_problem& p, const rows_sort& decided, core::scratch_arrays& place)
      : sort(place.take<std::byte>(decided.sorts ? cub_scratch_bytes(sort_of_rows(p, decided)) : 0)),
        narrowed(place.take<std::uint32_t>(decided.narrows ? p.count : 0)),
        slots(place.take<std::uint32_t>(decided.sorts ? p.count : 0)),
        numbers(place.take<std::uint32_t>(decided.sorts ? p.count : 0)),
        positions(place.take<std::uint32_t>(decided.sorts ? p.count : 0)),
        begins(place.take<std::uint64_t>(ceil_div(p.indexed_count, std::uint64_t{1} << decided.bin_bits) + 1)),
        longs(p.count, buckets_of(p, decided), p.sum_row_bytes(), place) {}
};

struct rows_sorted_tuning {
  /// A block takes so long before it reads rows, in steps of the profile, of which a multiprocessor has several in
  /// flight.
  double block_steps = 1;
  double blocks_in_flight = 6;
  /// A block waits for its slot of most rows, the longer the more rows it has; this share of the rows' time where it
  /// has a whole tile.
  double waiting = 0.4;
  /// Buckets are cut into tiles where this many times their mean length is more than a tile.
  double longer_than_mean = 1.5;
  /// A block takes so long to combine the results of a slot, in steps of the profile.
  double result_steps = 3.5;
  double steps = 24;  ///< of all kernels, one after the other
  /// Rows are read in a time longer than that of reads at random by this factor, for what blocks do besides.
  double row_factor = 1.08;
};
constexpr rows_sorted_tuning tuning_of_sorted_rows;

/// What depends on how many bits the sort leaves to the tiles.
struct sort_and_tiles_seconds {
  double sort = 0;
  double buckets = 0;
  double results = 0;

  sort_and_tiles_seconds(const scatter_reduce_rows_problem& p, const rows_sort& decided, const machine& m) {
    const auto count = static_cast<double>(p.count);
    if (decided.sorts) {
      plan::planned of_sort;
      add_cub_cost(of_sort, sort_of_rows(p, decided), m);
      sort = of_sort.seconds + m.step_seconds + count * 4 / m.copy_bytes_per_second;  // and row numbers
    }
    const double blocks = static_cast<double>(buckets_of(p, decided).buckets);
    const double tiles = count / tile_pairs;
    buckets = (blocks + tiles) * tuning_of_sorted_rows.block_steps * m.step_seconds /
                  (tuning_of_sorted_rows.blocks_in_flight * m.parallelism) +
              tuning_of_sorted_rows.waiting * std::min(1.0, tiles / std::max(1.0, blocks)) *
                  rows_read_seconds(p.count, p.record_bytes, p.sequential_bytes(), m);
    if (tuning_of_sorted_rows.longer_than_mean * tiles > blocks) {  // each tile has a result of each of its slots
      const auto bins = static_cast<double>(std::uint32_t{1} << decided.bin_bits);
      results = 2 * std::min(tiles * bins, count) * static_cast<double>(p.sum_row_bytes()) / m.copy_bytes_per_second +
                std::min(blocks * bins, count) * tuning_of_sorted_rows.result_steps * m.step_seconds /
                    (tuning_of_sorted_rows.blocks_in_flight * m.parallelism);
    }
  }
  double all() const { return sort + buckets + results; }
};

/// The cheapest division of the bits of slots between the sort and the tiles.
rows_sort decide_rows_sort(const scatter_reduce_rows_problem& p, const machine& m) {
  rows_sort best;
  double least = 0;
  const std::uint32_t bits = bits_of_slots(p);
  for (std::uint32_t bin_bits = 0; bin_bits <= std::min(bits, most_bin_bits); ++bin_bits) {
    rows_sort decided;
    decided.bin_bits = bin_bits;
    decided.sorts = bits > bin_bits;
    const double seconds = sort_and_tiles_seconds(p, decided, m).all();
    if (bin_bits > 0 && seconds >= least) continue;
    least = seconds;
    best = decided;
  }
  best.narrows = bytes(p.index) == 8 || (best.sorts && cub_rejection(sort_of_rows(p, best)) != nullptr);
  return best;
}

plan::planned plan_sorted_rows(const scatter_reduce_rows_problem& p, const plan::scope& scope) {
  const machine& m = scope.machine;
  if (!p.reads_in()) return plan::rejected("combines rows, but a count looks at none");
  if (p.count > most_rows_of_a_sort) return plan::rejected("counts rows in 32 bits");
  if (p.indexed_count >= ~std::uint32_t{0}) return plan::rejected("slots exceed 32 bits");
  const rows_sort decided = decide_rows_sort(p, m);
  if (decided.sorts) {
    if (const char* const reason = cub_rejection(sort_of_rows(p, decided))) return plan::rejected(reason);
  }
  const auto count = static_cast<double>(p.count);
  const sort_and_tiles_seconds seconds(p, decided, m);
  plan::planned plan;
  plan.add("latency", m.launch_seconds + tuning_of_sorted_rows.steps * m.step_seconds);
  if (decided.narrows) plan.add("slots", count * static_cast<double>(bytes(p.index) + 4) / m.copy_bytes_per_second);
  if (decided.sorts) plan.add("sort", seconds.sort);
  plan.add("buckets", seconds.buckets);
  if (seconds.results > 0) plan.add("results", seconds.results);
  plan.add("rows",
           tuning_of_sorted_rows.row_factor * (rows_read_seconds(p.count, p.record_bytes, p.sequential_bytes(), m) +
                                               count * 8 / m.copy_bytes_per_second));
  plan.add("out", rows_written_seconds(p.reads_out() ? std::min(p.count, p.indexed_count) : p.indexed_count,
                                       p.out_row_bytes(), p.reads_out(), m));
  plan.scratch_bytes = core::bytes_of<rows_sorted_arrays>(p, decided);
  plan.decided.set(decided);
  return plan;
}

constexpr int rows_per_thread = 4;

/// slot[i] = index[i]; all ones if that is bad, which is reported later.
__global__ void __launch_bounds__(block_threads)
    narrow_slots(const __grid_constant__ move_arguments args, std::uint32_t* slot) {
  const std::uint64_t first = std::uint64_t{blockIdx.x} * (block_threads * rows_per_thread) + threadIdx.x;
#pragma unroll
  for (int k = 0; k < rows_per_thread; ++k) {
    const std::uint64_t i = first + k * block_threads;
    if (i >= args.count) continue;
    const std::uint64_t index = index_at(args, i);
    slot[i] = index < args.limit ? static_cast<std::uint32_t>(index) : ~std::uint32_t{0};
  }
}

/// Reports the first bad slot of a list, if there is any.
__global__ void __launch_bounds__(block_threads)
    report_bad_slots(const __grid_constant__ move_arguments args, const std::uint32_t* has_bad) {
  if (has_bad != nullptr && *has_bad == 0) return;
  const std::uint64_t step = std::uint64_t{gridDim.x} * block_threads;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x; i < args.count; i += step) {
    check_index(args, i, index_at(args, i));
  }
}

void queue_report(const context& ctx, const scatter_reduce_rows_problem& p, const move_arguments& args,
                  const std::uint32_t* has_bad) {
  if (p.bounds != bounds::check || p.count == 0) return;
  constexpr std::uint64_t blocks_each = 8;
  const std::uint64_t most_blocks = blocks_each * static_cast<std::uint64_t>(state_of(ctx).multiprocessors());
  launch(ctx, report_bad_slots, std::min(ceil_div(p.count, block_threads), most_blocks), args, has_bad);
}

void run_sorted_rows(const context& ctx, const scatter_reduce_rows_problem& p, const plan::planned& plan,
                     const scatter_reduce_rows_buffers& b, std::byte* scratch) {
  const device_scope current_device(ctx.device());
  const auto decided = plan.decided.get<rows_sort>();
  const auto at = core::arrays_in<rows_sorted_arrays>(scratch, p, decided);
  const move_arguments args = arguments_of(p, nullptr, nullptr, b.index,
                                           state_of(ctx).guard(scatter_reduce_rows_wording, p.index, p.indexed_count));
  if (p.indexed_count == 0) return queue_report(ctx, p, args, nullptr);
  const auto* slots = static_cast<const std::uint32_t*>(b.index.data);
  if (decided.narrows && p.count > 0) {
    launch(ctx, narrow_slots, ceil_div(p.count, block_threads * rows_per_thread), args, at.narrowed);
    slots = at.narrowed;
  }
  sorted_buckets buckets = buckets_of(p, decided);
  buckets.slots = slots;
  buckets.begins = at.begins;
  buckets.faults = at.longs.faults();
  if (decided.sorts && p.count > 0) {
    write_row_numbers(ctx, at.numbers, sizeof *at.numbers, p.count);
    cub_key_encoding encoding;
    encoding.most = buckets.slot_limit == 0 ? 0 : buckets.slot_limit - 1;
    run_cub_sort(ctx, sort_of_rows(p, decided), encoding, {slots, at.slots, at.numbers, at.positions}, at.sort);
    buckets.slots = at.slots;
    buckets.positions = at.positions;
  }
  const row_types types = row_types_of(p.in, p.sum(), p.word_bytes, p.out, p.out_word_bytes);
  reduced_rows out = rows_to_write(b.out, types, p.op, p.reads_out());
  set_counts(out, b.counts);
  combine_sorted_tiles(ctx, types, rows_to_read(b.in), buckets, out, at.longs.lists);
  queue_report(ctx, p, args, buckets.faults);
}

}  // namespace

extern constinit const scatter_reduce_rows_variant scatter_reduce_rows_sorted{"cuda.sorted", backend_kind::cuda,
                                                                              plan_sorted_rows, run_sorted_rows};

}  // namespace sheaf::cuda
