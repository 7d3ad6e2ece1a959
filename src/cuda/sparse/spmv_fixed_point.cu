#include "cuda/reduce/terms.cuh"
#include "cuda/sparse/transposed/cost.hpp"
#include "cuda/sparse/transposed/fixed_point.cuh"
#include "cuda/sparse/transposed/terms.cuh"

// The variant cuda.fixed_point of transposed products: atomics, as in cuda.atomic, but on whole numbers, which add to
// the same bits in any order (reproducible summation; Demmel and Nguyen 2013). A first reading of the matrix finds the
// largest exponent of the terms of each column, by which a second one rounds each term to a multiple of one unit. So
// the matrix is read twice, where a sort by column moves each term eight times.
namespace sheaf::cuda {
namespace {

/// What a plan decides for run.
struct fixed_point_decision {
  warp_terms warps;
  hot_columns hot = hot_columns::none;  ///< sampled: the device looks at the columns in every run

  void tell(plan::told& to) const {
    warps.tell(to);
    to.add("hot_columns", hot_columns_words[static_cast<int>(hot)]);
  }
};

/// Whether 64 bits may be too few for a sum of whole numbers. Each entry is one, unless rows share entries.
bool sums_may_wrap(const spmv_problem& p) noexcept {
  return p.sum_bytes() == sizeof(double) || p.has_row_ends || p.entries > fixed_point_format<float>::most_terms;
}

/// The sums of columns.
struct column_sums {
  std::uint32_t* largest;         ///< unit_exponent of a term
  std::int64_t* sums;             ///< of whole numbers; the marks of terms, where one is infinite or NaN
  std::int64_t* wraps = nullptr;  ///< of a sum; null where none can wrap

  column_sums(const spmv_problem& p, core::scratch_arrays& place)
      : largest(place.take<std::uint32_t>(p.columns)), sums(place.take<std::int64_t>(p.columns)) {
    if (sums_may_wrap(p)) wraps = place.take<std::int64_t>(p.columns);
  }
};

/// What the terms of a reading take, of the time of sums of floats by atomics: fitted to the times of one H200
/// (docs/experiments/sparse.md, the prices of atomics).
constexpr double share_of_reading = 1.2;

/// Whether blocks add up all columns in shared memory: those of large matrices that fit there.
bool all_columns_are_hot(const spmv_problem& p) noexcept {
  constexpr std::uint64_t least_entries = 1 << 16;
  return p.columns <= std::uint64_t{1} << log2_hot_columns && p.entries >= least_entries;
}

// The matrix streams past twice, and both times every term is looked up in or added to what its column has.
plan::planned plan_fixed_point(const spmv_problem& p, const plan::scope& scope) {
  const machine& m = scope.machine;
  if (!p.transposed) return plan::rejected("multiplies by the transposed matrix");
  const bool all_hot = all_columns_are_hot(p);
  const fixed_point_decision decided{warp_terms::of(p), all_hot ? hot_columns::present : hot_columns_of(p)};
  const double added = all_hot ? private_sums_seconds(p, m) : atomic_sums_seconds(p, m);
  const std::uint64_t matrix = p.matrix_bytes() + p.rows * p.value_bytes();
  plan::planned plan;
  plan.scratch_bytes = core::bytes_of<column_sums>(p);
  const std::uint64_t of_columns = 2 * plan.scratch_bytes + p.y_bytes();
  plan.add("latency", m.launch_seconds + 4 * m.step_seconds);
  plan.add_overlapped(
      2, {{"streamed for exponents", m.streamed(matrix, matrix)}, {"exponents", share_of_reading * added}});
  plan.add_overlapped(2, {{"streamed for sums", m.streamed(matrix, matrix)}, {"sums", share_of_reading * added}});
  plan.add("columns", m.streamed(of_columns, of_columns));
  plan.decided.set(decided);
  return plan;
}

/// The terms of a transposed product in the type of sums.
template <class Sum>
struct unscaled_terms {
  using term = Sum;

