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
void contribute(const edge_sum_problem& problem, const T* first, const T* second, const T* weight, T* out) {
  const T factor = weight == nullptr ? T{1} : *weight;
  if (problem.function == edge_function::weighted_difference) {
    for (std::uint32_t k = 0; k < problem.components; ++k) out[k] = factor * (second[k] - first[k]);
    return;
  }
  T square = 0;
  for (std::uint32_t k = 0; k < problem.components; ++k) square += (second[k] - first[k]) * (second[k] - first[k]);
  for (std::uint32_t k = 0; k < problem.components; ++k) {
    out[k] = square == 0 ? T{0} : (factor / square) * ((second[k] - first[k]) * (T{1} / std::sqrt(square)));
  }
}

template <class T>
void sum(const edge_sum_problem& problem, const edge_sum_buffers& buffers, std::uint64_t call,
         core::index_report& first_bad) {
  const index_span first{buffers.edges.first, problem.edges * problem.stride, problem.index};
  const index_span second{buffers.edges.second, problem.edges * problem.stride, problem.index};
  const index_reader from(first, problem.nodes);
  const index_reader to(second, problem.nodes);
  const T* const values = static_cast<const T*>(buffers.values);
  const T* const weights = static_cast<const T*>(buffers.weights);
  T* const result = static_cast<T*>(buffers.result);
  std::fill_n(result, problem.nodes * problem.components, T{0});
  for (std::uint64_t e = 0; e < problem.edges; ++e) {
    if (!from.in_range(e * problem.stride) || !to.in_range(e * problem.stride)) {
      if (!first_bad.found()) first_bad = bad_end_of(problem, buffers.edges, e, primitives::edge_call::edge_sum, call);
      continue;
    }
    const std::uint64_t i = from.bits(e * problem.stride);
    const std::uint64_t j = to.bits(e * problem.stride);
    const T* const weight = weights == nullptr ? nullptr : weights + e * problem.weight_components;
    if (buffers.on_host != nullptr) {
      const detail::host_edge_list one{1, &i, &j, 1, 8, weight, problem.weight_components, nullptr};
      buffers.on_host->sum(buffers.on_host->function, one, values, result, {0, problem.nodes}, true);
      continue;
    }
    T out[most_edge_components];
    contribute(problem, values + i * problem.value_components, values + j * problem.value_components, weight, out);
    for (std::uint32_t k = 0; k < problem.components; ++k) result[i * problem.components + k] += out[k];
    for (std::uint32_t k = 0; k < problem.components; ++k) result[j * problem.components + k] -= out[k];
  }
}

void run_serial(const context& ctx, const edge_sum_problem& problem, const plan::planned&,
                const edge_sum_buffers& buffers, std::byte*) {
  core::cpu_state& state = core::cpu(ctx);
  const std::uint64_t call = state.begin_call();
  core::index_report first_bad;
  if (problem.value == value_type::f64) {
    sum<double>(problem, buffers, call, first_bad);
  } else {
    sum<float>(problem, buffers, call, first_bad);
  }
  if (first_bad.found()) state.keep_first(first_bad);
}

}  // namespace

extern constinit const primitives::edge_sum_variant edge_sum_serial{"reference.serial", backend_kind::cpu, plan_serial,
                                                                    run_serial};

}  // namespace sheaf::reference
