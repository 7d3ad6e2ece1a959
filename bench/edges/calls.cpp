#include "bench/edges/calls.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <utility>

#include <sheaf/error.hpp>

#include "bench/harness/placed_array.hpp"
#include "bench/harness/problem.hpp"
#include "bench/peers/edges.hpp"
#include "inputs/pattern_function.hpp"
#include "jobs/checks/edges.hpp"
#include "jobs/generated/job.hpp"
#include "primitives/edges/prepare.hpp"

namespace sheaf::bench {
namespace {

constexpr std::uint64_t expected_runs = 1000;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

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

/// The largest difference from long sums, over the largest of these.
template <class Value>
double error_of(const edge_input& in, const edge_terms& terms, const std::vector<Value>& values,
                const std::vector<Value>& result) {
  const std::uint32_t components = terms.components;
  std::vector<long double> exact(result.size());
  for (const mesh::edge& e : in.edges) {
    long double step[most_edge_components];
    long double square = 0;
    for (std::uint32_t k = 0; k < components; ++k) {
      step[k] = static_cast<long double>(values[std::uint64_t{e.second} * components + k]) -
                values[std::uint64_t{e.first} * components + k];
      square += step[k] * step[k];
    }
    long double factor = 1;
    if (terms.function == edge_function::inverse_square) factor = square == 0 ? 0 : 1 / (square * std::sqrt(square));
    for (std::uint32_t k = 0; k < components; ++k) {
      exact[std::uint64_t{e.first} * components + k] += factor * step[k];
      exact[std::uint64_t{e.second} * components + k] -= factor * step[k];
    }
  }
  long double largest = 0;
  long double largest_error = 0;
  for (std::uint64_t i = 0; i < exact.size(); ++i) {
    largest = std::max(largest, std::abs(exact[i]));
    largest_error = std::max(largest_error, std::abs(exact[i] - result[i]));
  }
  return largest > 0 ? static_cast<double>(largest_error / largest) : 0;
}

/// A graph and what nodes hold, in the memory of a context.
template <class Value>
struct placed_sum {
  placed_sum(const context& c, std::shared_ptr<const edge_input> in, const edge_terms& t)
      : ctx(c),
        input(std::move(in)),
        terms(t),
        values_of(values_of_nodes<Value>(*input, terms.components)),
        result(values_of.size()),
        ends(ctx, input->edges.data(), input->edges.size()),
        places(ctx, input->coordinates.data(), input->coordinates.size()),
        placed_values(ctx, values_of.data(), values_of.size()),
        placed_result(ctx, result.data(), result.size()) {}
  placed_sum(const placed_sum&) = delete;
  placed_sum& operator=(const placed_sum&) = delete;

  static constexpr value_type type = value_type_of<Value>();

  edge_view edges() const { return edge_view(index_span{ends.data(), 2 * input->edges.size(), index_type::u32}); }
  const_values coordinates() const { return {places.data(), input->coordinates.size(), value_type::f64}; }
  const_values from() const { return {placed_values.data(), values_of.size(), type}; }
  const_values weights() const { return {nullptr, 0, type}; }
  values to() const { return {const_cast<Value*>(placed_result.data()), result.size(), type}; }

  std::optional<std::string> mistake(const std::function<void()>& run) {
    std::fill(result.begin(), result.end(), std::numeric_limits<Value>::quiet_NaN());
    const bool is_copied = placed_result.data() != result.data();
    if (is_copied) copy_bytes(ctx, to().data, result.data(), result.size() * sizeof(Value));
    run();
    ctx.wait();
    if (is_copied) copy_bytes(ctx, result.data(), to().data, result.size() * sizeof(Value));
    const edge_view in_host(index_span{input->edges.data(), 2 * input->edges.size(), index_type::u32});
    return jobs::edge_sum_mistake(in_host, values_of, weights(), result, terms.components, terms.function);
  }