  template <class Value>
  __device__ __forceinline__ Sum factor(Value x) const {
    return static_cast<Sum>(x);
  }
};

// ---- the largest exponents

__device__ __forceinline__ void raise(std::uint32_t* largest, std::uint32_t exponent) {
  asm volatile(
      "red.relaxed.gpu.global.max.u32 [%0], %1;" ::"l"(static_cast<std::uint64_t>(__cvta_generic_to_global(largest))),
      "r"(exponent)
      : "memory");
}

/// Exponents of hot columns in shared memory.
struct hot_exponents : block_slots<log2_hot_columns> {
  std::uint32_t largest[1 << bits];

  __device__ __forceinline__ void clear() {
    for (std::uint32_t i = threadIdx.x; i < 1U << bits; i += block_threads) {
      slot[i] = free_entry;
      largest[i] = no_exponent;
    }
  }
  /// Returns whether the column has an entry here.
  __device__ __forceinline__ bool keep(std::uint32_t column, std::uint32_t exponent) {
    const std::uint32_t i = entry_of(column);
    if (i == no_entry) return false;
    if (*static_cast<volatile std::uint32_t*>(largest + i) < exponent) atomicMax(largest + i, exponent);
    return true;
  }
  __device__ __forceinline__ void flush(std::uint32_t* to) const {
    for (std::uint32_t i = threadIdx.x; i < 1U << bits; i += block_threads) {
      if (slot[i] != free_entry) raise(to + slot[i], largest[i]);
    }
  }
};

/// Keeps the largest exponents of columns. Most terms have none above what is there, and only read.
template <class Sum>
struct largest_exponents : unscaled_terms<Sum> {
  std::uint32_t* largest;
  hot_exponents* hot;  ///< null: no columns are hot

  template <class Column>
  __device__ __forceinline__ void add(const Column (&column)[places_at_once], const Sum (&term)[places_at_once],
                                      unsigned counted) const {
    std::uint32_t exponent[places_at_once];
    std::uint32_t found[places_at_once];
#pragma unroll
    for (unsigned k = 0; k < places_at_once; ++k) {
      exponent[k] = (counted >> k & 1) != 0 ? unit_exponent_of(term[k]) : no_exponent;
      if (hot != nullptr && exponent[k] != no_exponent && hot->keep(static_cast<std::uint32_t>(column[k]), exponent[k]))
        exponent[k] = no_exponent;
    }
#pragma unroll
    for (unsigned k = 0; k < places_at_once; ++k) {
      found[k] = exponent[k] != no_exponent ? __ldcg(largest + column[k]) : no_exponent;
    }
#pragma unroll
    for (unsigned k = 0; k < places_at_once; ++k) {
      if (exponent[k] > found[k]) raise(largest + column[k], exponent[k]);
    }
  }
};

// ---- the sums

/// Adds to a whole number, and returns what it was.
__device__ __forceinline__ std::int64_t add_and_return(std::int64_t* to, std::int64_t added) {
  return static_cast<std::int64_t>(
      atomicAdd(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(added)));
}

/// Adds to a whole number, and returns nothing.
__device__ __forceinline__ void add_to_whole(std::int64_t* to, std::int64_t added) {
  add_to(reinterpret_cast<std::uint64_t*>(to), static_cast<std::uint64_t>(added));
}

/// Sums of hot columns in shared memory, in words of 32 bits, which its atomics add.
struct hot_sums : block_slots<log2_hot_columns> {
  std::uint32_t low[1 << bits];
  std::uint32_t high[1 << bits];

