#include "distributed/sparse/vector_steps.hpp"

namespace sheaf::distributed {
namespace {

struct lanes {
  static constexpr std::uint64_t count = 8;
  double sum[count]{};

  double total() const noexcept {
    return ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
  }
};

template <class Take>
[[gnu::always_inline]] inline void for_lanes(block_range at, Take take) {
  const std::uint64_t whole = at.first + (at.last - at.first) / lanes::count * lanes::count;
  for (std::uint64_t i = at.first; i < whole; i += lanes::count) {
    for (std::uint64_t lane = 0; lane < lanes::count; ++lane) take(i + lane, lane);
  }
  for (std::uint64_t i = whole; i < at.last; ++i) take(i, i - whole);
}

/// Value is what is stored, Sum what a step is computed in. Dot products are of f64.
template <class Value, class Sum>
struct steps {
  static const Value* in(const void* of) noexcept { return static_cast<const Value*>(of); }
  static Value* out(void* of) noexcept { return static_cast<Value*>(of); }
  static double multiplied(Value a, Value b) noexcept { return static_cast<double>(a) * static_cast<double>(b); }

  static double dot(const void* first, const void* second, block_range at) {
    lanes sums;
    for_lanes(at, [&, a = in(first), b = in(second)](std::uint64_t i, std::uint64_t lane) {
      sums.sum[lane] += multiplied(a[i], b[i]);
    });
    return sums.total();
  }

  static std::uint64_t nonzeros(const void* x, block_range at) {
    std::uint64_t count = 0;
    for (std::uint64_t i = at.first; i < at.last; ++i) count += in(x)[i] != 0 ? 1 : 0;
    return count;
  }

  static residual_sums sums_of_residual(const void* residual, const void* inverse, block_range at) {
    if (inverse == nullptr) {
      const double squared = dot(residual, residual, at);
      return {squared, squared};
    }
    lanes squares;
    lanes with_z;
    for_lanes(at, [&, r = in(residual), d = in(inverse)](std::uint64_t i, std::uint64_t lane) {
      const double square = multiplied(r[i], r[i]);
      squares.sum[lane] += square;
      with_z.sum[lane] += square * static_cast<double>(d[i]);
    });
    return {squares.total(), with_z.total()};
  }

  static residual_sums step_residual(void* residual, const void* product, const void* inverse, double alpha,
                                     block_range at) {
    Value* const __restrict r = out(residual);
    const Value* const __restrict q = in(product);
    const Sum a = static_cast<Sum>(alpha);
    for (std::uint64_t i = at.first; i < at.last; ++i)
      r[i] = static_cast<Value>(static_cast<Sum>(r[i]) - a * static_cast<Sum>(q[i]));
    return sums_of_residual(residual, inverse, at);
  }

  static void step_direction(void* direction, const void* residual, const void* inverse, double beta, block_range at) {
    Value* const __restrict p = out(direction);
    const Value* const __restrict r = in(residual);
    const Value* const __restrict d = in(inverse);
    const Sum b = static_cast<Sum>(beta);
    for (std::uint64_t i = at.first; i < at.last; ++i) {
      const Sum z = d == nullptr ? static_cast<Sum>(r[i]) : static_cast<Sum>(r[i]) * static_cast<Sum>(d[i]);
      p[i] = static_cast<Value>(beta == 0 ? z : z + b * static_cast<Sum>(p[i]));
    }
  }

  static void step_solution(const void* from, void* to, const void* direction, double alpha, block_range at) {
    const Value* const __restrict p = in(direction);
    const Sum a = static_cast<Sum>(alpha);
    const Value* const before = in(from);
    Value* const after = out(to);
    for (std::uint64_t i = at.first; i < at.last; ++i)
      after[i] = static_cast<Value>(static_cast<Sum>(before[i]) + a * static_cast<Sum>(p[i]));
  }

  static bool invert(void* inverse, block_range at) {
    bool is_positive = true;
    for (std::uint64_t i = at.first; i < at.last; ++i) {
      const Value d = out(inverse)[i];
      is_positive = is_positive && d > 0;
      out(inverse)[i] = Value{1} / d;
    }
    return is_positive;
  }

  static constexpr vector_steps all{dot,           nonzeros, sums_of_residual, step_residual, step_direction,
                                    step_solution, invert};
};

}  // namespace

const vector_steps& steps_of(value_type value, spmv_sums sums) noexcept {
  if (value == value_type::f64) return steps<double, double>::all;
  return sums == spmv_sums::f64 ? steps<float, double>::all : steps<float, float>::all;
}

double sum_of_blocks(const double* of_block, std::uint64_t blocks) noexcept {
  lanes sums;
  for_lanes({0, blocks}, [&](std::uint64_t i, std::uint64_t lane) { sums.sum[lane] += of_block[i]; });
  return sums.total();
}

}  // namespace sheaf::distributed
