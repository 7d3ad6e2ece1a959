#include "primitives/edges/prepare.hpp"

#include "plan/choose.hpp"
#include "primitives/backends.hpp"
#include "primitives/timed_runs.hpp"
#include "primitives/views.hpp"

namespace sheaf {
namespace primitives {
namespace {

using sum_choice = plan::choice<edge_sum_variant>;

/// The sum that each run would be without a preparation, planned.
sum_choice plan_unprepared(const edge_sum_problem& p, const plan::scope& in) {
  return plan::cheapest(edge_sum_variants(), p, p.backend, in, plan::forced_name(edge_sum_call, {}, in.context));
}

class kept_edges final : public prepared_edges {
 public:
  /// @param chosen  has a variant
  kept_edges(const edge_sum_problem& p, sum_choice chosen, const edge_view& edges)
      : problem_(p), chosen_(std::move(chosen)), edges_(edges) {}

  void run(const context& ctx, const edge_sum_problem& p, const edge_sum_buffers& b) override {
    edge_sum_buffers buffers = b;
    buffers.edges = edges_;
    if (p == problem_ && run_as_planned(ctx, chosen_, p, buffers)) return;
    plan::execute(edge_sum_call, edge_sum_variants(), p, ctx, {}, buffers);
  }
  std::uint64_t kept_bytes() const override { return 0; }
  std::string_view run_variant() const override { return chosen_.variant->name; }

