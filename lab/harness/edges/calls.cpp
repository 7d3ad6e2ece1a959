#include "lab/harness/edges/calls.hpp"

#include <fmt/format.h>

#include "apps/sheaf/checks/edges.hpp"
#include "lab/description/edges/problem.hpp"
#include "lab/harness/placed.hpp"
#include "lab/harness/problem.hpp"
#include "lab/inputs/pattern_function.hpp"
#include "lab/peers/contenders.hpp"
#include "primitives/edges/prepare.hpp"

namespace sheaf::bench {
namespace {

template <class Value>
std::vector<Value> values_of_nodes(const edge_input& in, std::uint32_t components) {
  std::vector<Value> all(in.nodes * components);
  for (std::uint64_t i = 0; i < in.nodes; ++i) {
    for (std::uint32_t k = 0; k < components; ++k) {
      const double made = static_cast<double>(inputs::mix(i * components + k) >> 40) / (1 << 24) - 0.5;
      const double value = k < in.dimensions ? in.coordinates[i * in.dimensions + k] : made;
      all[i * components + k] = static_cast<Value>(value);
    }
  }
  return all;
}

}  // namespace

/// A graph, what its nodes hold, and the exact sums, which all calls are judged by.
template <class Value>
struct judged_edges {
  judged_edges(std::shared_ptr<const edge_input> in, const edge_terms& t)
      : input(std::move(in)),
        terms(t),
        values_of(values_of_nodes<Value>(*input, terms.components)),
        exact(edge_view(index_span{input->edges.data(), 2 * input->edges.size(), index_type::u32}), values_of,
              {nullptr, 0, value_type_of<Value>()}, terms.components, terms.function) {}

  std::shared_ptr<const edge_input> input;
  edge_terms terms;
  std::vector<Value> values_of;
  jobs::exact_edge_sums exact;
};

namespace {

/// That in the memory of a context, and a result.
template <class Value>
struct placed_sum {
  placed_sum(const context& ctx, std::shared_ptr<const judged_edges<Value>> in)
      : judged(std::move(in)),
        input(judged->input),
        terms(judged->terms),
        ends(ctx, input->edges.data(), input->edges.size()),
        places(ctx, input->coordinates.data(), input->coordinates.size()),
        placed_values(ctx, judged->values_of.data(), judged->values_of.size()),
        result(ctx, judged->values_of.size()) {}

  static constexpr value_type type = value_type_of<Value>();

  edge_view edges() const { return edge_view(index_span{ends.data(), 2 * input->edges.size(), index_type::u32}); }
  const_values coordinates() const { return {places.data(), input->coordinates.size(), value_type::f64}; }
  const_values from() const { return {placed_values.data(), judged->values_of.size(), type}; }
  const_values weights() const { return {nullptr, 0, type}; }
  values to() const { return result.view(); }

  std::optional<std::string> mistake(const std::function<void()>& run) {
    result.wipe();
    run();
    return judged->exact.mistake(result.read());
  }
  double largest_error() { return judged->exact.largest_error(result.on_host()); }

