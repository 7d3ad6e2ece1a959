#include <cmath>

#include "core/cpu_state.hpp"
#include "primitives/edges/edge_sum.hpp"
#include "primitives/index_reader.hpp"

namespace sheaf::reference {
namespace {

using primitives::edge_sum_buffers;
using primitives::edge_sum_problem;

// Edge after edge, each added to its first end and subtracted from its second.
plan::planned plan_serial(const edge_sum_problem& p, const plan::scope& scope) {
  return plan::serial(static_cast<double>(4 * p.edges + p.nodes), scope);
}

/// What an edge contributes by one of the built-in functions.
template <class T>
void contribute(const edge_sum_problem& p, const T* first, const T* second, const T* weight, T* out) {
  const T w = weight == nullptr ? T{1} : *weight;
  if (p.function == edge_function::weighted_difference) {
    for (std::uint32_t k = 0; k < p.components; ++k) out[k] = w * (second[k] - first[k]);
    return;
  }
  T square = 0;
  for (std::uint32_t k = 0; k < p.components; ++k) square += (second[k] - first[k]) * (second[k] - first[k]);
  for (std::uint32_t k = 0; k < p.components; ++k) {
    out[k] = square == 0 ? T{0} : (w / square) * ((second[k] - first[k]) * (T{1} / std::sqrt(square)));
  }
}

template <class T>
void sum(const edge_sum_problem& p, const edge_sum_buffers& b, std::uint64_t call, core::index_report& first_bad) {
  const index_span first{b.edges.first, p.edges * p.stride, p.index};
  const index_span second{b.edges.second, p.edges * p.stride, p.index};
  const index_reader from(first, p.nodes);
  const index_reader to(second, p.nodes);
  const T* const values = static_cast<const T*>(b.values);
  const T* const weights = static_cast<const T*>(b.weights);
  T* const result = static_cast<T*>(b.result);
  std::fill_n(result, p.nodes * p.components, T{0});
  for (std::uint64_t e = 0; e < p.edges; ++e) {
    if (!from.in_range(e * p.stride) || !to.in_range(e * p.stride)) {
      if (!first_bad.found()) first_bad = bad_end_of(p, b.edges, e, primitives::edge_call::edge_sum, call);
      continue;
    }
    const std::uint64_t i = from.bits(e * p.stride);
    const std::uint64_t j = to.bits(e * p.stride);
    const T* const weight = weights == nullptr ? nullptr : weights + e * p.weight_components;
    if (b.on_host != nullptr) {
      const detail::host_edge_list one{1, &i, &j, 1, 8, weight, p.weight_components, nullptr};
      b.on_host->sum(b.on_host->f, one, values, result, {0, p.nodes}, true);
      continue;
    }
    T out[most_edge_components];
    contribute(p, values + i * p.value_components, values + j * p.value_components, weight, out);
    for (std::uint32_t k = 0; k < p.components; ++k) result[i * p.components + k] += out[k];
    for (std::uint32_t k = 0; k < p.components; ++k) result[j * p.components + k] -= out[k];
  }
}

void run_serial(const context& ctx, const edge_sum_problem& p, const plan::planned&, const edge_sum_buffers& b,
                std::byte*) {
  core::cpu_state& state = core::cpu(ctx);
  const std::uint64_t call = state.begin_call();
  core::index_report first_bad;
  if (p.value == value_type::f64) {
    sum<double>(p, b, call, first_bad);
  } else {
    sum<float>(p, b, call, first_bad);
  }
  if (first_bad.found()) state.keep_first(first_bad);
}

}  // namespace

extern constinit const primitives::edge_sum_variant edge_sum_serial{"reference.serial", backend_kind::cpu, plan_serial,
                                                                    run_serial};

}  // namespace sheaf::reference
