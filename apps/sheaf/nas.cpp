#include "apps/sheaf/nas.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "apps/sheaf/context_array.hpp"
#include "core/startable.hpp"
#include "primitives/views.hpp"

namespace sheaf::jobs {
namespace {

constexpr double least_weight = 0.1;  // rcond

constexpr nas_class classes[] = {
    {"S", 1400, 7, 15, 10, 8.5971775078648, 78'148},          {"W", 7000, 8, 15, 12, 10.362595087124, 508'402},
    {"A", 14'000, 11, 15, 20, 17.130235054029, 1'853'104},    {"B", 75'000, 13, 75, 60, 22.712745482631, 13'708'072},
    {"C", 150'000, 15, 75, 110, 28.973605592845, 36'121'058},
};

/// The benchmark's numbers in (0, 1): x becomes 5^13 x modulo 2^46.
class random_numbers {
 public:
  double next() {
    constexpr std::uint64_t multiplier = 1'220'703'125;
    constexpr std::uint64_t modulus = std::uint64_t{1} << 46;
    state_ = state_ * multiplier % modulus;  // 2^64 is a multiple of the modulus, so the product may wrap
    return static_cast<double>(state_) / static_cast<double>(modulus);
  }

 private:
  std::uint64_t state_ = 314'159'265;
};

/// Vector i has the places [i * stride, i * stride + counts[i]).
struct sparse_vectors {
  std::uint64_t stride;
  std::vector<std::uint32_t> counts;
  std::vector<std::uint32_t> places;
  std::vector<double> numbers;
};

/// Each vector has values at random places that differ, and 0.5 at its own.
sparse_vectors drawn_vectors(const nas_class& of) {
  sparse_vectors vectors{of.vector_entries + 1, {}, {}, {}};
  vectors.counts.resize(of.rows);
  vectors.places.resize(of.rows * vectors.stride);
  vectors.numbers.resize(of.rows * vectors.stride);
  std::uint64_t power_of_two = 1;
  while (power_of_two < of.rows) power_of_two *= 2;
  random_numbers random;
  random.next();  // the benchmark draws a first zeta, which it does not use
  for (std::uint64_t i = 0; i < of.rows; ++i) {
    std::uint32_t* const places = vectors.places.data() + i * vectors.stride;
    double* const numbers = vectors.numbers.data() + i * vectors.stride;
    std::uint64_t count = 0;
    while (count < of.vector_entries) {
      const double number = random.next();
      const auto place = static_cast<std::uint64_t>(random.next() * static_cast<double>(power_of_two));
      if (place >= of.rows || std::find(places, places + count, place) != places + count) continue;
      places[count] = static_cast<std::uint32_t>(place);
      numbers[count++] = number;
    }
    const std::uint64_t own = static_cast<std::uint64_t>(std::find(places, places + count, i) - places);
    places[own] = static_cast<std::uint32_t>(i);
    numbers[own] = 0.5;
    vectors.counts[i] = static_cast<std::uint32_t>(std::max(count, own + 1));
  }
  return vectors;
}

/// For each place, where the vectors that have it keep it, in the order of vectors.
struct vectors_of_places {
  std::vector<std::uint64_t> begins;
  std::vector<std::uint64_t> at;

  vectors_of_places(const sparse_vectors& vectors, std::uint64_t rows) : begins(rows + 1) {
    for_all(vectors, [&](std::uint64_t, std::uint32_t place) { ++begins[place + 1]; });
    std::partial_sum(begins.begin(), begins.end(), begins.begin());
    at.resize(begins.back());
    std::vector<std::uint64_t> next(begins.begin(), begins.end() - 1);
    for_all(vectors, [&](std::uint64_t kept_at, std::uint32_t place) { at[next[place]++] = kept_at; });
  }

 private:
  template <class Take>
  static void for_all(const sparse_vectors& v, Take take) {
    for (std::uint64_t i = 0; i < v.counts.size(); ++i) {
      for (std::uint64_t e = i * v.stride; e < i * v.stride + v.counts[i]; ++e) take(e, v.places[e]);
    }
  }
};

/// Adds up one row after another. A thread has one of its own. make() takes no memory, because what fails in a parallel
/// region cannot leave it.
class row_maker {
 public:
  row_maker(const nas_class& of, const sparse_vectors& v, const vectors_of_places& places,
            const std::vector<double>& weights)
      : of_(of),
        vectors_(v),
        places_(places),
        weights_(weights),
        sums_(of.rows),
        is_in_row_(of.rows),
        columns_(of.rows) {}

  /// The columns of a row, ascending. numbers() has their values until the next call.
  std::span<const std::uint32_t> make(std::uint64_t row) {
    for (std::uint64_t k = 0; k < count_; ++k) is_in_row_[columns_[k]] = 0;
    count_ = 0;
    for (std::uint64_t k = places_.begins[row]; k < places_.begins[row + 1]; ++k) {
      const std::uint64_t i = places_.at[k] / vectors_.stride;
      const double scale = weights_[i] * vectors_.numbers[places_.at[k]];
      for (std::uint64_t e = i * vectors_.stride; e < i * vectors_.stride + vectors_.counts[i]; ++e) {
        const std::uint32_t column = vectors_.places[e];
        double term = vectors_.numbers[e] * scale;
        if (column == row && i == row) term = term + least_weight - of_.shift;
        if (is_in_row_[column] == 0) {
          is_in_row_[column] = 1;
          sums_[column] = 0;
          columns_[count_++] = column;
        }
        sums_[column] += term;
      }
    }
    const std::span<std::uint32_t> made(columns_.data(), count_);
    std::ranges::sort(made);
    return made;
  }
  double number(std::uint32_t column) const { return sums_[column]; }

 private:
  const nas_class& of_;
  const sparse_vectors& vectors_;
  const vectors_of_places& places_;
  const std::vector<double>& weights_;
  std::vector<double> sums_;
  std::vector<char> is_in_row_;
  std::vector<std::uint32_t> columns_;
  std::uint64_t count_ = 0;  ///< columns of the row
};

}  // namespace

std::span<const nas_class> nas_classes() { return classes; }

const nas_class& nas_class_named(std::string_view name) {
  for (const nas_class& one : classes) {
    if (one.name == name) return one;
  }
  primitives::refuse("'{}' is not a class of the benchmark; there are S, W, A, B, C", name);
}

io::csr_matrix<double> nas_matrix(const nas_class& of, int threads) { return nas_rows(of, 0, of.rows, threads); }

io::csr_matrix<double> nas_rows(const nas_class& of, std::uint64_t first, std::uint64_t end, int threads) {
  const sparse_vectors vectors = drawn_vectors(of);
  const vectors_of_places places(vectors, of.rows);
  std::vector<double> weights(of.rows, 1);
  const double ratio = std::pow(least_weight, 1.0 / static_cast<double>(of.rows));
  for (std::uint64_t i = 1; i < of.rows; ++i) weights[i] = weights[i - 1] * ratio;
  io::csr_matrix<double> matrix;
  matrix.rows = end - first;
  matrix.columns = of.rows;
  matrix.row_offsets.assign(matrix.rows + 1, 0);
  std::vector<std::uint32_t> columns;
  std::vector<row_maker> makers(static_cast<std::size_t>(threads), row_maker(of, vectors, places, weights));
  // Rows are made twice: to count their columns, and to write them.
  const auto for_rows = [&](auto work) {
    const auto parts = static_cast<std::uint64_t>(threads);
#pragma omp parallel for num_threads(core::startable(threads)) schedule(static, 1) if (threads > 1)
    for (std::uint64_t part = 0; part < parts; ++part) {
      for (std::uint64_t i = matrix.rows * part / parts; i < matrix.rows * (part + 1) / parts; ++i) {
        work(i, makers[part].make(first + i), makers[part]);
      }
    }
  };
  for_rows([&](std::uint64_t row, std::span<const std::uint32_t> of_row, const row_maker&) {
    matrix.row_offsets[row + 1] = of_row.size();
  });
  std::partial_sum(matrix.row_offsets.begin(), matrix.row_offsets.end(), matrix.row_offsets.begin());
  columns.resize(matrix.row_offsets.back());
  matrix.values.resize(matrix.row_offsets.back());
  for_rows([&](std::uint64_t row, std::span<const std::uint32_t> of_row, const row_maker& made) {
    std::uint64_t place = matrix.row_offsets[row];
    for (const std::uint32_t column : of_row) {
      columns[place] = column;
      matrix.values[place++] = -made.number(column);
    }
  });
  matrix.column_indices = std::move(columns);
  return matrix;
}

namespace {

using clock = std::chrono::steady_clock;

double seconds_since(clock::time_point begin) { return std::chrono::duration<double>(clock::now() - begin).count(); }

template <class Value>
double dot(std::span<const Value> a, std::span<const Value> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

/// Solves A z = x, estimates the eigenvalue by x.z, and goes on with z of length 1.
template <class Value>
void iterate(const nas_class& of, std::span<Value> x, std::span<Value> z,
             const std::function<conjugate_gradient_result()>& solve, nas_answer& answer) {
  std::ranges::fill(z, Value{0});
  const conjugate_gradient_result solved = solve();
  if (answer.reason == stop_reason::limit) answer.reason = solved.reason;
  answer.residual = solved.residual;
  answer.variant = solved.variant;
  answer.zeta = of.shift - 1 / dot<Value>(x, z);                     // z has the other sign, as the matrix has
  if (std::isnan(answer.zeta)) answer.zeta = std::abs(answer.zeta);  // NaN has no sign
  const double scale = 1 / std::sqrt(dot<Value>(z, z));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<Value>(scale * static_cast<double>(z[i]));
}

/// As the benchmark counts them.
double operations_of(const nas_class& of) {
  const auto n = static_cast<double>(of.rows);
  const auto products = static_cast<double>(of.vector_entries * (of.vector_entries + 1));
  return 2 * static_cast<double>(of.iterations) * n *
         (3 + products + static_cast<double>(nas_steps_of_a_system) * (5 + products) + 3);
}

}  // namespace

conjugate_gradient_options nas_system_options(std::string_view variant) {
  return {.tolerance = 0,
          .iteration_limit = nas_steps_of_a_system,
          .pattern = access_pattern::random(),
          .keeps_last = true,
          .variant = variant};
}

explanation explain_nas(const context& ctx, const csr_view& a, std::string_view variant) {
  const const_values b(nullptr, a.rows, a.values.type);
  return explain_conjugate_gradient(ctx, a, b, {nullptr, a.rows, a.values.type}, nas_system_options(variant));
}

template <class Value>
nas_answer run_nas(const nas_class& of, std::span<Value> x, std::span<Value> z,
                   const std::function<conjugate_gradient_result()>& solve, const nas_options& options) {
  nas_answer answer;
  std::ranges::fill(x, Value{1});
  iterate(of, x, z, solve, answer);
  std::ranges::fill(x, Value{1});
  const auto start = clock::now();
  for (std::uint64_t i = 1; i <= of.iterations; ++i) {
    iterate(of, x, z, solve, answer);
    if (options.progress) options.progress(i, answer.residual, answer.zeta);
  }
  answer.seconds = seconds_since(start);
  answer.mop_per_second = operations_of(of) / answer.seconds / 1e6;
  answer.is_right = std::abs(answer.zeta - of.zeta) <= nas_precision<Value> * of.zeta;
  return answer;
}

template <class Value>
nas_answer run_nas(const context& ctx, const nas_class& of, const io::csr_matrix<Value>& matrix,
                   const nas_options& options) {
  const auto before_loading = clock::now();
  const host_values<Value> x(ctx, of.rows);
  const host_values<Value> z(ctx, of.rows);
  const context_matrix a(ctx, matrix);
  const context_array x_there(ctx, x.all().data(), of.rows * sizeof(Value));
  const context_array z_there(ctx, z.all().data(), of.rows * sizeof(Value));
  ctx.wait();
  const double loading_seconds = works_in_place(ctx) ? 0 : seconds_since(before_loading);
  const auto solve = [&] {
    x_there.send();
    z_there.send();
    conjugate_gradient_result solved = conjugate_gradient(
        ctx, a.view, const_values(x_there.data(), of.rows, value_type_of<Value>()),
        values(z_there.data(), of.rows, value_type_of<Value>()), nas_system_options(options.variant));
    z_there.fetch();
    return solved;
  };
  nas_answer answer = run_nas<Value>(of, x.all(), z.all(), solve, options);
  answer.loading_seconds = loading_seconds;
  return answer;
}

template nas_answer run_nas(const context&, const nas_class&, const io::csr_matrix<float>&, const nas_options&);
template nas_answer run_nas(const context&, const nas_class&, const io::csr_matrix<double>&, const nas_options&);
template nas_answer run_nas(const nas_class&, std::span<float>, std::span<float>,
                            const std::function<conjugate_gradient_result()>&, const nas_options&);
template nas_answer run_nas(const nas_class&, std::span<double>, std::span<double>,
                            const std::function<conjugate_gradient_result()>&, const nas_options&);

}  // namespace sheaf::jobs
