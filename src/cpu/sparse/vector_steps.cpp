#include "cpu/sparse/vector_steps.hpp"

#include "cpu/sparse/row_reader.hpp"

namespace sheaf::cpu {
namespace {

using range = value_range_of_block;

/// Sums that do not wait for each other. The compiler adds several in one instruction.
struct lanes {
  static constexpr std::uint64_t count = 8;
  double sum[count]{};

  double total() const noexcept {
    return ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
  }
};

/// In f64 whatever the values are: f32 has no square of 1e-23 or 1e20.
template <class Value>
[[gnu::always_inline]] inline double multiplied(Value a, Value b) noexcept {
  return static_cast<double>(a) * static_cast<double>(b);
}

/// Calls take(i, lane) for all values of a block: whole groups of lanes, and what is left.
template <class Take>
[[gnu::always_inline]] inline void for_lanes(range at, Take take) {
  constexpr std::uint64_t count = lanes::count;
  const std::uint64_t whole = at.first + (at.last - at.first) / count * count;
  for (std::uint64_t i = at.first; i < whole; i += count) {
    for (std::uint64_t lane = 0; lane < count; ++lane) take(i + lane, lane);
  }
  for (std::uint64_t i = whole; i < at.last; ++i) take(i, i - whole);
}

/// Value is what is stored, Sum what a step is computed in.
template <class Value, class Sum>
struct steps {
  static const Value* in(const void* of) noexcept { return static_cast<const Value*>(of); }
  static Value* out(void* of) noexcept { return static_cast<Value*>(of); }

  static double dot(const void* first, const void* second, range at) {
    const Value* const a = in(first);
    const Value* const b = in(second);
    lanes sums;
    for_lanes(at, [&](std::uint64_t i, std::uint64_t lane) { sums.sum[lane] += multiplied(a[i], b[i]); });
    return sums.total();
  }

  static std::uint64_t nonzeros(const void* x, range at) {
    std::uint64_t count = 0;
    for (std::uint64_t i = at.first; i < at.last; ++i) count += in(x)[i] != 0 ? 1 : 0;
    return count;
  }

  static residual_sums sums_of_residual(const void* residual, const void* inverse, range at) {
    const Value* const r = in(residual);
    lanes squares;
    if (inverse == nullptr) {
      const double squared = dot(residual, residual, at);
      return {squared, squared};
    }
    const Value* const d = in(inverse);
    lanes with_z;
    for_lanes(at, [&](std::uint64_t i, std::uint64_t lane) {
      const double square = multiplied(r[i], r[i]);
      squares.sum[lane] += square;
      with_z.sum[lane] += square * static_cast<double>(d[i]);
    });
    return {squares.total(), with_z.total()};
  }

  // The block is in the nearest cache after the first loop; both are vectorized, and one for both is not.
  static residual_sums step_residual(void* residual, const void* product, const void* inverse, double alpha, range at) {
    Value* const __restrict r = out(residual);
    const Value* const __restrict q = in(product);
    const Sum a = static_cast<Sum>(alpha);
    for (std::uint64_t i = at.first; i < at.last; ++i) {
      r[i] = static_cast<Value>(static_cast<Sum>(r[i]) - a * static_cast<Sum>(q[i]));
    }
    return sums_of_residual(residual, inverse, at);
  }

  static void step_direction(void* direction, const void* residual, const void* inverse, double beta, range at) {
    Value* const __restrict p = out(direction);
    const Value* const __restrict r = in(residual);
    const Value* const __restrict d = in(inverse);
    const Sum b = static_cast<Sum>(beta);
    for (std::uint64_t i = at.first; i < at.last; ++i) {
      const Sum z = d == nullptr ? static_cast<Sum>(r[i]) : static_cast<Sum>(r[i]) * static_cast<Sum>(d[i]);
      p[i] = static_cast<Value>(beta == 0 ? z : z + b * static_cast<Sum>(p[i]));
    }
  }

  static void step_solution(const void* from, void* to, const void* direction, double alpha, range at) {
    const Value* const __restrict p = in(direction);
    const Sum a = static_cast<Sum>(alpha);
    const auto stepped = [&](Value x, std::uint64_t i) {
      return static_cast<Value>(static_cast<Sum>(x) + a * static_cast<Sum>(p[i]));
    };
    if (from == to) {
      Value* const __restrict x = out(to);
      for (std::uint64_t i = at.first; i < at.last; ++i) x[i] = stepped(x[i], i);
    } else {
      const Value* const __restrict before = in(from);
      Value* const __restrict after = out(to);
      for (std::uint64_t i = at.first; i < at.last; ++i) after[i] = stepped(before[i], i);
    }
  }

  // The blocks are in the nearest cache after the first of both.
  static void step_both(const void* from, void* to, double alpha, void* direction, const void* residual,
                        const void* inverse, double beta, range at) {
    step_solution(from, to, direction, alpha, at);
    step_direction(direction, residual, inverse, beta, at);
  }

  static void copy(const void* from, void* to, range at) {
    std::copy(in(from) + at.first, in(from) + at.last, out(to) + at.first);
  }
  static void clear(void* x, range at) { std::fill(out(x) + at.first, out(x) + at.last, Value{0}); }

  static void subtract_from(const void* minuend, void* product, range at) {
    const Value* const __restrict b = in(minuend);
    Value* const __restrict q = out(product);
    for (std::uint64_t i = at.first; i < at.last; ++i) q[i] = b[i] - q[i];
  }

  static bool invert(const void* diagonal, void* inverse, range at) {
    bool is_positive = true;
    for (std::uint64_t i = at.first; i < at.last; ++i) {
      const Value d = in(diagonal)[i];
      is_positive = is_positive && d > 0;
      out(inverse)[i] = Value{1} / d;
    }
    return is_positive;
  }

  static constexpr vector_kernels kernels{
      dot,  nonzeros, sums_of_residual, step_residual, step_direction, step_solution, step_both,
      copy, clear,    subtract_from,    invert};
};

}  // namespace

const vector_kernels& vector_kernels_of(const primitives::spmv_problem& p) noexcept {
  return *with_value_and_sum(p, [](auto value, auto sum) { return &steps<decltype(value), decltype(sum)>::kernels; });
}

double sum_of_blocks(const double* of_block, std::uint64_t blocks, std::uint64_t stride) noexcept {
  lanes sums;
  for_lanes({0, blocks}, [&](std::uint64_t i, std::uint64_t lane) { sums.sum[lane] += of_block[i * stride]; });
  return sums.total();
}

}  // namespace sheaf::cpu
