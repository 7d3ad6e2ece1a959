#include "apps/sheaf/checks/edges.hpp"

#include <array>
#include <cmath>
#include <limits>

#include "apps/sheaf/files/failure.hpp"
#include "apps/sheaf/files/progress.hpp"
#include "primitives/index_reader.hpp"

namespace sheaf::jobs {
namespace {

/// The terms of one value, added in the order in which they come.
struct exact_sum {
  long double sum = 0;
  long double magnitudes = 0;
  long double underflow = 0;  ///< what is lost where numbers below the normal ones are taken for zero
  std::uint64_t terms = 0;
  bool is_judged = true;

  void take(long double term, long double lost) {
    sum += term;
    magnitudes += std::abs(term);
    if (std::isfinite(lost)) underflow += lost;
    ++terms;
  }
};

template <class T>
bool explains(const exact_sum& of, T found) {
  using limits = std::numeric_limits<T>;
  if (!of.is_judged || (std::isfinite(of.magnitudes) && of.magnitudes > limits::max())) return true;
  if (std::isnan(of.sum)) return std::isnan(found);
  if (std::isinf(of.sum)) return static_cast<long double>(found) == of.sum;
  const auto steps = static_cast<long double>(of.terms + 8);
  return std::abs(static_cast<long double>(found) - of.sum) <= steps * limits::epsilon() * of.magnitudes + of.underflow;
}

/// Whether a number that is finite in theory is not in its type.
template <class T>
bool overflows(T number, long double exact) {
  return !std::isfinite(number) && std::isfinite(exact);
}

/// What one edge contributes, and whether its type is wide enough for every step to it.
template <class T>
struct edge_terms {
  std::array<long double, most_edge_components> of_component{};
  long double underflow = 0;
  bool is_judged = true;

  edge_terms(const T* first, const T* second, T weight, std::uint32_t components, edge_function function) {
    const bool has_distance = function == edge_function::inverse_square;
    long double square = 0;
    T square_in_type = 0;
    for (std::uint32_t k = 0; k < components; ++k) {
      const long double difference = static_cast<long double>(second[k]) - first[k];
      const T in_type = second[k] - first[k];
      is_judged = is_judged && !overflows(in_type, difference);
      is_judged = is_judged && (has_distance || !overflows(weight * in_type, weight * difference));
      of_component[k] = difference;
      square += difference * difference;
      square_in_type += in_type * in_type;
    }
    if (!has_distance) {
      for (std::uint32_t k = 0; k < components; ++k) of_component[k] *= weight;
      lose_below_normal(weight, 0);
      return;
    }
    if (square_in_type == 0) {  // 0 by definition, whatever the weight
      of_component.fill(0);
      return;
    }
    using limits = std::numeric_limits<T>;
    constexpr long double least = limits::min() / limits::epsilon();  // below it squares lose digits
    is_judged = is_judged && !(square < least) && !overflows(square_in_type, square) &&
                !overflows(weight / square_in_type, weight / square);
    for (std::uint32_t k = 0; k < components; ++k) {
      of_component[k] = weight / square * (of_component[k] * (1 / std::sqrt(square)));
    }
    lose_below_normal(weight, square);
  }

