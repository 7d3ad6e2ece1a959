#include "cuda/movement/copy/records.cuh"
#include "cuda/reduce/rows/calls.hpp"
#include "cuda/reduce/rows/cost.hpp"
#include "cuda/split/cost.hpp"
#include "cuda/split/cub/radix_sort.hpp"
#include "plan/choose.hpp"
#include "primitives/reduce/prepare.hpp"
#include "primitives/split/contract.hpp"

// The preparation cuda.by_slot: the positions of the list, sorted by slot, and where each slot's begin. A run combines
// the rows of slots that lie side by side by a block, as cuda.sorted does behind its sort; in short lists and narrow
// rows those of each slot by a group of lanes. It sorts nothing.
namespace sheaf::cuda {
namespace {

using namespace primitives;

/// Entries of the list fit 32 bits, with a number to spare.
constexpr std::uint64_t most_prepared_rows = (std::uint64_t{1} << 32) - 2;

std::uint32_t bits_of_slots(const prepare_scatter_reduce_problem& p) {
  return std::max(1U, category_bits(p.indexed_count + 1));
}

cub_sort_shape sort_of_positions(const prepare_scatter_reduce_problem& p) {
  cub_sort_shape shape;
  shape.count = p.count;
  shape.value_bytes = sizeof(std::uint32_t);
  shape.end_bit = bits_of_slots(p);
  return shape;
}

/// What a preparation keeps.
struct kept_order {
  std::uint32_t* slots;  ///< sorted
  std::uint32_t* positions;
  std::uint32_t* begins;   ///< of each slot, and the end
  std::uint32_t* longest;  ///< most entries of a slot

  kept_order(const prepare_scatter_reduce_problem& p, core::scratch_arrays& place)
      : slots(place.take<std::uint32_t>(p.count)),
        positions(place.take<std::uint32_t>(p.count)),
        begins(place.take<std::uint32_t>(p.indexed_count + 1)),
        longest(place.take<std::uint32_t>(1)) {}
};

/// What it takes in scratch.
struct order_scratch {
  std::byte* sort;
  std::uint32_t* slots;
  std::uint32_t* numbers;

  order_scratch(const prepare_scatter_reduce_problem& p, core::scratch_arrays& place)
      : sort(place.take<std::byte>(cub_scratch_bytes(sort_of_positions(p)))),
        slots(place.take<std::uint32_t>(p.count)),
        numbers(place.take<std::uint32_t>(p.count)) {}
};

/// Whether a run takes slots by tiles; rows of a few bytes, and short lists, are combined faster by segments.
bool runs_by_tiles(const scatter_reduce_rows_problem& p) {
  constexpr std::uint64_t least_entries = std::uint64_t{1} << 17;
  constexpr std::uint64_t least_row_bytes = 16;
  return p.count >= least_entries && p.record_bytes >= least_row_bytes;
}

/// Buckets of so many slots that a block has some 512 rows.
sorted_buckets buckets_of_run(const scatter_reduce_rows_problem& p) {
  constexpr std::uint64_t rows_of_block = 512;
  sorted_buckets at;
  while (at.bin_bits < most_bin_bits && ceil_div(p.count, p.indexed_count) << (at.bin_bits + 1) <= rows_of_block) {
    ++at.bin_bits;
  }
  at.buckets = ceil_div(p.indexed_count, std::uint64_t{1} << at.bin_bits);
  at.pairs = p.count;
  at.slot_limit = static_cast<std::uint32_t>(p.indexed_count);
  at.last_bucket = static_cast<std::uint32_t>(at.buckets);
  return at;
}

/// What a run takes in scratch.
struct by_slot_scratch {
  long_list_scratch longs;
  std::uint64_t* rows;  ///< of each slot, for a count

  by_slot_scratch(const scatter_reduce_rows_problem& p, std::uint32_t longest, core::scratch_arrays& place)
      : longs(longest > longest_uncut ? p.count : 0, p.indexed_count, p.sum_row_bytes(), place),
        rows(place.take<std::uint64_t>(p.reads_in() ? 0 : p.indexed_count)) {}
};
struct by_tiles_scratch {
  long_list_scratch longs;
  std::uint64_t* begins;  ///< of buckets

