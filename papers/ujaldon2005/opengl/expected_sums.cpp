#include "papers/ujaldon2005/opengl/expected_sums.hpp"

#include <limits>

#include "opengl/edges/ends.hpp"
#include "opengl/sparse/point_matrix.hpp"

namespace sheaf::opengl {
namespace {

using namespace primitives;

// The largest value, or the next power of two.
double gain_of(double largest, channel_bits bits) {
  if (largest == 0) return 1;
  if (bits == channel_bits::fixed8) return largest;
  int exponent = 0;
  std::frexp(largest, &exponent);
  return std::ldexp(1, exponent);
}

texel_scale scale_of(const float* numbers, std::uint64_t count, std::uint32_t components, channel_bits bits,
                     bool is_centered) {
  texel_scale scale;
  double largest = 0;
  for (std::uint32_t k = 0; k < components; ++k) {
    double least = std::numeric_limits<double>::infinity();
    double most = -least;
    for (std::uint64_t i = k; i < count; i += components) {
      least = std::min<double>(least, numbers[i]);
      most = std::max<double>(most, numbers[i]);
    }
    if (least > most) continue;  // there are none
    if (is_centered) scale.centers[k] = (least + most) / 2;
    largest = std::max({largest, most - scale.centers[k], scale.centers[k] - least});
  }
  scale.gain = gain_of(largest, bits);
  return scale;
}

double largest_of(const std::vector<double>& numbers) {
  double largest = 0;
  for (const double number : numbers) largest = std::max(largest, std::abs(number));
  return largest == 0 ? 1 : largest;
}

/// The sums of f64, and of magnitudes.
struct exact_sums {
  std::vector<double> sums;
  std::vector<double> magnitudes;

  explicit exact_sums(std::uint64_t count) : sums(count), magnitudes(count) {}
  void add(std::uint64_t at, double term) {
    sums[at] += term;
    magnitudes[at] += std::abs(term);
  }
};

expected_sums expected_of(exact_sums exact, const texel_scale& scale) {
  expected_sums expected{.scale = scale, .limit = largest_of(exact.magnitudes)};
  expected.sums = std::move(exact.sums);
  return expected;
}

void read_bounds(expected_sums& expected, const std::vector<blended_sum>& sums, channel_bits frame_buffer) {
  for (const blended_sum& sum : sums) {
    expected.bounds.push_back(sum.read_back(frame_buffer).error * expected.limit);
  }
}

/// Calls visit(row, column, value) for each entry.
template <class Visit>
void for_each_entry(const spmv_problem& p, const csr_view& a, Visit visit) {
  entry_cursor cursor(p, a);
  cursor.visit<1>(std::numeric_limits<std::uint64_t>::max(),
                  [&](const entry_group<1>& g) { visit(g.row, g.columns[0], static_cast<double>(g.values[0])); });
}

exact_sums exact_edges(const edge_sum_problem& problem, const edge_view& edges, const float* values,
                       std::uint64_t& first_bad) {
  exact_sums exact(problem.nodes * problem.components);
  const bool is_inverse = problem.function == edge_function::inverse_square;
  first_bad = for_each_edge(
      problem, edges, 0, problem.edges,
      [&](std::uint64_t, const node_pair& ends) {
        const std::uint64_t i = std::uint64_t{ends.first} * problem.components;
        const std::uint64_t j = std::uint64_t{ends.second} * problem.components;
        double difference[most_channels] = {};
        double square = 0;
        for (std::uint32_t k = 0; k < problem.components; ++k) {
          difference[k] = static_cast<double>(values[j + k]) - values[i + k];
          square += difference[k] * difference[k];
        }
        const double factor = !is_inverse ? 1 : square == 0 ? 0 : 1 / (square * std::sqrt(square));
        for (std::uint32_t k = 0; k < problem.components; ++k) {
          exact.add(i + k, factor * difference[k]);
          exact.add(j + k, -factor * difference[k]);
        }
      },
      [](std::uint64_t) {});
  return exact;
}

/// What edges contribute to sums whose limit is 1, as far as it is known.
class edge_bounds {
 public:
  edge_bounds(const edge_sum_problem& problem, const float* values, const pipeline_precision& precision,
              const expected_sums& expected)
      : problem_(problem),
        values_(values),
        precision_(precision),
        expected_(expected),
        is_inverse_(problem.function == edge_function::inverse_square),
        factor_((is_inverse_ ? 1 / (expected.scale.gain * expected.scale.gain) : expected.scale.gain) / expected.limit),
        sums_(problem.nodes * problem.components) {}