 private:
  edge_sum_problem problem_;
  sum_choice chosen_;
  edge_view edges_;
};

plan::planned plan_kept(const prepare_edge_sum_problem& p, const plan::scope& scope) {
  const auto run = std::make_shared<sum_choice>(plan_unprepared(p.sum, scope));
  if (run->variant == nullptr) return plan::rejected("no variant can do a run within the context's limits");
  plan::planned plan;
  plan.add("runs", static_cast<double>(p.expected_runs) * run->plan.seconds);
  plan.decided.set(prepare_edge_sum_decision{run->plan.seconds});
  plan.inner_calls = run;
  return plan;
}

void run_kept(const context&, const prepare_edge_sum_problem& p, const plan::planned& plan,
              const prepare_edge_sum_buffers& b, std::byte*) {
  *b.made = std::make_shared<kept_edges>(p.sum, plan.inner<sum_choice>(), b.edges);
}

}  // namespace
}  // namespace primitives

namespace reference {
extern constinit const primitives::prepare_edge_sum_variant prepare_edge_sum_kept{
    primitives::kept_name, std::nullopt, primitives::plan_kept, primitives::run_kept};
}

namespace primitives {

std::span<const prepare_edge_sum_variant> prepare_edge_sum_variants() { return list_of<prepare_edge_sum_variant>(); }

namespace {

using made_edges = made_executor<prepared_edges, edge_sum_preparation>;

/// Predicted seconds of a run of the executor that was made, which may be that of another preparation than `planned`.
double predicted_run_seconds(const context& ctx, const prepare_edge_sum_problem& problem, const prepared_edges& work,
                             std::string_view planned, double planned_seconds) {
  if (work.run_variant() == planned) return planned_seconds;
  for (const prepare_edge_sum_variant& v : prepare_edge_sum_variants()) {
    if (v.name != work.run_variant()) continue;
    const plan::planned plan = v.plan(problem, plan::scope_of(ctx));
    if (plan.applicable()) return plan.decided.get<prepare_edge_sum_decision>().run_seconds;
  }
  return planned_seconds;
}

/// Values of which neighbours differ, for sums that are timed: differences of zeros, their roots and their quotients
/// may take a processor less time. The numbers are between 1 and 2; a prime number of them repeats.
/// @param type  f32 or f64. @throws error(out_of_memory)
buffer values_to_time(const context& ctx, std::uint64_t count, value_type type) {
  constexpr std::uint64_t different = 1021;
  buffer made(ctx, std::max<std::uint64_t>(1, count) * bytes(type));
  alignas(8) std::byte first[different * sizeof(double)];
  for (std::uint64_t i = 0; i < different; ++i) {
    const double number = 1 + static_cast<double>(i * 388 % different) / different;
    const auto narrow = static_cast<float>(number);
    if (type == value_type::f64) {
      std::memcpy(first + i * sizeof number, &number, sizeof number);
    } else {
      std::memcpy(first + i * sizeof narrow, &narrow, sizeof narrow);
    }
  }
  std::uint64_t filled = std::min(made.size(), different * bytes(type));
  ctx.state().copy(made.data(), first, filled);
  while (filled < made.size()) {
    const std::uint64_t more = std::min(filled, made.size() - filled);
    ctx.state().copy(made.data() + filled, made.data(), more);
    filled += more;
  }
  return made;
}

/// Times the executor that was made and the unprepared sum, and keeps the faster.
void time_and_keep(const context& ctx, const prepare_edge_sum_problem& problem, const edge_view& edges,
                   made_edges& made) {
  sum_choice unprepared = plan_unprepared(problem.sum, plan::scope_of(ctx));
  if (unprepared.variant == nullptr) return;
  const auto kept = std::make_shared<kept_edges>(problem.sum, std::move(unprepared), edges);
  const edge_sum_problem& s = problem.sum;
  const buffer node_values = values_to_time(ctx, s.nodes * s.value_components, s.value);
  const buffer weights =
      s.weight_components > 0 ? values_to_time(ctx, s.edges * s.weight_components, s.value) : buffer();
  const buffer result(ctx, s.nodes * s.result_bytes());
  const edge_sum_buffers b{edges, node_values.data(), weights.data(), result.data(), nullptr, nullptr};
  const auto seconds_of = [&](prepared_edges& work) {
    return least_seconds_of_runs(ctx, [&] { work.run(ctx, problem.sum, b); })[0];
  };
  const double unprepared_seconds = seconds_of(*kept);
  keep_the_faster<prepared_edges>(made, kept, unprepared_seconds, seconds_of(*made.work));
}

made_edges prepare(const context& ctx, const prepare_edge_sum_problem& problem, const edge_view& edges,
                   const void* coordinates, std::string_view asked) {
  preparing<prepared_edges, edge_sum_preparation> made(ctx, prepare_edge_sum_call, asked);
  edge_sum_preparation& preparation = made.report;
  const auto [variant, plan] = made.inspect(prepare_edge_sum_variants(), problem, {edges, coordinates, &made.work});
  preparation.run_seconds = preparation.unprepared_seconds = predicted_run_seconds(
      ctx, problem, *made.work, variant->name, plan.decided.get<prepare_edge_sum_decision>().run_seconds);
  const sum_choice unprepared = plan_unprepared(problem.sum, plan::scope_of(ctx));
  if (unprepared.variant != nullptr) {
    preparation.unprepared_variant = unprepared.variant->name;
    preparation.unprepared_seconds = unprepared.plan.seconds;
    if (variant->name != kept_name && problem.sum.nodes > 0) {
      made.try_runs(problem.expected_runs,
                    problem.sum.nodes * (problem.sum.node_bytes() + problem.sum.result_bytes()) +
                        problem.sum.edges * problem.sum.weight_components * problem.sum.value_bytes(),
                    [&] { time_and_keep(ctx, problem, edges, made); });
    }
  }
  preparation.run_variant = made.work->run_variant();
  return made.finish();
}

}  // namespace

void checked_edges::run(const context& ctx, const edge_sum_problem& p, const edge_sum_buffers& b) {
  if (p.nodes == 0 && p.edges == 0) return;
  executor().run(ctx, p, b);
}

void checked_edges::run_views(const context& ctx, edge_sum_problem problem, const_values node_values,
                              const_values weights, values result, const detail::host_edge_function* on_host,
                              const detail::device_edge_function* on_device) {
  problem.value = node_values.type;
  problem.weight_components = weights_of_an_edge(prepared_edge_sum_call, problem.edges, weights);
  require_edge_values(prepared_edge_sum_call, problem, node_values, weights, result);
  require_edge_views(prepared_edge_sum_call, ctx, edges_, node_values, weights, result);
  edge_sum_buffers b{edges_, node_values.data, nullptr, result.data, on_host, on_device};
  if (problem.weight_components > 0) b.weights = weights.data;
  run(ctx, problem, b);
}

namespace {

/// The dimensions of the coordinates, whose type and number are checked.
std::uint32_t dimensions_of(const_values coordinates, std::uint64_t nodes) {
  constexpr std::string_view call = prepare_edge_sum_call;
  if (coordinates.count == 0) return 0;
  require_enumerator(call, "the type of the coordinates", coordinates.type, value_type::f64);
  if (coordinates.type != value_type::f32 && coordinates.type != value_type::f64) {
    refuse("{}: the coordinates are of an integer type, not f32 or f64", call);
  }
  if (coordinates.count != 2 * nodes && coordinates.count != 3 * nodes) {
    refuse("{}: {} coordinates for {} nodes, not 2 or 3 for each", call, coordinates.count, nodes);
  }
  return static_cast<std::uint32_t>(coordinates.count / nodes);
}

void require_coordinate_memory(const context& ctx, const_values coordinates) {
  constexpr std::string_view call = prepare_edge_sum_call;
  if (coordinates.count == 0) return;
  require_memory(call, ctx, coordinates.data, coordinates.count * bytes(coordinates.type), "the coordinates");
  require_aligned(call, coordinates.data, bytes(coordinates.type), "the coordinates");
}

/// The preparation of views of these shapes, which are checked.
prepare_edge_sum_problem describe(const context& ctx, const edge_view& edges, std::uint64_t nodes,
                                  std::uint32_t components, std::uint64_t expected_runs,
                                  const prepare_edge_sum_options& options) {
  constexpr std::string_view call = prepare_edge_sum_call;
  require_components(call, "a node", components);
  require_edge_shape(call, edges, nodes);
  require_enumerator(call, "the type of the values", options.value, value_type::f64);
  if (options.value != value_type::f32 && options.value != value_type::f64) {
    refuse("{}: the values are of an integer type, not f32 or f64", call);
  }
  require_enumerator(call, "the function", options.function, edge_function::inverse_square);
  if (options.edge_weights > most_edge_components) {
    refuse("{}: {} weights of an edge, not 0 to {}", call, options.edge_weights, most_edge_components);
  }
  require_enumerator(call, "the order", options.order, reduction_order::unordered);
  prepare_edge_sum_problem problem;
  problem.sum.backend = ctx.backend();
  problem.sum.edges = edges.count;
  problem.sum.nodes = nodes;
  problem.sum.value_components = problem.sum.components = components;
  problem.sum.weight_components = edges.count > 0 ? options.edge_weights : 0;
  problem.sum.value = options.value;
  problem.sum.function = options.function;
  problem.sum.index = edges.type;
  problem.sum.stride = edges.stride;
  problem.sum.order = options.order;
  problem.sum.pattern = options.pattern;
  problem.dimensions = dimensions_of(options.coordinates, nodes);
  problem.coordinate = options.coordinates.type;
  problem.expected_runs = std::max<std::uint64_t>(1, expected_runs);
  return problem;
}

}  // namespace
}  // namespace primitives

using namespace primitives;

prepared_edge_sum::prepared_edge_sum(const context& ctx, std::shared_ptr<prepared_edges> work,
                                     edge_sum_preparation report)
    : ctx_(ctx), work_(std::move(work)), report_(std::move(report)) {}

void prepared_edge_sum::run(const_values node_values, const_values weights, values result,
                            edge_function function) const {
  checked_edges& work = checked<checked_edges>(prepared_edge_sum_call, work_);
  require_enumerator(prepared_edge_sum_call, "the function", function, edge_function::inverse_square);
  edge_sum_problem problem = work.problem();
  if (weights.count != 0 && weights.count != problem.edges) {
    refuse("{}: weights has {} values for {} edges", prepared_edge_sum_call, weights.count, problem.edges);
  }
  problem.function = function;
  work.run_views(ctx_, problem, node_values, weights, result, nullptr, nullptr);
}

void prepared_edge_sum::run_by(const_values node_values, const_values weights, values result,
                               const detail::host_edge_function& function) const {
  checked_edges& work = checked<checked_edges>(prepared_edge_sum_call, work_);
  if (ctx_.backend() != backend_kind::cpu) {
    refuse("{}: a function of the caller's runs on a CPU context, not on {}", prepared_edge_sum_call,
           name(ctx_.backend()));
  }
  edge_sum_problem p = work.problem();
  p.has_own_function = true;
  p.value_components = function.value_components;
  p.components = function.components;
  work.run_views(ctx_, p, node_values, weights, result, &function, nullptr);
}

void detail::edge_sum_by(const prepared_edge_sum& prepared, const_values node_values, const_values weights,
                         values result, const device_edge_function& function, const device_edge_shape& shape) {
  checked_edges& work = checked<checked_edges>(prepared_edge_sum_call, prepared.work_);
  require_device_function(prepared_edge_sum_call, prepared.ctx_, shape, node_values.type);
  edge_sum_problem p = work.problem();
  p.has_own_function = true;
  p.value_components = shape.value_components;
  p.components = shape.components;
  work.run_views(prepared.ctx_, p, node_values, weights, result, nullptr, &function);
}

prepared_edge_sum prepare_edge_sum(const context& ctx, const edge_view& edges, std::uint64_t nodes,
                                   std::uint32_t components, std::uint64_t expected_runs,
                                   const prepare_edge_sum_options& options) {
  const prepare_edge_sum_problem problem = describe(ctx, edges, nodes, components, expected_runs, options);
  require_edge_memory(prepare_edge_sum_call, ctx, edges);
  require_coordinate_memory(ctx, options.coordinates);
  made_edges made =
      prepare(ctx, problem, edges, problem.dimensions == 0 ? nullptr : options.coordinates.data, options.variant);
  return {ctx, std::make_shared<checked_edges>(std::move(made.work), problem.sum, edges), std::move(made.report)};
}

explanation explain_prepare_edge_sum(const context& ctx, const edge_view& edges, std::uint64_t nodes,
                                     std::uint32_t components, std::uint64_t expected_runs,
                                     const prepare_edge_sum_options& options) {
  return plan::explain(prepare_edge_sum_call, prepare_edge_sum_variants(),
                       describe(ctx, edges, nodes, components, expected_runs, options), ctx, options.variant);
}

}  // namespace sheaf