  __device__ __forceinline__ void clear() {
    for (std::uint32_t i = threadIdx.x; i < 1U << bits; i += block_threads) {
      slot[i] = free_entry;
      low[i] = high[i] = 0;
    }
  }
  /// Returns how often the sum wraps.
  __device__ __forceinline__ int add_to_entry(std::uint32_t i, std::int64_t added) {
    const auto added_low = static_cast<std::uint32_t>(added);
    const std::uint32_t before_low = atomicAdd(low + i, added_low);
    const std::int32_t carry = before_low + added_low < before_low ? 1 : 0;
    const std::int32_t added_high = static_cast<std::int32_t>(added >> 32) + carry;
    if (added_high == 0) return 0;
    const std::uint32_t before_high = atomicAdd(high + i, static_cast<std::uint32_t>(added_high));
    return wraps_of(static_cast<std::int32_t>(before_high), added_high);
  }
  __device__ __forceinline__ void flush(const column_sums& to) const {
    for (std::uint32_t i = threadIdx.x; i < 1U << bits; i += block_threads) {
      const auto sum = static_cast<std::int64_t>(std::uint64_t{high[i]} << 32 | low[i]);
      if (slot[i] == free_entry || sum == 0) continue;
      const std::int64_t before = add_and_return(to.sums + slot[i], sum);
      const int wraps = to.wraps != nullptr ? wraps_of(before, sum) : 0;
      if (wraps != 0) add_to_whole(to.wraps + slot[i], wraps);
    }
  }
};

/// Adds terms as multiples of the unit of their columns.
template <class Sum>
struct fixed_point_sums : unscaled_terms<Sum> {
  column_sums to;
  hot_sums* hot;  ///< null: no columns are hot

  __device__ fixed_point_sums(const column_sums& sums, hot_sums* of_hot) : to(sums), hot(of_hot) {}

  template <class Column>
  __device__ __forceinline__ void add(const Column (&column)[places_at_once], const Sum (&term)[places_at_once],
                                      unsigned counted) const {
    std::uint32_t largest[places_at_once];
    std::int64_t multiple[places_at_once];
#pragma unroll
    for (unsigned k = 0; k < places_at_once; ++k) {
      largest[k] = (counted >> k & 1) != 0 ? __ldg(to.largest + column[k]) : no_exponent;
    }
#pragma unroll
    for (unsigned k = 0; k < places_at_once; ++k) {
      multiple[k] = 0;
      if (largest[k] == no_number<Sum>) {
        if (exponent_of(term[k]) == no_number<Sum>) {
          atomicOr(reinterpret_cast<unsigned long long*>(to.sums) + column[k], mark_of(term[k]));
        }
      } else if (largest[k] != no_exponent) {
        multiple[k] = fixed_point_of(term[k], largest[k]);
      }
      if (hot == nullptr || multiple[k] == 0) continue;
      const std::uint32_t i = hot->entry_of(static_cast<std::uint32_t>(column[k]));
      if (i == hot_sums::no_entry) continue;
      const int wraps = hot->add_to_entry(i, multiple[k]);
      if (wraps != 0 && to.wraps != nullptr) add_to_whole(to.wraps + column[k], wraps);
      multiple[k] = 0;
    }
    add_all(column, multiple);
  }

