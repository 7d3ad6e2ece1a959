#include <cub/block/block_scan.cuh>

#include "cuda/sparse/prepared/blocked_run.cuh"
#include "cuda/sparse/prepared/inspected_product.cuh"
#include "cuda/split/cost.hpp"
#include "cuda/split/passes.hpp"

// The preparation cuda.blocked: propagation blocking (Buluc and Gilbert 2008; Beamer et al. 2017) whose first phase has
// x in shared memory. Entries are grouped by slices of columns and blocks of rows, in which columns take 16 bits. A run
// streams them, with no random access to memory, and pays for it by writing and reading each product once more. For
// matrices whose columns are scattered over an x that L2 does not hold.
namespace sheaf::cuda {
namespace {

constexpr const char* blocked_name = "cuda.blocked";

/// The parts of the scratch, and the passes that sort places by group; an entry with a column that is not there belongs
/// to one group more.
struct blocked_scratch {
  pair_passes passes;
  row_facts* facts;
  std::uint32_t* keys;
  std::uint32_t* sorted;  ///< places
  std::uint32_t* group_begins;
  std::byte* of_passes;

  blocked_scratch(const spmv_problem& p, const blocked_shape& shape, core::scratch_arrays& place)
      : passes(passes_by_category(shape.groups(), sizeof *sorted, p.entries)),
        facts(place.take<row_facts>(1)),
        keys(place.take<std::uint32_t>(p.entries)),
        sorted(place.take<std::uint32_t>(p.entries)),
        group_begins(place.take<std::uint32_t>(shape.groups() + 1)),
        of_passes(place.take<std::byte>(pair_scratch_bytes(passes))) {
    passes.keys.data = reinterpret_cast<const std::byte*>(keys);
    passes.out = reinterpret_cast<std::byte*>(sorted);
  }
};

/// Row blocks begin at the first row that begins in their share of the entries.
__global__ void __launch_bounds__(block_threads)
    cut_blocks(const __grid_constant__ row_offsets rows, const __grid_constant__ blocked_shape shape,
               std::uint64_t first_entry, std::uint32_t* block_rows) {
  const std::uint64_t block = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (block > shape.blocks) return;
  std::uint64_t first = rows.rows;  // of the end: empty rows behind the last entry, too
  if (block < shape.blocks) {
    first = partition_point(std::uint64_t{0}, rows.rows, [&](std::uint64_t row) {
      return rows.begin(row) - first_entry < block * shape.block_entries;
    });
  }
  block_rows[block] = static_cast<std::uint32_t>(first);
}

/// The group of each entry, by a search for its row.
template <class Column>
__global__ void __launch_bounds__(block_threads)
    find_groups(const __grid_constant__ csr_guard guard, const __grid_constant__ row_offsets rows,
                const __grid_constant__ blocked_shape shape, const Column* columns, std::uint64_t limit,
                std::uint64_t first_entry, std::uint64_t entries, std::uint32_t* keys) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i >= entries) return;
  const std::uint64_t place = first_entry + i;
  const std::uint64_t row =
      last_begun(std::uint64_t{0}, rows.rows, [&](std::uint64_t of) { return rows.begin(of) <= place; });
  const Column column = columns[place];
  if (column >= limit) {
    report_column(guard, columns, limit, place, place + 1, row);
    keys[i] = static_cast<std::uint32_t>(shape.groups());
    return;
  }
  const std::uint64_t block = (rows.begin(row) - first_entry) / shape.block_entries;
  keys[i] = static_cast<std::uint32_t>(column / shape.slice_columns * shape.blocks + block);
}

/// Where each group begins among the sorted keys, and each slice.
__global__ void __launch_bounds__(block_threads)
    find_group_begins(const std::uint32_t* keys, std::uint64_t entries, const __grid_constant__ blocked_shape shape,
                      std::uint32_t* group_begins, std::uint32_t* slice_begins) {
  const std::uint64_t group = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (group > shape.groups()) return;
  const auto begin = static_cast<std::uint32_t>(
      partition_point(std::uint64_t{0}, entries, [&](std::uint64_t i) { return keys[i] < group; }));
  group_begins[group] = begin;
  if (group % shape.blocks == 0) slice_begins[group / shape.blocks] = begin;
}

