#include "cuda/reduce/rows/calls.hpp"
#include "cuda/reduce/terms.cuh"
#include "cuda/sparse/transposed/cost.hpp"
#include "cuda/sparse/transposed/terms.cuh"

// The variant cuda.atomic of transposed products, in any order: each entry, times alpha x of its row, is added to y by
// an atomic that returns nothing. Atomics on one number wait for each other. So blocks add up in shared memory first
// where y is small, in copies of it, and where columns are hot, in sums of those that come often (privatization); a
// sample of the columns decides that on the device.
namespace sheaf::cuda {
namespace {

constexpr unsigned resident_blocks = 5;  ///< of a multiprocessor, at least

/// What a plan decides for run, by the sizes of the matrix and the pattern of its columns.
struct atomic_decision {
  warp_terms warps;
  std::uint32_t copies_of_y = 0;        ///< in the shared memory of a block; 0: atomics add to y itself
  hot_columns hot = hot_columns::none;  ///< sampled: the device looks at the columns in every run

  void tell(plan::told& to) const {
    warps.tell(to);
    to.add("copies_of_y", copies_of_y).add("hot_columns", hot_columns_words[static_cast<int>(hot)]);
  }
};

constexpr std::uint64_t most_private_bytes = 48 << 10;  ///< of all copies of y in a block

/// Copies of y in a block: one for each lane of a warp where they are small, so that lanes that add to one column do
/// not wait for each other. None where they do not fit, or where a device's blocks would add as many sums to y at their
/// end as there are entries.
std::uint32_t copies_of_small_y(const spmv_problem& p) noexcept {
  constexpr std::uint64_t least_entries_of_a_column = 512;
  constexpr std::uint64_t bytes_of_several = most_private_bytes / 2;  // more would leave room for fewer blocks
  const std::uint64_t y_bytes = p.columns * p.value_bytes();
  if (y_bytes > most_private_bytes || p.entries / least_entries_of_a_column < p.columns) return 0;
  return static_cast<std::uint32_t>(
      std::bit_floor(std::clamp<std::uint64_t>(bytes_of_several / std::max<std::uint64_t>(1, y_bytes), 1, 32)));
}

// The matrix streams past, and every entry is an atomic. y is written, and then goes through the cache while it is
// added to.
plan::planned plan_atomic(const spmv_problem& p, const plan::scope& scope) {
  const machine& m = scope.machine;
  if (!p.transposed) return plan::rejected("multiplies by the transposed matrix");
  if (p.order == reduction_order::deterministic) return plan::rejected("adds in the order in which workers arrive");
  if (p.sum_bytes() != p.value_bytes()) return plan::rejected("results are narrower than their sums");
  const std::uint32_t copies = copies_of_small_y(p);
  // Blocks with copies of y add to these, whatever columns are hot.
  const atomic_decision decided{warp_terms::of(p), copies, copies > 0 ? hot_columns::none : hot_columns_of(p)};
  const std::uint64_t streamed =
      p.matrix_bytes() + p.rows * p.value_bytes() + p.y_bytes() + 2 * p.columns * p.value_bytes();
  const double added = copies > 0 ? private_sums_seconds(p, m) : atomic_sums_seconds(p, m);
  plan::planned plan;
  plan.add("latency", m.launch_seconds + 2 * m.step_seconds);
  plan.add_overlapped(2, {{"streamed", m.streamed(streamed, streamed)}, {"atomics", added}});
  plan.decided.set(decided);
  return plan;
}

/// The terms of a transposed product, which sums take with alpha x of their row.
template <class Value>
struct scaled_terms {
  using term = Value;
  Value alpha;

  __device__ __forceinline__ Value factor(Value x) const { return alpha * x; }
};

/// The sums of y itself.
template <class Value>
struct sums_in_y : scaled_terms<Value> {
  Value* y;

