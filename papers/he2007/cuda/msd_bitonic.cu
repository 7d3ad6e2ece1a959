#include <cooperative_groups.h>

#include "cuda/device/launch.cuh"
#include "cuda/movement/memory_cost.hpp"
#include "papers/cuda/table_scan.hpp"
#include "papers/he2007/radix_sort.hpp"
#include "primitives/movement/gathers_by_order.hpp"
#include "primitives/movement/multipass.hpp"
#include "primitives/movement/scatter.hpp"

// cuda.msd_bitonic: the radix sort of He et al. 2007 (section 4.1), by name only. P phases partition tuples by Bits
// bits each, from the highest on: pidArray has the partition of each tuple; a histogram of bytes for each thread, in
// shared memory, and prefix sums of all give locArray, where each tuple goes; a scatter by locArray in one or several
// passes moves the tuples. Each phase partitions within the partitions of the phase before. A bitonic network then
// sorts each partition, in shared memory where it fits, and else by steps in global memory.
namespace sheaf::cuda {
namespace {

using namespace primitives;
using namespace papers::he2007;

constexpr unsigned network_threads = 512;
/// Tuples of the part of a long partition that steps over near words sort in shared memory.
constexpr std::uint64_t tile_tuples = most_shared_tuples;
static_assert((tile_tuples & (tile_tuples - 1)) == 0, "tiles of longer runs begin where a run of tile_tuples does");

/// Arrays of a sort.
struct sort_arrays {
  std::uint8_t* partition_ids;
  std::uint32_t* locations;
  std::uint32_t* table;
  std::uint64_t* run_begins;
  std::uint64_t* tile_sums;
  std::uint64_t* begins[2];
  std::uint64_t* first_portions[2];
  unsigned long long* longest;

  sort_arrays(const msd_layout& layout, std::byte* scratch)
      : partition_ids(reinterpret_cast<std::uint8_t*>(scratch + layout.partition_ids)),
        locations(reinterpret_cast<std::uint32_t*>(scratch + layout.locations)),
        table(reinterpret_cast<std::uint32_t*>(scratch + layout.table)),
        run_begins(reinterpret_cast<std::uint64_t*>(scratch + layout.run_begins)),
        tile_sums(reinterpret_cast<std::uint64_t*>(scratch + layout.tile_sums)),
        longest(reinterpret_cast<unsigned long long*>(scratch + layout.longest)) {
    for (int i = 0; i < 2; ++i) {
      begins[i] = reinterpret_cast<std::uint64_t*>(scratch + layout.begins[i]);
      first_portions[i] = reinterpret_cast<std::uint64_t*>(scratch + layout.first_portions[i]);
    }
  }
};

/// The partitions that a phase begins with, and what it makes for each of their portions.
struct phase_arguments {
  radix_parameters form;
  std::uint32_t phase;
  std::uint64_t count;
  std::uint64_t partitions;
  std::uint64_t most_portions;
  const std::uint64_t* begins;
  const std::uint64_t* first_portions;
  std::uint8_t* partition_ids;
  std::uint32_t* table;
  const std::uint64_t* run_begins;
  std::uint32_t* locations;
};

/// A thread's histogram, whose bytes lie apart by the threads of a block.
struct byte_histogram {
  std::uint8_t* bytes;
  __device__ std::uint8_t& operator[](std::uint32_t digit) const { return bytes[digit * histogram_threads]; }
};

__global__ void begin_with_one_partition(std::uint64_t count, std::uint32_t portion, std::uint64_t* begins,
                                         std::uint64_t* first_portions, unsigned long long* longest) {
  begins[0] = 0;
  begins[1] = count;
  first_portions[0] = 0;
  first_portions[1] = ceil_div(count, std::uint64_t{portion});
  *longest = 0;
}

/// Step 1.
__global__ void __launch_bounds__(block_threads)
    find_partition_ids(const std::uint64_t* tuples, std::uint64_t count, std::uint32_t phase, std::uint32_t bits,
                       std::uint8_t* partition_ids) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i < count) partition_ids[i] = partition_id(tuples[i], phase, bits);
}