/// The runs of each row block, which lie apart by slice. One row block a block.
__global__ void __launch_bounds__(block_threads)
    list_runs(const std::uint32_t* group_begins, const __grid_constant__ blocked_shape shape, std::uint32_t* run_begins,
              std::uint32_t* run_places) {
  using block_scan = cub::BlockScan<std::uint32_t, block_threads, cub::BLOCK_SCAN_WARP_SCANS>;
  __shared__ typename block_scan::TempStorage storage;
  std::uint32_t before = 0;
  for (std::uint64_t base = 0; base < shape.slices; base += block_threads) {
    const std::uint64_t slot = base + threadIdx.x;
    const std::uint64_t group = slot * shape.blocks + blockIdx.x;
    const std::uint32_t begin = slot < shape.slices ? group_begins[group] : 0;
    std::uint32_t place = slot < shape.slices ? group_begins[group + 1] - begin : 0;
    std::uint32_t all = 0;
    block_scan(storage).ExclusiveSum(place, place, all);
    if (slot < shape.slices) {
      run_begins[blockIdx.x * shape.slices + slot] = begin;
      run_places[blockIdx.x * shape.slices + slot] = before + place;
    }
    before += all;
    __syncthreads();
  }
}

/// Copies columns and values into the order of groups, and notes for each entry which product of its block is its own.
/// @param columns, values  from the first entry on
template <class Value, class Column>
__global__ void __launch_bounds__(block_threads)
    copy_groups(const std::uint32_t* keys, const std::uint32_t* places, const std::uint32_t* group_begins,
                const Column* columns, const Value* values, const __grid_constant__ blocked_shape shape,
                const __grid_constant__ blocked_arrays<Value> to) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i >= to.entries) return;
  const std::uint64_t key = keys[i];
  if (key >= shape.groups()) return;
  const std::uint32_t place = places[i];
  const std::uint64_t slice = key / shape.blocks;
  const std::uint64_t block = key % shape.blocks;
  to.columns[i] = static_cast<std::uint16_t>(columns[place] - slice * shape.slice_columns);
  to.values[i] = values[place];
  to.products_of[place] =
      static_cast<std::uint16_t>(to.run_places[block * shape.slices + slice] + i - group_begins[key]);
}

/// A matrix that was grouped. Row offsets stay the caller's.
class blocked_matrix final : public inspected_matrix {
 public:
  blocked_matrix(const context& ctx, const spmv_problem& problem, const csr_view& a, const row_facts& facts)
      : inspected_matrix(blocked_name, problem, a),
        shape_(shape_of(problem)),
        lanes_(lanes_of_row(problem)),
        first_entry_(facts.first),
        entries_(facts.entries),
        columns_(prepared_memory(ctx, "columns within slices", entries_ * sizeof(std::uint16_t))),
        values_(prepared_memory(ctx, "values by slices", entries_ * problem.value_bytes())),
        products_of_(prepared_memory(ctx, "places of products", entries_ * sizeof(std::uint16_t))),
        runs_(prepared_memory(ctx, "runs of products", 2 * shape_.groups() * sizeof(std::uint32_t))),
        edges_(prepared_memory(ctx, "edges of slices and blocks",
                               (shape_.slices + shape_.blocks + 2) * sizeof(std::uint32_t))) {}

  std::uint64_t kept_bytes() const override {
    return columns_.size() + values_.size() + products_of_.size() + runs_.size() + edges_.size();
  }