  // A step that ends below the least normal number may lose as much, times what the steps behind it multiply by.
  void lose_below_normal(T weight, long double square) {
    constexpr long double least = std::numeric_limits<T>::min();
    const long double size = std::abs(static_cast<long double>(weight));
    const long double behind = square == 0 ? size : size / square * (1 + 1 / std::sqrt(square));
    underflow = 4 * least * (1 + behind);
    if (size >= least) return;
    for (const long double term : of_component) underflow += std::abs(term);
  }
};

template <class T>
std::vector<exact_sum> sums_of(const edge_view& edges, const T* values, const T* weights, std::uint64_t nodes,
                               std::uint32_t components, edge_function function) {
  const reference::index_reader first({edges.first, edges.count * edges.stride, edges.type}, nodes);
  const reference::index_reader second({edges.second, edges.count * edges.stride, edges.type}, nodes);
  std::vector<exact_sum> sums(nodes * components);
  io::progress_step step("verifying edges", io::progress_unit::items, static_cast<double>(edges.count));
  for (std::uint64_t e = 0; e < edges.count; ++e, step.add(1)) {
    const std::uint64_t i = first.bits(e * edges.stride) * components;
    const std::uint64_t j = second.bits(e * edges.stride) * components;
    const edge_terms<T> terms(values + i, values + j, weights == nullptr ? T{1} : weights[e], components, function);
    for (std::uint32_t k = 0; k < components; ++k) {
      for (const auto& [at, sign] : {std::pair{i + k, 1}, std::pair{j + k, -1}}) {
        sums[at].take(sign * terms.of_component[k], terms.underflow);
        sums[at].is_judged = sums[at].is_judged && terms.is_judged;
      }
    }
  }
  return sums;
}

/// body(T{}) of a type of values.
template <class Body>
auto with_float_type(value_type type, Body body) {
  return type == value_type::f32 ? body(float{}) : body(double{});
}

}  // namespace

struct exact_edge_sums::all_sums {
  std::vector<exact_sum> of;
  std::uint32_t components;
  value_type type;

  void require_shape(const const_values& result) const {
    if (result.type == type && result.count == of.size()) return;
    io::throw_error(error_code::internal, "{} sums are checked by {} of another kind", result.count, of.size());
  }
};

exact_edge_sums::exact_edge_sums(const edge_view& edges, const_values node_values, const_values weights,
                                 std::uint32_t components, edge_function function)
    : sums_(std::make_unique<all_sums>()) {
  sums_->components = components;
  sums_->type = node_values.type;
  sums_->of = with_float_type(node_values.type, [&](auto zero) {
    using T = decltype(zero);
    const T* const weight = weights.count == 0 ? nullptr : static_cast<const T*>(weights.data);
    return sums_of<T>(edges, static_cast<const T*>(node_values.data), weight, node_values.count / components,
                      components, function);
  });
}
exact_edge_sums::~exact_edge_sums() = default;
exact_edge_sums::exact_edge_sums(exact_edge_sums&&) noexcept = default;
exact_edge_sums& exact_edge_sums::operator=(exact_edge_sums&&) noexcept = default;

std::optional<std::string> exact_edge_sums::mistake(const_values result) const {
  sums_->require_shape(result);
  return with_float_type(result.type, [&](auto zero) -> std::optional<std::string> {
    const auto* const found = static_cast<const decltype(zero)*>(result.data);
    for (std::uint64_t at = 0; at < sums_->of.size(); ++at) {
      const exact_sum& sum = sums_->of[at];
      if (explains(sum, found[at])) continue;
      return fmt::format("component {} of node {} is {}, but the sum of its {} terms is {}", at % sums_->components,
                         at / sums_->components, found[at], sum.terms, static_cast<double>(sum.sum));
    }
    return std::nullopt;
  });
}

double exact_edge_sums::largest_error(const_values result) const {
  sums_->require_shape(result);
  return with_float_type(result.type, [&](auto zero) {
    const auto* const found = static_cast<const decltype(zero)*>(result.data);
    long double largest = 0;
    long double largest_error = 0;
    for (std::uint64_t at = 0; at < sums_->of.size(); ++at) {
      largest = std::max(largest, std::abs(sums_->of[at].sum));
      largest_error = std::max(largest_error, std::abs(sums_->of[at].sum - found[at]));
    }
    return largest > 0 ? static_cast<double>(largest_error / largest) : 0.0;
  });
}

std::optional<std::string> edge_sum_mistake(const edge_view& edges, const_values node_values, const_values weights,
                                            const_values result, std::uint32_t components, edge_function function) {
  return exact_edge_sums(edges, node_values, weights, components, function).mistake(result);
}

}  // namespace sheaf::jobs