/// Step 2, before the prefix sums. Threads without a portion clear the rest of the table: the prefix sums read all of
/// it.
__global__ void __launch_bounds__(histogram_threads) count_portions(const __grid_constant__ phase_arguments args) {
  extern __shared__ std::uint8_t histograms[];
  const std::uint64_t portion = std::uint64_t{blockIdx.x} * histogram_threads + threadIdx.x;
  if (portion >= args.most_portions) return;
  if (portion >= args.first_portions[args.partitions]) {
    for (std::uint32_t d = 0; d < args.form.phase_partitions(); ++d) {
      args.table[portion * args.form.phase_partitions() + d] = 0;
    }
    return;
  }
  const portion_place place = find_portion(args.begins, args.first_portions, args.partitions, args.form, portion);
  count_portion(args.partition_ids, place, args.form.bits, byte_histogram{histograms + threadIdx.x}, args.table);
}

/// Step 2, after the prefix sums.
__global__ void __launch_bounds__(histogram_threads) locate_portions(const __grid_constant__ phase_arguments args) {
  extern __shared__ std::uint8_t histograms[];
  const std::uint64_t portion = std::uint64_t{blockIdx.x} * histogram_threads + threadIdx.x;
  if (portion >= args.first_portions[args.partitions]) return;
  const portion_place place = find_portion(args.begins, args.first_portions, args.partitions, args.form, portion);
  locate_portion(args.partition_ids, place, args.form.bits, byte_histogram{histograms + threadIdx.x}, args.run_begins,
                 args.locations);
}

/// Writes where the partitions of the next phase begin, and how many portions each has.
__global__ void __launch_bounds__(block_threads)
    end_phase(const __grid_constant__ phase_arguments args, std::uint64_t* next_begins, std::uint64_t* next_portions) {
  const std::uint64_t next = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  const std::uint64_t last = args.partitions << args.form.bits;
  if (next > last) return;
  const auto begin_of = [&](std::uint64_t partition) {
    if (partition == last) return args.count;
    return begin_of_partition(args.begins, args.first_portions, args.run_begins, args.form.bits, partition);
  };
  const std::uint64_t begin = begin_of(next);
  next_begins[next] = begin;
  next_portions[next] = next == last ? 0 : ceil_div(begin_of(next + 1) - begin, std::uint64_t{args.form.portion});
}

const scatter_variant& scatter_named(std::string_view name) {
  return *std::ranges::find(scatter_variants(), name, &scatter_variant::name);
}

/// A scatter by locArray and its plan.
struct planned_scatter {
  const scatter_variant& variant;
  scatter_problem problem;
  plan::planned plan;
};

/// The scatter of a phase: the paper's multi-pass scheme in form.passes passes, or cuda.direct for one pass.
planned_scatter scatter_of_phase(const radix_parameters& form, std::uint64_t count, const plan::scope& scope) {
  const scatter_problem problem{{.backend = backend_kind::cuda,
                                 .count = count,
                                 .indexed_count = count,
                                 .record_bytes = tuple_bytes,
                                 .sequential_stride_bytes = tuple_bytes,
                                 .indexed_stride_bytes = tuple_bytes,
                                 .word_bytes = tuple_bytes,
                                 .index = index_type::u32,
                                 .pattern = access_pattern::partitioned(form.phase_partitions()),
                                 .bounds = bounds::trust},
                                duplicates::any};
  if (form.passes == 1) {
    const scatter_variant& direct = scatter_named("cuda.direct");
    return {direct, problem, direct.plan(problem, scope)};
  }
  // The variant's own plan has the number of passes that is cheapest by the library's cost, which is one here.
  plan::planned plan = to_plan(multipass_cost(problem, scope.machine, form.passes, true), scope.machine, true);
  plan.decided.set(multipass_decision{.passes = form.passes});
  return {scatter_named("cuda.multipass"), problem, std::move(plan)};
}