  /// Groups the entries: places are sorted by group, stably, and columns and values follow them.
  template <class Value, class Column>
  void group_entries(const context& ctx, const csr_guard& guard, const blocked_scratch& at) const {
    const auto threads_for = [](std::uint64_t count) { return ceil_div(count, block_threads); };
    const row_offsets rows = offsets_of(problem_, a_);
    const blocked_arrays<Value> to = arrays<Value>();
    const auto* const columns = static_cast<const Column*>(a_.column_indices.data);
    const std::uint64_t limit = primitives::reachable_records(gather_of_columns(problem_));
    launch(ctx, cut_blocks, threads_for(shape_.blocks + 1), rows, shape_, first_entry_, to.block_rows);
    launch(ctx, find_groups<Column>, threads_for(entries_), guard, rows, shape_, columns, limit, first_entry_, entries_,
           at.keys);
    pair_passes passes = at.passes;
    passes.count = entries_;
    const std::uint32_t* const keys = run_pair_passes(ctx, passes, at.of_passes);
    launch(ctx, find_group_begins, threads_for(shape_.groups() + 1), keys, entries_, shape_, at.group_begins,
           to.slice_begins);
    launch(ctx, list_runs, shape_.blocks, at.group_begins, shape_, to.run_begins, to.run_places);
    launch(ctx, copy_groups<Value, Column>, threads_for(entries_), keys, at.sorted, at.group_begins,
           columns + first_entry_, static_cast<const Value*>(a_.values.data) + first_entry_, shape_, to);
  }

 private:
  void multiply(const context& ctx, const spmv_problem& p, const spmv_buffers& b) const override {
    const core::scratch products =
        plan::take_scratch(ctx, primitives::prepared_spmv_call, blocked_name, entries_ * p.sum_bytes());
    with_product_types(p, [&]<class Types>(Types) {
      multiply_as<typename Types::value>(ctx, p, b, reinterpret_cast<typename Types::sum*>(products.data()));
    });
  }

  template <class Value>
  blocked_arrays<Value> arrays() const {
    auto* const runs = runs_.as<std::uint32_t>();
    auto* const edges = edges_.as<std::uint32_t>();
    return {.columns = columns_.as<std::uint16_t>(),
            .values = values_.as<Value>(),
            .slice_begins = edges,
            .run_begins = runs,
            .run_places = runs + shape_.groups(),
            .products_of = products_of_.as<std::uint16_t>(),
            .block_rows = edges + shape_.slices + 1,
            .first_entry = first_entry_,
            .entries = entries_};
  }

  template <class Value, class Sum>
  void multiply_as(const context& ctx, const spmv_problem& problem, const spmv_buffers& buffers, Sum* products) const {
    // Shares are small beside what a multiprocessor does, and large beside the part of x that each of them loads.
    constexpr std::uint64_t shares_each = 4;
    constexpr std::uint64_t least_share = std::uint64_t{1} << 14;
    constexpr std::uint64_t most_share = std::uint64_t{1} << 18;
    const auto multiprocessors = static_cast<std::uint64_t>(state_of(ctx).multiprocessors());
    const std::uint64_t share =
        std::clamp(ceil_div(entries_, multiprocessors * shares_each) / 4 * 4, least_share, most_share);
    const auto args = arguments_of<Value, unsigned>(problem, buffers, csr_guard{});
    const blocked_arrays<Value> blocked = arrays<Value>();
    launch_shared(ctx, multiply_slices<Sum, Value>, ceil_div(entries_, share), multiply_threads, slice_bytes, blocked,
                  shape_, args.x, problem.columns, share, products);
    with_lanes([&]<unsigned Lanes>() {
      launch_shared(ctx, add_products<Lanes, Sum, Value, unsigned>, shape_.blocks, add_threads,
                    shape_.most_products() * sizeof(Sum), args, blocked, shape_, products);
    });
  }

  template <class Body>
  void with_lanes(Body body) const {
    switch (lanes_) {
      case 1: return body.template operator()<1>();
      case 2: return body.template operator()<2>();
      case 4: return body.template operator()<4>();
      case 8: return body.template operator()<8>();
      case 16: return body.template operator()<16>();
      default: return body.template operator()<32>();
    }
  }

  blocked_shape shape_;
  std::uint32_t lanes_;
  std::uint64_t first_entry_;
  std::uint64_t entries_;
  buffer columns_;
  buffer values_;
  buffer products_of_;
  buffer runs_;
  buffer edges_;
};