  by_tiles_scratch(const scatter_reduce_rows_problem& p, std::uint32_t longest, const sorted_buckets& buckets,
                   core::scratch_arrays& place)
      : longs(std::uint64_t{longest} << buckets.bin_bits > tile_pairs ? p.count : 0, buckets, p.sum_row_bytes(), place),
        begins(place.take<std::uint64_t>(buckets.buckets + 1)) {}
};

/// slot[i] = index[i]; a bad index is reported, and becomes one more slot.
__global__ void __launch_bounds__(block_threads)
    list_slots(const __grid_constant__ move_arguments args, std::uint32_t bad_slot, std::uint32_t* slot) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i >= args.count) return;
  const std::uint64_t index = index_at(args, i);
  slot[i] = check_index(args, i, index) ? static_cast<std::uint32_t>(index) : bad_slot;
}

/// Finds the first position of each slot, and the most that a slot has.
__global__ void __launch_bounds__(block_threads)
    find_slot_begins(const std::uint32_t* sorted, std::uint32_t count, std::uint64_t slots, std::uint32_t* begins,
                     std::uint32_t* longest) {
  const std::uint64_t s = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  std::uint32_t found[2] = {0, 0};  // of the slot and of the next
  if (s <= slots) {
    std::uint32_t high[2] = {count, count};
    while (found[0] < high[0] || found[1] < high[1]) {
#pragma unroll
      for (int k = 0; k < 2; ++k) {
        if (found[k] >= high[k]) continue;
        const std::uint32_t middle = found[k] + (high[k] - found[k]) / 2;
        if (__ldg(sorted + middle) < s + k) {
          found[k] = middle + 1;
        } else {
          high[k] = middle;
        }
      }
    }
    begins[s] = found[0];
  }
  const std::uint32_t most = __reduce_max_sync(~0U, s < slots ? found[1] - found[0] : 0);
  if (threadIdx.x % 32 == 0 && most > *static_cast<volatile std::uint32_t*>(longest)) atomicMax(longest, most);
}

__global__ void __launch_bounds__(block_threads)
    count_prepared_rows(const std::uint32_t* begins, std::uint64_t slots, std::uint64_t* rows) {
  const std::uint64_t s = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (s < slots) rows[s] = begins[s + 1] - begins[s];
}

class positions_by_slot final : public prepared_reduction {
 public:
  positions_by_slot(const context& ctx, const prepare_scatter_reduce_problem& p, index_span index, std::byte* scratch)
      : memory_(memory_of_preparation(ctx, prepare_scatter_reduce_call, "the ordered positions",
                                      core::bytes_of<kept_order>(p))),
        at_(core::arrays_in<kept_order>(static_cast<std::byte*>(memory_.data()), p)) {
    const auto of_sort = core::arrays_in<order_scratch>(scratch, p);
    const index_guard guard = state_of(ctx).guard(prepare_scatter_reduce_wording, p.index, p.indexed_count);
    require(cudaMemsetAsync(at_.longest, 0, sizeof *at_.longest, ctx.stream()), ctx);
    if (p.count > 0) {
      launch(ctx, list_slots, ceil_div(p.count, block_threads), arguments_of(p, nullptr, nullptr, index, guard),
             static_cast<std::uint32_t>(p.indexed_count), of_sort.slots);
      write_row_numbers(ctx, of_sort.numbers, sizeof *of_sort.numbers, p.count);
      run_cub_sort(ctx, sort_of_positions(p), {}, {of_sort.slots, at_.slots, of_sort.numbers, at_.positions},
                   of_sort.sort);
    }
    launch(ctx, find_slot_begins, ceil_div(p.indexed_count + 1, block_threads),
           static_cast<const std::uint32_t*>(at_.slots), static_cast<std::uint32_t>(p.count), p.indexed_count,
           at_.begins, at_.longest);
    ctx.state().copy(&longest_, at_.longest, sizeof longest_);  // waits
  }