/// Queues a phase, which moves the tuples of each partition to the partitions that the next phase begins with.
void run_phase(const context& ctx, const msd_layout& layout, const sort_arrays& arrays, std::uint32_t phase,
               std::uint64_t count, const std::uint64_t* from, std::uint64_t* to) {
  const radix_parameters& form = layout.form;
  const std::uint32_t at = phase % 2;
  const phase_arguments args{.form = form,
                             .phase = phase,
                             .count = count,
                             .partitions = form.partitions(phase),
                             .most_portions = form.most_portions(count, phase),
                             .begins = arrays.begins[at],
                             .first_portions = arrays.first_portions[at],
                             .partition_ids = arrays.partition_ids,
                             .table = arrays.table,
                             .run_begins = arrays.run_begins,
                             .locations = arrays.locations};
  const std::size_t histogram_bytes = std::size_t{histogram_threads} << form.bits;
  const std::uint64_t blocks = ceil_div(args.most_portions, std::uint64_t{histogram_threads});
  launch(ctx, find_partition_ids, ceil_div(count, std::uint64_t{block_threads}), from, count, phase, form.bits,
         arrays.partition_ids);
  launch_shared(ctx, count_portions, blocks, histogram_threads, histogram_bytes, args);
  scan_counts(ctx, arrays.table, args.most_portions << form.bits, arrays.tile_sums, arrays.run_begins);
  launch_shared(ctx, locate_portions, blocks, histogram_threads, histogram_bytes, args);
  const std::uint64_t next = args.partitions << form.bits;
  launch(ctx, end_phase, ceil_div(next + 1, std::uint64_t{block_threads}), args, arrays.begins[1 - at],
         arrays.first_portions[1 - at]);
  scan_numbers(ctx, arrays.first_portions[1 - at], next + 1, arrays.tile_sums);
  const planned_scatter scatter = scatter_of_phase(form, count, plan::scope_of(ctx));
  scatter.variant.run(
      ctx, scatter.problem, scatter.plan,
      {{from, count, tuple_bytes}, {arrays.locations, count, index_type::u32}, {to, count, tuple_bytes}}, nullptr);
}

/// Merges to runs of `run` words: the steps over first_step words and fewer, in shared memory. A block calls it.
__device__ void merge_in_shared(std::uint64_t* words, std::uint32_t size, std::uint64_t run, std::uint64_t first_step) {
  for (std::uint64_t step = first_step; step > 0; step /= 2) {
    __syncthreads();
    step_of_thread(words, size, run, step, threadIdx.x, network_threads);
  }
  __syncthreads();
}

__device__ void sort_in_shared(std::uint64_t* words, std::uint32_t size) {
  for (std::uint64_t run = 2; run / 2 < size; run *= 2) merge_in_shared(words, size, run, run / 2);
  __syncthreads();
}

/// A block sorts a partition that fits shared memory. The others are counted in tiles, for sort_long_partitions.
__global__ void __launch_bounds__(network_threads)
    sort_short_partitions(const std::uint64_t* begins, const std::uint64_t* from, std::uint64_t* to,
                          std::uint64_t* tiles, unsigned long long* longest) {
  extern __shared__ std::uint64_t words[];
  const std::uint64_t begin = begins[blockIdx.x];
  const std::uint64_t size = begins[blockIdx.x + 1] - begin;
  const bool is_long = size > tile_tuples;
  if (threadIdx.x == 0) {
    tiles[blockIdx.x] = is_long ? ceil_div(size, tile_tuples) : 0;
    if (blockIdx.x == 0) tiles[gridDim.x] = 0;
    if (is_long) atomicMax(longest, static_cast<unsigned long long>(size));
  }
  if (is_long) return;
  for (std::uint64_t i = threadIdx.x; i < size; i += network_threads) words[i] = from[begin + i];
  sort_in_shared(words, static_cast<std::uint32_t>(size));
  for (std::uint64_t i = threadIdx.x; i < size; i += network_threads) to[begin + i] = words[i];
}

struct long_partitions {
  const std::uint64_t* begins;
  const std::uint64_t* first_tiles;  ///< prefix sums of what sort_short_partitions counted
  std::uint64_t partitions;
  const unsigned long long* longest;

  __device__ std::uint64_t tiles() const { return first_tiles[partitions]; }
};

/// Loads a tile of tuples, calls work(words, size) on shared memory and stores it. A block calls it.
template <class Work>
__device__ void with_tile(const tile_place& tile, const std::uint64_t* from, std::uint64_t* to, std::uint64_t* words,
                          Work work) {
  const auto size = static_cast<std::uint32_t>(tile.size);
  for (std::uint32_t i = threadIdx.x; i < size; i += network_threads) words[i] = from[tile.begin() + i];
  work(words, size);
  for (std::uint32_t i = threadIdx.x; i < size; i += network_threads) to[tile.begin() + i] = words[i];
  __syncthreads();
}