  void add(const node_pair& ends, bool is_second_pass) {
    bounded_number difference[most_channels];
    bounded_number contribution[most_channels];
    for (std::uint32_t k = 0; k < problem_.components; ++k) {
      const bounded_number first = texel(ends.first, k);
      const bounded_number second = texel(ends.second, k);
      difference[k] = {second.value - first.value, first.error + second.error};
    }
    bound_contribution(difference, problem_.components, is_second_pass ? -factor_ : factor_, is_inverse_, contribution);
    const std::uint64_t node = is_second_pass ? ends.second : ends.first;
    for (std::uint32_t k = 0; k < problem_.components; ++k) {
      sums_[node * problem_.components + k].add(precision_.frame_buffer, contribution[k]);
    }
  }
  const std::vector<blended_sum>& sums() const noexcept { return sums_; }

 private:
  bounded_number texel(std::uint32_t node, std::uint32_t k) const {
    return expected_.scale.texel(precision_.texture, values_[std::uint64_t{node} * problem_.components + k], k);
  }

  const edge_sum_problem& problem_;
  const float* values_;
  pipeline_precision precision_;
  const expected_sums& expected_;
  bool is_inverse_;
  double factor_;
  std::vector<blended_sum> sums_;
};

}  // namespace

bounded_number texel_scale::texel(channel_bits bits, float number, std::uint32_t component) const {
  const double value = scaled(number, component);
  return {value, texel_error(bits, value)};
}

precision_figures expected_sums::judged(std::span<const float> found) const {
  const double largest = largest_of(sums);
  precision_figures figures;
  std::uint64_t bounded = 0;
  for (std::uint64_t i = 0; i < sums.size(); ++i) {
    const double difference = std::abs(found[i] - sums[i]);
    if (!std::isfinite(found[i]) || difference > bounds[i]) ++figures.beyond;
    figures.largest_error = std::max(figures.largest_error, difference / largest);
    figures.mean_error += difference * difference / (largest * largest) / static_cast<double>(sums.size());
    figures.largest_bound = std::max(figures.largest_bound, bounds[i] / largest);
    if (bounds[i] < largest) ++bounded;
  }
  if (!sums.empty()) figures.bounded_share = static_cast<double>(bounded) / static_cast<double>(sums.size());
  figures.mean_error = std::sqrt(figures.mean_error);
  return figures;
}

expected_sums expected_product(const spmv_problem& problem, const csr_view& a, const float* x,
                               const pipeline_precision& precision) {
  exact_sums exact(problem.rows);
  for_each_entry(problem, a,
                 [&](std::uint32_t row, std::uint32_t column, double value) { exact.add(row, value * x[column]); });
  expected_sums expected =
      expected_of(std::move(exact), scale_of(x, problem.columns, 1, precision.texture, /*is_centered=*/false));
  const double factor = expected.scale.gain / expected.limit;
  std::vector<blended_sum> sums(problem.rows);
  for_each_entry(problem, a, [&](std::uint32_t row, std::uint32_t column, double value) {
    const bounded_number texel = expected.scale.texel(precision.texture, x[column], 0);
    sums[row].add(precision.frame_buffer, bounded_product(value * factor, texel));
  });
  read_bounds(expected, sums, precision.frame_buffer);
  return expected;
}

expected_sums expected_edge_sums(const edge_sum_problem& problem, const edge_view& edges, const float* node_values,
                                 const pipeline_precision& precision, std::uint64_t edges_of_piece,
                                 std::uint64_t& first_bad) {
  const bool is_centered = precision.texture != channel_bits::float32;  // which would be rounded
  expected_sums expected = expected_of(
      exact_edges(problem, edges, node_values, first_bad),
      scale_of(node_values, problem.nodes * problem.components, problem.components, precision.texture, is_centered));
  edge_bounds bounds(problem, node_values, precision, expected);
  for (std::uint64_t begin = 0; begin < problem.edges; begin += edges_of_piece) {
    const std::uint64_t count = std::min(edges_of_piece, problem.edges - begin);
    for (const bool is_second_pass : {false, true}) {
      for_each_edge(
          problem, edges, begin, count, [&](std::uint64_t, const node_pair& ends) { bounds.add(ends, is_second_pass); },
          [](std::uint64_t) {});
    }
  }
  read_bounds(expected, bounds.sums(), precision.frame_buffer);
  return expected;
}

}  // namespace sheaf::opengl