  context ctx;
  std::shared_ptr<const edge_input> input;
  edge_terms terms;
  std::vector<Value> values_of;
  std::vector<Value> result;
  placed_array<mesh::edge> ends;
  placed_array<double> places;
  placed_array<Value> placed_values;
  placed_array<Value> placed_result;
};

template <class Value>
timed_call call_of(const call_place& place, const std::string& who, std::shared_ptr<placed_sum<Value>> of,
                   std::function<void()> run) {
  return {.where = place.name,
          .who = who,
          .backend = place.ctx.backend(),
          .run = run,
          .wait = [ctx = place.ctx] { ctx.wait(); },
          .mistake = [of, run] { return of->mistake(run); },
          .largest_error = [of] { return error_of(*of->input, of->terms, of->values_of, of->result); }};
}

/// The preparation by a variant, and the least time that it took; none where the variant cannot run.
template <class Value>
std::optional<std::pair<prepared_edge_sum, double>> loaded(const call_place& place, const placed_sum<Value>& of,
                                                           std::string_view variant) {
  try {
    std::optional<prepared_edge_sum> made;
    double seconds = std::numeric_limits<double>::infinity();
    // The first one warms up: it compiles shaders, and touches memory first.
    for (int i = 0; i <= place.loadings; ++i) {
      made.reset();
      made.emplace(prepare_edge_sum(place.ctx, of.edges(), of.input->nodes, of.terms.components, expected_runs,
                                    {.coordinates = of.coordinates(),
                                     .value = placed_sum<Value>::type,
                                     .function = of.terms.function,
                                     .variant = variant}));
      seconds = std::min(seconds, made->report().preparation_seconds);
    }
    return std::pair{std::move(*made), seconds};
  } catch (const error& e) {
    if (e.code() != error_code::no_variant && e.code() != error_code::out_of_memory) throw;
  }
  return std::nullopt;
}

/// The problem that a sum over this graph is.
problem problem_of(const edge_input& in, const edge_terms& terms, value_type type) {
  return {.primitive = "edge_sum",
          .pattern = {primitives::pattern_kind::uniform},
          .record_bytes = terms.components * bytes(type),
          .index = index_type::u32,
          .count = in.edges.size(),
          .value = type,
          .table = in.nodes,
          .is_packed = true,
          .of_edges = terms.function};
}

/// The arrays of a sum in host memory as the job of edge_sum has them, and the problem that they are.
template <class Value>
std::pair<problem, jobs::array_set> as_job(placed_sum<Value>& of) {
  const problem p = problem_of(*of.input, of.terms, placed_sum<Value>::type);
  jobs::array_set arrays;
  arrays[jobs::places::index] =
      records(const_cast<mesh::edge*>(of.input->edges.data()), 2 * of.input->edges.size(), sizeof(std::uint32_t));
  arrays[jobs::places::source] = records(of.values_of.data(), of.input->nodes, p.record_bytes);
  arrays[jobs::places::target] = records(of.result.data(), of.input->nodes, p.record_bytes);
  return {p, arrays};
}

}  // namespace

std::uint64_t moved_bytes(const edge_input& in, const edge_terms& terms, std::uint64_t value_bytes) {
  const problem p = problem_of(in, terms, value_bytes == 8 ? value_type::f64 : value_type::f32);
  return jobs::job_of(p).moved_bytes(p);
}

template <class Value>
void add_edge_calls(const call_place& place, std::shared_ptr<const edge_input> input, const edge_terms& terms,
                    std::vector<timed_call>& all) {
  const context& ctx = place.ctx;
  auto of = std::make_shared<placed_sum<Value>>(ctx, input, terms);
  double copying = 0;
  if (!core::backend_of(ctx.backend()).uses_host_memory) {
    const double begin = now();
    of = std::make_shared<placed_sum<Value>>(ctx, input, terms);
    copying = now() - begin;
  }
  const explanation why =
      explain_edge_sum(ctx, of->edges(), of->from(), of->weights(), of->to(), terms.components, terms.function);
  for (const variant_estimate& v : why.variants) {
    if (!v.applicable || v.variant.starts_with("reference.")) continue;
    const auto run = [ctx, of, name = v.variant] {
      edge_sum(ctx, of->edges(), of->from(), of->weights(), of->to(), of->terms.components, of->terms.function,
               {.variant = name});
    };
    all.push_back(call_of<Value>(place, v.variant, of, run));
    all.back().loading_seconds = copying;
  }
  for (const primitives::prepare_edge_sum_variant& v : primitives::prepare_edge_sum_variants()) {
    if (!v.works_on(ctx.backend()) || v.name == "kept") continue;  // runs of "kept" are the calls above
    auto made = loaded(place, *of, v.name);
    if (!made) continue;
    const auto prepared = std::make_shared<prepared_edge_sum>(std::move(made->first));
    const auto run = [of, prepared] { prepared->run(of->from(), of->weights(), of->to(), of->terms.function); };
    all.push_back(call_of<Value>(place, std::string(v.name), of, run));
    all.back().is_prepared = true;
    all.back().loading_seconds = copying + made->second;
    all.back().kept_bytes = prepared->report().kept_bytes;
  }
}

template <class Value>
void add_plain_edges(const std::string& where, std::shared_ptr<const edge_input> input, const edge_terms& terms,
                     std::vector<timed_call>& all) {
  const call_place place{where, context::cpu(1)};
  const auto of = std::make_shared<placed_sum<Value>>(place.ctx, input, terms);
  const auto [p, arrays] = as_job(*of);
  all.push_back(call_of<Value>(place, "plain loop", of, jobs::job_of(p).plain_loop(place.ctx, p, arrays)));
  all.back().is_ours = false;
}

template <class Value>
void add_atomic_edges(const call_place& place, std::shared_ptr<const edge_input> input, const edge_terms& terms,
                      std::vector<timed_call>& all) {
  const auto of = std::make_shared<placed_sum<Value>>(place.ctx, input, terms);
  const auto [p, arrays] = as_job(*of);
  all.push_back(
      call_of<Value>(place, "atomic loop", of, peers::host::atomic_edge_loop(p, place.ctx.threads(), arrays)));
  all.back().is_ours = false;
}

template void add_edge_calls<float>(const call_place&, std::shared_ptr<const edge_input>, const edge_terms&,
                                    std::vector<timed_call>&);
template void add_edge_calls<double>(const call_place&, std::shared_ptr<const edge_input>, const edge_terms&,
                                     std::vector<timed_call>&);
template void add_plain_edges<float>(const std::string&, std::shared_ptr<const edge_input>, const edge_terms&,
                                     std::vector<timed_call>&);
template void add_plain_edges<double>(const std::string&, std::shared_ptr<const edge_input>, const edge_terms&,
                                      std::vector<timed_call>&);
template void add_atomic_edges<float>(const call_place&, std::shared_ptr<const edge_input>, const edge_terms&,
                                      std::vector<timed_call>&);
template void add_atomic_edges<double>(const call_place&, std::shared_ptr<const edge_input>, const edge_terms&,
                                       std::vector<timed_call>&);

}  // namespace sheaf::bench