/// Sorts the partitions that do not fit shared memory, all of them step by step. Cooperative.
__global__ void __launch_bounds__(network_threads)
    sort_long_partitions(const __grid_constant__ long_partitions partitions, const std::uint64_t* from,
                         std::uint64_t* to) {
  extern __shared__ std::uint64_t words[];
  const auto grid = cooperative_groups::this_grid();
  const std::uint64_t tiles = partitions.tiles();
  const auto for_each_tile = [&](auto work) {
    for (std::uint64_t number = blockIdx.x; number < tiles; number += gridDim.x) {
      work(find_tile(partitions.begins, partitions.first_tiles, partitions.partitions, tile_tuples, number));
    }
  };
  if (tiles == 0) return;
  for_each_tile([&](const tile_place& tile) { with_tile(tile, from, to, words, sort_in_shared); });
  for (std::uint64_t run = 2 * tile_tuples; run / 2 < *partitions.longest; run *= 2) {
    for (std::uint64_t step = run / 2; step >= tile_tuples; step /= 2) {
      grid.sync();
      for_each_tile(
          [&](const tile_place& tile) { far_step_of_thread(to, tile, run, step, threadIdx.x, network_threads); });
    }
    grid.sync();
    for_each_tile([&](const tile_place& tile) {
      if (!tile.is_merged_to(run)) return;
      with_tile(tile, to, to, words, [run](std::uint64_t* tile_words, std::uint32_t size) {
        merge_in_shared(tile_words, size, run, tile_tuples / 2);
      });
    });
  }
}

/// Queues the bitonic sorts of the partitions.
void sort_partitions(const context& ctx, const msd_layout& layout, const sort_arrays& arrays, std::uint64_t count,
                     const std::uint64_t* from, std::uint64_t* to) {
  const std::uint32_t at = layout.form.phases % 2;
  const std::uint64_t partitions = layout.form.partitions(layout.form.phases);
  std::uint64_t* const first_tiles = arrays.first_portions[1 - at];
  launch_shared(ctx, sort_short_partitions, partitions, network_threads, shared_bytes, arrays.begins[at], from, to,
                first_tiles, arrays.longest);
  scan_numbers(ctx, first_tiles, partitions + 1, arrays.tile_sums);
  const long_partitions all{arrays.begins[at], first_tiles, partitions, arrays.longest};
  launch_cooperative(ctx, sort_long_partitions, ceil_div(count, tile_tuples), network_threads, shared_bytes, all, from,
                     to);
}

__global__ void __launch_bounds__(block_threads) pack_tuples(const std::byte* rows, std::uint64_t stride, bit_field key,
                                                             std::uint64_t count, std::uint64_t* tuples) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i < count) tuples[i] = pack_tuple(field_of(rows + i * stride, key), key.count, i);
}

template <class Index>
__global__ void __launch_bounds__(block_threads)
    store_rows_of_tuples(const std::uint64_t* tuples, std::uint64_t count, Index* order) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i < count) order[i] = static_cast<Index>(row_of_tuple(tuples[i]));
}

/// The portion that gives every multiprocessor a few blocks of threads with histograms, as far as a byte can count.
std::uint32_t portion_of(std::uint64_t count, const machine& machine) {
  constexpr std::uint64_t least_tuples = 32;
  const std::uint64_t threads = std::uint64_t{2} * histogram_threads * machine.parallelism;
  return static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(count / std::max<std::uint64_t>(1, threads), least_tuples, most_portion_tuples));
}

// As an H200 takes for 2^20 tuples, whose kernels were timed one by one, over the copy of what they read and write.
/// Lanes of a warp read and write portions that lie apart, tuple by tuple: 7.6 us to count them, 24 us to locate them.
constexpr double portion_slowdown = 20;
/// 19 us for the prefix sums of a table of as many entries as there are tuples.
constexpr double table_slowdown = 3;
/// All steps of a bitonic sort in shared memory: 100 us, where the tuples are read and written in 4.
constexpr double network_slowdown = 24;
constexpr double kernels_of_phase = 11;
constexpr double kernels_beside_phases = 6;  ///< one before them, and the bitonic sorts
constexpr double kernels_of_packing = 2;