  std::shared_ptr<const judged_edges<Value>> judged;
  std::shared_ptr<const edge_input> input;
  edge_terms terms;
  placed_array<mesh::edge> ends;
  placed_array<double> places;
  placed_array<Value> placed_values;
  placed_result<Value> result;
};

/// The problem that a sum over this graph is.
problem problem_of(const edge_input& in, const edge_terms& terms, value_type type) {
  const problem problem{.primitive = "edge_sum",
                        .pattern = {primitives::pattern_kind::uniform},
                        .record_bytes = terms.components * bytes(type),
                        .index = index_type::u32,
                        .count = in.edges.size(),
                        .value = type,
                        .table = in.nodes};
  return problem.with(primitives::edge_part{.function = terms.function, .is_packed = true});
}

/// The arrays of a sum as the job of edge_sum has them, and the problem that they are.
template <class Value>
std::pair<problem, jobs::array_set> as_job(const placed_sum<Value>& of) {
  const problem problem = problem_of(*of.input, of.terms, placed_sum<Value>::type);
  jobs::array_set arrays;
  arrays[jobs::places::index] =
      records(const_cast<mesh::edge*>(of.ends.data()), 2 * of.input->edges.size(), sizeof(std::uint32_t));
  arrays[jobs::places::source] =
      records(const_cast<Value*>(of.placed_values.data()), of.input->nodes, problem.record_bytes);
  arrays[jobs::places::target] = records(of.to().data, of.input->nodes, problem.record_bytes);
  return {problem, arrays};
}

/// A loop that is not a call of ours.
template <class Value>
void add_loop(const call_place& place, const char* who, std::shared_ptr<placed_sum<Value>> of,
              std::function<void()> loop, std::vector<timed_call>& all) {
  all.push_back(call_on(place, who, std::move(of), std::move(loop)));
  all.back().is_ours = false;
}

}  // namespace

std::uint64_t moved_bytes(const edge_input& in, const edge_terms& terms, std::uint64_t value_bytes) {
  const problem p = problem_of(in, terms, value_bytes == 8 ? value_type::f64 : value_type::f32);
  return jobs::job_of(p).moved_bytes(p);
}

template <class Value>
std::shared_ptr<const judged_edges<Value>> judge_edges(std::shared_ptr<const edge_input> input,
                                                       const edge_terms& terms) {
  return std::make_shared<const judged_edges<Value>>(std::move(input), terms);
}

template <class Value>
void add_edge_calls(const call_place& place, std::shared_ptr<const judged_edges<Value>> input,
                    std::vector<timed_call>& all) {
  const context& ctx = place.ctx;
  const auto [of, copying] = placed_in_time<placed_sum<Value>>(ctx, input);
  const edge_terms terms = of->terms;
  const explanation why =
      explain_edge_sum(ctx, of->edges(), of->from(), of->weights(), of->to(), terms.components, terms.function);
  const auto call = [ctx, of = of](const std::string& variant) {
    edge_sum(ctx, of->edges(), of->from(), of->weights(), of->to(), of->terms.components, of->terms.function,
             {.variant = variant});
  };
  add_unprepared<placed_sum<Value>>(place, of, copying, why.variants, call, all);
  const auto prepare = [&, of = of](std::string_view variant) {
    return prepare_edge_sum(ctx, of->edges(), of->input->nodes, terms.components, expected_runs,
                            {.coordinates = of->coordinates(),
                             .value = placed_sum<Value>::type,
                             .function = terms.function,
                             .variant = variant});
  };
  const auto run = [of = of](const prepared_edge_sum& prepared) {
    prepared.run(of->from(), of->weights(), of->to(), of->terms.function);
  };
  const auto name_of = [](const prepared_edge_sum& prepared, std::string_view variant) {
    const std::string& runs = prepared.report().run_variant;
    return runs == variant ? runs : fmt::format("{} as {}", variant, runs);
  };
  add_prepared(place, of, copying, primitives::prepare_edge_sum_variants(), prepare, name_of, run, all);
}

template <class Value>
void add_plain_edges(const std::string& where, std::shared_ptr<const judged_edges<Value>> input,
                     std::vector<timed_call>& all) {
  const call_place place{where, context::cpu(1)};
  const auto of = std::make_shared<placed_sum<Value>>(place.ctx, std::move(input));
  const auto [p, arrays] = as_job(*of);
  add_loop<Value>(place, "plain loop", of, jobs::job_of(p).plain_loop(place.ctx, p, arrays), all);
}

template <class Value>
void add_atomic_edges([[maybe_unused]] const call_place& place, const context& cpu,
                      std::shared_ptr<const judged_edges<Value>> input, std::vector<timed_call>& all) {
#if SHEAF_HAS_CUDA
  if (place.ctx.backend() == backend_kind::cuda) {
    const auto of = std::make_shared<placed_sum<Value>>(place.ctx, std::move(input));
    const auto [p, arrays] = as_job(*of);
    std::function<void()> kernel = peers::device::atomic_edge_kernel(place.ctx, p, arrays);
    if (kernel) add_loop<Value>(place, "kernel of atomics", of, std::move(kernel), all);
    return;
  }
#endif
  const call_place threads{fmt::format("{} threads", cpu.threads()), cpu};
  const auto of = std::make_shared<placed_sum<Value>>(cpu, std::move(input));
  const auto [p, arrays] = as_job(*of);
  add_loop<Value>(threads, "atomic loop", of, peers::host::atomic_edge_loop(p, cpu.threads(), arrays), all);
}

template std::shared_ptr<const judged_edges<float>> judge_edges(std::shared_ptr<const edge_input>, const edge_terms&);
template void add_edge_calls<float>(const call_place&, std::shared_ptr<const judged_edges<float>>,
                                    std::vector<timed_call>&);
template void add_plain_edges<float>(const std::string&, std::shared_ptr<const judged_edges<float>>,
                                     std::vector<timed_call>&);
template void add_atomic_edges<float>(const call_place&, const context&, std::shared_ptr<const judged_edges<float>>,
                                      std::vector<timed_call>&);
template std::shared_ptr<const judged_edges<double>> judge_edges(std::shared_ptr<const edge_input>, const edge_terms&);
template void add_edge_calls<double>(const call_place&, std::shared_ptr<const judged_edges<double>>,
                                     std::vector<timed_call>&);
template void add_plain_edges<double>(const std::string&, std::shared_ptr<const judged_edges<double>>,
                                      std::vector<timed_call>&);
template void add_atomic_edges<double>(const call_place&, const context&, std::shared_ptr<const judged_edges<double>>,
                                       std::vector<timed_call>&);

}  // namespace sheaf::bench