  void run(const context& ctx, const scatter_reduce_rows_problem& p, const scatter_reduce_rows_buffers& b) override {
    const run_scope scope(ctx, "cuda.by_slot");
    const row_types types = row_types_of(p.in, p.sum(), p.word_bytes, p.out, p.out_word_bytes);
    reduced_rows out = rows_to_write(b.out, types, p.op, p.reads_out());
    set_counts(out, b.counts);
    if (p.reads_in() && p.indexed_count > 0 && runs_by_tiles(p)) return run_tiles(ctx, p, b, types, out);
    const core::scratch scratch = plan::take_scratch(ctx, prepared_scatter_reduce_call, "cuda.by_slot",
                                                     core::bytes_of<by_slot_scratch>(p, longest_));
    const auto at = core::arrays_in<by_slot_scratch>(scratch.data(), p, longest_);
    if (!p.reads_in()) {
      if (p.indexed_count > 0) {
        launch(ctx, count_prepared_rows, ceil_div(p.indexed_count, block_threads),
               static_cast<const std::uint32_t*>(at_.begins), p.indexed_count, at.rows);
      }
      return write_row_counts(ctx, b.out, p.reads_out(), true, b.counts, nullptr, at.rows);
    }
    listed_rows in = rows_to_read(b.in);
    in.index = at_.positions;
    listed_segments segments;
    segments.begins = at_.begins;
    segments.ends = at_.begins + 1;
    segments.limit = p.count;
    combine_listed_segments(ctx, types, in, segments, out, at.longs.lists, longest_ > longest_uncut);
  }
  std::uint64_t kept_bytes() const override { return memory_.size(); }

 private:
  void run_tiles(const context& ctx, const scatter_reduce_rows_problem& p, const scatter_reduce_rows_buffers& b,
                 const row_types& types, const reduced_rows& out) const {
    sorted_buckets buckets = buckets_of_run(p);
    const core::scratch scratch = plan::take_scratch(ctx, prepared_scatter_reduce_call, "cuda.by_slot",
                                                     core::bytes_of<by_tiles_scratch>(p, longest_, buckets));
    const auto at = core::arrays_in<by_tiles_scratch>(scratch.data(), p, longest_, buckets);
    buckets.slots = at_.slots;
    buckets.positions = at_.positions;
    buckets.begins = at.begins;
    buckets.faults = at.longs.faults();
    combine_sorted_tiles(ctx, types, rows_to_read(b.in), buckets, out, at.longs.lists);
  }

  buffer memory_;
  kept_order at_;
  std::uint32_t longest_ = 0;
};

plan::planned plan_by_slot(const prepare_scatter_reduce_problem& p, const plan::scope& scope) {
  const machine& m = scope.machine;
  if (p.count > most_prepared_rows) return plan::rejected("counts rows in 32 bits");
  if (p.indexed_count >= ~std::uint32_t{0} - 1) return plan::rejected("slots exceed 32 bits");
  const cub_sort_shape shape = sort_of_positions(p);
  if (const char* const reason = cub_rejection(shape)) return plan::rejected(reason);
  plan::planned sort;
  add_cub_cost(sort, shape, m);
  plan::planned plan;
  plan.add("latency", m.launch_seconds + 4 * m.step_seconds);
  plan.add("sort", sort.seconds + static_cast<double>(p.count * (bytes(p.index) + 8)) / m.copy_bytes_per_second);
  const double run_seconds = m.launch_seconds + rows_read_seconds(p.count, p.record_bytes, p.sequential_bytes(), m) +
                             static_cast<double>(p.count * 4 + p.indexed_count * 8) / m.copy_bytes_per_second +
                             rows_written_seconds(p.indexed_count, p.record_bytes, true, m);
  plan.add("runs", static_cast<double>(p.expected_runs) * run_seconds);
  plan.decided.set(prepare_scatter_reduce_decision{run_seconds});
  plan.scratch_bytes = core::bytes_of<order_scratch>(p);
  return plan;
}

void run_by_slot(const context& ctx, const prepare_scatter_reduce_problem& p, const plan::planned&,
                 const prepare_scatter_reduce_buffers& b, std::byte* scratch) {
  const device_scope current_device(ctx.device());
  *b.made = std::make_shared<positions_by_slot>(ctx, p, b.index, scratch);
}

}  // namespace

extern constinit const prepare_scatter_reduce_variant prepare_scatter_reduce_by_slot{"cuda.by_slot", backend_kind::cuda,
                                                                                     plan_by_slot, run_by_slot};

}  // namespace sheaf::cuda