plan::planned plan_msd_bitonic(const sort_problem& problem, const plan::scope& scope) {
  if (const char* const reason = tuple_rejection(problem)) return plan::rejected(reason);
  const machine& machine = scope.machine;
  radix_parameters form = choose_parameters(problem.count, plan::he2007::parameters_of(machine));
  form.portion = portion_of(problem.count, machine);
  const msd_layout layout(problem, form);
  const auto copied = [&](double bytes) { return bytes / machine.copy_bytes_per_second; };
  const auto count = static_cast<double>(problem.count);
  const double entries = count / form.portion * form.phase_partitions();
  const double phases = form.phases;
  plan::planned plan;
  plan.by_name_only = true;
  plan.decided.set(layout);
  plan.scratch_bytes = layout.bytes;
  const double kernels =
      kernels_of_phase * phases + kernels_beside_phases + (rows_are_tuples(problem) ? 0 : kernels_of_packing);
  plan.add("latency", machine.launch_seconds + (kernels - 1) * machine.step_seconds);
  if (form.phases > 0) {
    const planned_scatter scatter = scatter_of_phase(form, problem.count, scope);
    plan.add("histograms", phases * copied(9 * count + portion_slowdown * count + table_slowdown * 20 * entries));
    plan.add("locations", phases * copied(portion_slowdown * 5 * count + table_slowdown * 8 * entries));
    plan.add("scatters", phases * (scatter.plan.seconds - machine.launch_seconds));
  }
  plan.add("bitonic sorts", network_slowdown * copied(2 * count * tuple_bytes));
  if (rows_are_tuples(problem)) return plan;
  plan.add("packing", copied(count * static_cast<double>(problem.rows.in_stride_bytes + 3 * tuple_bytes)));
  if (problem.product == sort_product::records) {
    gathers_by_order::end_plan(plan, problem, index_type::u32, scope, layout.tuples[0]);
  }
  return plan;
}

/// Sorts tuples from `in` to `out`, which may be the same array. @param spare  for the phases between
void sort_tuples(const context& ctx, const msd_layout& layout, std::uint64_t count, const std::uint64_t* in,
                 std::uint64_t* out, std::uint64_t* spare, std::byte* scratch) {
  const sort_arrays arrays(layout, scratch);
  launch_blocks(ctx, begin_with_one_partition, 1, 1, count, layout.form.portion, arrays.begins[0],
                arrays.first_portions[0], arrays.longest);
  const std::uint64_t* from = in;
  for (std::uint32_t phase = 0; phase < layout.form.phases; ++phase) {
    // The last phase writes to `out`, unless that is where the tuples are.
    const bool is_for_out = (layout.form.phases - phase) % 2 == 1;
    std::uint64_t* const to = in == out ? (from == spare ? out : spare) : (is_for_out ? out : spare);
    run_phase(ctx, layout, arrays, phase, count, from, to);
    from = to;
  }
  sort_partitions(ctx, layout, arrays, count, from, out);
}

void run_msd_bitonic(const context& ctx, const sort_problem& problem, const plan::planned& plan,
                     const sort_buffers& buffers, std::byte* scratch) {
  const device_scope scope(ctx.device());
  const auto layout = plan.decided.get<msd_layout>();
  auto* const tuples = reinterpret_cast<std::uint64_t*>(scratch + layout.tuples[0]);
  if (rows_are_tuples(problem)) {
    return sort_tuples(ctx, layout, problem.count, reinterpret_cast<const std::uint64_t*>(buffers.in.data),
                       reinterpret_cast<std::uint64_t*>(buffers.out.data), tuples, scratch);
  }
  const std::uint64_t blocks = ceil_div(problem.count, std::uint64_t{block_threads});
  auto* const spare = reinterpret_cast<std::uint64_t*>(scratch + layout.tuples[1]);
  launch(ctx, pack_tuples, blocks, static_cast<const std::byte*>(buffers.in.data), buffers.in.stride_bytes,
         packed_key(problem), problem.count, tuples);
  sort_tuples(ctx, layout, problem.count, tuples, tuples, spare, scratch);
  end_with_order(ctx, problem, plan, buffers, scratch, layout.order, layout.tuples[0], [&](auto* order) {
    launch(ctx, store_rows_of_tuples<std::remove_pointer_t<decltype(order)>>, blocks,
           static_cast<const std::uint64_t*>(tuples), problem.count, order);
  });
}

}  // namespace

extern constinit const sort_variant sort_msd_bitonic{"cuda.msd_bitonic", backend_kind::cuda, plan_msd_bitonic,
                                                     run_msd_bitonic};

}  // namespace sheaf::cuda