  template <class Column>
  __device__ __forceinline__ void add(const Column (&column)[places_at_once], const Value (&term)[places_at_once],
                                      unsigned counted) const {
#pragma unroll
    for (unsigned k = 0; k < places_at_once; ++k) {
      if ((counted >> k & 1) != 0) add_to(y + column[k], term[k]);
    }
  }
};

/// Adds to a number in shared memory, and returns nothing. The address space is said, because functions of their own
/// do not know it.
__device__ __forceinline__ void add_to_shared(float* sum, float term) {
  asm volatile("red.relaxed.cta.shared.add.f32 [%0], %1;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(sum))),
               "f"(term)
               : "memory");
}
__device__ __forceinline__ void add_to_shared(double* sum, double term) {
  asm volatile("red.relaxed.cta.shared.add.f64 [%0], %1;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(sum))),
               "d"(term)
               : "memory");
}

/// The sums of hot columns in shared memory, and those of all others in y.
template <class Value>
struct sums_of_hot_columns : scaled_terms<Value> {
  block_sums<Value, log2_hot_columns>* hot;
  Value* y;

  template <class Column>
  __device__ __forceinline__ void add(const Column (&column)[places_at_once], const Value (&term)[places_at_once],
                                      unsigned counted) const {
#pragma unroll
    for (unsigned k = 0; k < places_at_once; ++k) {
      if ((counted >> k & 1) == 0) continue;
      if (!hot->add(static_cast<std::uint32_t>(column[k]), term[k])) add_to(y + column[k], term[k]);
    }
  }
};

/// A block's sums in shared memory, in copies side by side, of which a lane has one.
template <class Value>
struct private_sums : scaled_terms<Value> {
  Value* sums;
  unsigned log2_copies;