double run_seconds_of(const spmv_problem& problem, const blocked_shape& shape, const machine& machine) {
  const auto mean_run =
      static_cast<double>(problem.entries * problem.sum_bytes()) / static_cast<double>(shape.groups());
  // A run begins and ends inside sectors, and a warp copies it at once.
  constexpr double lost_bytes = 64;
  const double spread = 1 + lost_bytes / mean_run;
  const std::uint64_t multiplied =
      problem.entries * (sizeof(std::uint16_t) + problem.value_bytes() + problem.sum_bytes());
  const std::uint64_t products = problem.entries * problem.sum_bytes();
  const std::uint64_t added = problem.entries * sizeof(std::uint16_t) + problem.rows * bytes(problem.offset) +
                              problem.y_bytes() + 2 * shape.groups() * sizeof(std::uint32_t);
  return machine.launch_seconds + machine.step_seconds + machine.streamed(multiplied, multiplied) +
         spread * machine.streamed(products, products) + machine.streamed(added, added);
}

plan::planned plan_blocked(const prepare_spmv_problem& problem, const plan::scope& scope) {
  const spmv_problem& product = problem.product;
  if (product.transposed) return plan::rejected("groups entries by rows, but the product is transposed");
  if (product.is_part()) return plan::rejected(primitives::other_order_of_parts);
  if (product.has_row_ends)
    return plan::rejected("cuts rows that lie one after the other, but rows may lie in any order");
  if (product.entries == 0 || product.columns == 0) return plan::rejected("the matrix has no entries");
  if (product.entries >> 32 != 0 || product.rows >> 32 != 0) return plan::rejected("rows or entries exceed 32 bits");
  const machine& machine = scope.machine;
  const blocked_shape shape = shape_of(product);
  constexpr std::uint64_t least_run = 8;
  if (product.entries / least_run < shape.groups() && shape.groups() > 4096) {
    return plan::rejected("runs of products would be shorter than eight");
  }
  core::scratch_arrays place(nullptr);
  const blocked_scratch at(product, shape, place);
  const double run_seconds = run_seconds_of(product, shape, machine);
  const std::uint64_t streamed =
      product.matrix_bytes() + product.entries * (16 + 2 + product.value_bytes()) + 16 * shape.groups();
  plan::planned plan;
  plan.scratch_bytes = place.bytes();
  plan.add("latency", 2 * machine.launch_seconds + 4 * machine.step_seconds);
  plan.add("sort", pair_passes_cost(at.passes, machine).seconds);
  plan.add("streamed", machine.streamed(streamed, streamed));
  plan.add("random read", 2 * machine.random_reads(product.entries, product.value_bytes(), product.matrix_bytes()));
  plan.add("random write", machine.random_writes(product.entries, sizeof(std::uint16_t), 2 * product.entries));
  return add_runs(plan, problem, {run_seconds, blocked_name});
}

void run_blocked(const context& ctx, const prepare_spmv_problem& problem, const plan::planned&,
                 const prepare_spmv_buffers& buffers, std::byte* scratch) {
  const spmv_problem& product = problem.product;
  const blocked_shape shape = shape_of(product);
  core::scratch_arrays place(scratch);
  const blocked_scratch at(product, shape, place);
  const auto make = [&](const csr_guard& guard, const row_facts& facts) -> std::shared_ptr<blocked_matrix> {
    if (facts.longest > shape.longest_row || facts.entries == 0 || !blocks_hold(ctx, slice_bytes)) return nullptr;
    auto made = std::make_shared<blocked_matrix>(ctx, product, buffers.a, facts);
    with_product_types(product, [&]<class Types>(Types) {
      made->template group_entries<typename Types::value, typename Types::column>(ctx, guard, at);
    });
    return made;
  };
  make_or_keep_rows(ctx, problem, buffers, at.facts, make);
}

}  // namespace

extern constinit const primitives::prepare_spmv_variant prepare_spmv_blocked{"cuda.blocked", backend_kind::cuda,
                                                                             plan_blocked, run_blocked};

}  // namespace sheaf::cuda