 private:
  /// Adds what is not 0. Atomics that return what was there before are all under way together.
  template <class Column>
  __device__ __forceinline__ void add_all(const Column (&column)[places_at_once],
                                          const std::int64_t (&multiple)[places_at_once]) const {
    if (to.wraps == nullptr) {
#pragma unroll
      for (unsigned k = 0; k < places_at_once; ++k) {
        if (multiple[k] != 0) add_to_whole(to.sums + column[k], multiple[k]);
      }
      return;
    }
    std::int64_t before[places_at_once];
#pragma unroll
    for (unsigned k = 0; k < places_at_once; ++k) {
      before[k] = multiple[k] != 0 ? add_and_return(to.sums + column[k], multiple[k]) : 0;
    }
#pragma unroll
    for (unsigned k = 0; k < places_at_once; ++k) {
      if (const int wraps = wraps_of(before[k], multiple[k]); wraps != 0) add_to_whole(to.wraps + column[k], wraps);
    }
  }
};

// ---- kernels

/// Clears what columns have; and block 0 samples the columns, and says whether they are hot.
template <class Value, class Column>
__global__ void __launch_bounds__(block_threads)
    clear_sums(const __grid_constant__ product_arguments<Value, Column> args,
               const __grid_constant__ hot_verdict verdict, const __grid_constant__ column_sums sums,
               std::uint64_t columns) {
  let_next_kernel_start();
  sample_columns(args, verdict);
  for_columns_of_thread(columns, [&](std::uint64_t i) {
    sums.largest[i] = no_exponent;
    sums.sums[i] = 0;
    if (sums.wraps != nullptr) sums.wraps[i] = 0;
  });
}

template <class Sum, class Value, class Column>
__global__ void __launch_bounds__(block_threads, 5)
    find_largest_exponents(const __grid_constant__ product_arguments<Value, Column> args,
                           const __grid_constant__ row_shares shares, const __grid_constant__ hot_verdict verdict,
                           const __grid_constant__ column_sums sums) {
  using exponents = largest_exponents<Sum>;
  add_share_by_verdict<hot_exponents>(
      args, shares, verdict, exponents{{}, sums.largest, nullptr},
      [&](hot_exponents* hot) {
        return exponents{{}, sums.largest, hot};
      },
      sums.largest);
}

template <class Sum, class Value, class Column>
__global__ void __launch_bounds__(block_threads, 4)
    add_multiples(const __grid_constant__ product_arguments<Value, Column> args,
                  const __grid_constant__ row_shares shares, const __grid_constant__ hot_verdict verdict,
                  const __grid_constant__ column_sums sums) {
  add_share_by_verdict<hot_sums>(
      args, shares, verdict, fixed_point_sums<Sum>(sums, nullptr),
      [&](hot_sums* hot) { return fixed_point_sums<Sum>(sums, hot); }, sums);
}

template <class Sum, class Value, class Column>
__global__ void __launch_bounds__(block_threads)
    write_sums(const __grid_constant__ product_arguments<Value, Column> args, const __grid_constant__ column_sums sums,
               std::uint64_t columns) {
  wait_for_kernel_before();
  for_columns_of_thread(columns, [&](std::uint64_t i) {
    const std::uint32_t largest = sums.largest[i];
    const std::int64_t low = sums.sums[i];
    const std::int64_t wraps = sums.wraps != nullptr ? sums.wraps[i] : 0;
    write_result(args, i,
                 largest == no_number<Sum> ? sum_of_marks<Sum>(static_cast<std::uint32_t>(low))
                                           : number_of<Sum>(low, wraps, largest));
  });
}

void run_fixed_point(const context& ctx, const spmv_problem& p, const plan::planned& plan, const spmv_buffers& b,
                     std::byte* scratch) {
  const device_scope current_device(ctx.device());
  const auto decided = plan.decided.get<fixed_point_decision>();
  const auto sums = core::arrays_in<column_sums>(scratch, p);
  const csr_guard guard = guard_of(ctx, p, p.call);
  const hot_verdict verdict = verdict_of(ctx, p.rows == 0 ? hot_columns::none : decided.hot);
  const std::uint64_t column_blocks = blocks_of_columns(ctx, p.columns);
  with_product_types(p, [&]<class Types>(Types) {
    using value = typename Types::value;
    using sum = typename Types::sum;
    using column = typename Types::column;
    const auto args = arguments_of<value, column>(p, b, guard);
    launch(ctx, clear_sums<value, column>, column_blocks, args, verdict, sums, p.columns);
    if (p.rows > 0) {
      const row_shares shares = shares_of(ctx, p, decided.warps);
      launch_overlapped(ctx, find_largest_exponents<sum, value, column>, shares.blocks(), block_threads, 0, args,
                        shares, verdict, sums);
      launch_overlapped(ctx, add_multiples<sum, value, column>, shares.blocks(), block_threads, 0, args, shares,
                        verdict, sums);
    }
    launch_overlapped(ctx, write_sums<sum, value, column>, column_blocks, block_threads, 0, args, sums, p.columns);
  });
}

}  // namespace

extern constinit const primitives::spmv_variant spmv_fixed_point{"cuda.fixed_point", backend_kind::cuda,
                                                                 plan_fixed_point, run_fixed_point};

}  // namespace sheaf::cuda