  template <class Column>
  __device__ __forceinline__ void add(const Column (&column)[places_at_once], const Value (&term)[places_at_once],
                                      unsigned counted) const {
    const unsigned copy = threadIdx.x & ((1U << log2_copies) - 1);
#pragma unroll
    for (unsigned k = 0; k < places_at_once; ++k) {
      if ((counted >> k & 1) == 0) continue;
      add_to_shared(sums + ((static_cast<unsigned>(column[k]) << log2_copies) + copy), term[k]);
    }
  }
};

/// Multiplies y by beta, or fills it with zeros; and block 0 samples the columns, and says whether they are hot.
template <class Value, class Column>
__global__ void __launch_bounds__(block_threads)
    begin_sums(const __grid_constant__ product_arguments<Value, Column> args,
               const __grid_constant__ hot_verdict verdict, std::uint64_t count) {
  let_next_kernel_start();
  sample_columns(args, verdict);
  const auto beta = static_cast<Value>(args.beta);
  for_columns_of_thread(count, [&](std::uint64_t i) { args.y[i] = args.reads_y ? beta * args.y[i] : Value{0}; });
}

/// Adds to y. The device starts blocks in order, so that all of them work on one stretch of the matrix.
template <class Value, class Column>
__global__ void __launch_bounds__(block_threads, resident_blocks)
    add_products(const __grid_constant__ product_arguments<Value, Column> args,
                 const __grid_constant__ row_shares shares, const __grid_constant__ hot_verdict verdict) {
  using hot_columns_sums = block_sums<Value, log2_hot_columns>;
  const scaled_terms<Value> terms{static_cast<Value>(args.alpha)};
  add_share_by_verdict<hot_columns_sums>(
      args, shares, verdict, sums_in_y<Value>{terms, args.y},
      [&](hot_columns_sums* hot) {
        return sums_of_hot_columns<Value>{terms, hot, args.y};
      },
      [&](std::uint32_t column, Value sum) { add_to(args.y + column, sum); });
}

/// Adds to copies of y in shared memory, and these to y at the end of the block.
template <class Value, class Column>
__global__ void __launch_bounds__(block_threads, resident_blocks)
    add_products_privately(const __grid_constant__ product_arguments<Value, Column> args,
                           const __grid_constant__ row_shares shares, unsigned columns, unsigned log2_copies) {
  extern __shared__ __align__(16) std::byte shared_sums[];
  auto* const sums = reinterpret_cast<Value*>(shared_sums);
  for (unsigned i = threadIdx.x; i < columns << log2_copies; i += block_threads) sums[i] = 0;
  __syncthreads();
  for (std::uint64_t block = blockIdx.x; block < shares.blocks(); block += gridDim.x) {
    add_share(args, shares, block, read_row(args, shares, block),
              private_sums<Value>{{static_cast<Value>(args.alpha)}, sums, log2_copies});
  }
  __syncthreads();
  for (unsigned column = threadIdx.x; column < columns; column += block_threads) {
    Value sum = 0;
    for (unsigned copy = 0; copy < 1U << log2_copies; ++copy) sum += sums[(column << log2_copies) + copy];
    if (sum != 0) add_to(args.y + column, sum);
  }
}

/// Blocks that keep copies of y: about what the multiprocessors hold, but not so many that they add more sums to y than
/// a quarter of the entries, unless one on each multiprocessor does.
std::uint64_t blocks_with_copies(const context& ctx, const spmv_problem& p, std::uint64_t shared_bytes) {
  const auto multiprocessors = static_cast<std::uint64_t>(state_of(ctx).multiprocessors());
  const std::uint64_t resident = multiprocessors * (shared_bytes > most_private_bytes / 2 ? 4 : 6);
  const std::uint64_t worthwhile = p.entries / (4 * std::max<std::uint64_t>(1, p.columns));
  return std::clamp(worthwhile, multiprocessors, resident);
}

template <class Value, class Column>
void queue_private_products(const context& ctx, const spmv_problem& p, const atomic_decision& decided,
                            const product_arguments<Value, Column>& args) {
  const row_shares shares = shares_of(ctx, p, decided.warps);
  const std::uint64_t shared_bytes = p.columns * decided.copies_of_y * sizeof(Value);
  scale_rows(ctx, {args.y, p.columns, 1, p.value}, args.reads_y ? args.beta : 0);
  launch_shared(ctx, add_products_privately<Value, Column>,
                std::min(shares.blocks(), blocks_with_copies(ctx, p, shared_bytes)), block_threads, shared_bytes, args,
                shares, static_cast<unsigned>(p.columns), static_cast<unsigned>(std::countr_zero(decided.copies_of_y)));
}

template <class Value, class Column>
void queue_products(const context& ctx, const spmv_problem& p, const atomic_decision& decided,
                    const product_arguments<Value, Column>& args) {
  const row_shares shares = shares_of(ctx, p, decided.warps);
  const hot_verdict verdict = verdict_of(ctx, decided.hot);
  if (verdict.is_known) {
    scale_rows(ctx, {args.y, p.columns, 1, p.value}, args.reads_y ? args.beta : 0);
    return launch(ctx, add_products<Value, Column>, shares.blocks(), args, shares, verdict);
  }
  const std::uint64_t scaled = args.reads_y && args.beta == 1 ? 0 : p.columns;
  launch(ctx, begin_sums<Value, Column>, blocks_of_columns(ctx, scaled), args, verdict, scaled);
  launch_overlapped(ctx, add_products<Value, Column>, shares.blocks(), block_threads, 0, args, shares, verdict);
}

void run_atomic(const context& ctx, const spmv_problem& p, const plan::planned& plan, const spmv_buffers& b,
                std::byte*) {
  const device_scope current_device(ctx.device());
  const auto decided = plan.decided.get<atomic_decision>();
  if (p.rows == 0) return scale_rows(ctx, {b.y, p.columns, 1, p.value}, p.reads_y ? b.beta : 0);
  const csr_guard guard = guard_of(ctx, p, p.call);
  with_column_type(p, [&]<class Column>(Column) {
    const auto queue = [&](const auto& args) {
      decided.copies_of_y > 0 ? queue_private_products(ctx, p, decided, args) : queue_products(ctx, p, decided, args);
    };
    if (p.value == value_type::f64) {
      queue(arguments_of<double, Column>(p, b, guard));
    } else {
      queue(arguments_of<float, Column>(p, b, guard));
    }
  });
}

}  // namespace

extern constinit const primitives::spmv_variant spmv_atomic{"cuda.atomic", backend_kind::cuda, plan_atomic, run_atomic};

}  // namespace sheaf::cuda
