#include <cstdio>

#include "apps/sheaf/demo/limit.hpp"
#include "apps/sheaf/mesh/box_function.hpp"
#include "lab/harness/edges/calls.hpp"
#include "lab/harness/edges/input.hpp"
#include "lab/harness/factors.hpp"
#include "lab/harness/platform.hpp"
#include "lab/harness/requests.hpp"
#include "primitives/enum_names.hpp"

namespace sheaf::bench {
namespace {

constexpr std::uint64_t seed = 1;

/// The fastest of the place's calls without preparation, or null.
const timed_call* fastest_unprepared(const std::vector<timed_call>& all) {
  const timed_call* best = nullptr;
  for (const timed_call& c : all) {
    if (!c.is_ours || c.is_prepared) continue;
    if (best == nullptr || c.time.median_seconds < best->time.median_seconds) best = &c;
  }
  return best;
}

/// Rates of streaming memory on the machines of this run.
struct stream_limits {
  jobs::copy_limits of_host;
  jobs::copy_limits of_context;

  const jobs::copy_limits& of(const timed_call& c) const {
    return c.backend == backend_kind::cpu ? of_host : of_context;
  }
};

stream_limits measure_limits(const context& ctx, const context& cpu, bool quick) {
  const std::uint64_t most_bytes = std::uint64_t{1} << (quick ? 16 : 30);
  stream_limits limits{.of_host = jobs::measure_copy_limits(cpu, most_bytes), .of_context = {}};
  if (ctx.backend() != backend_kind::cpu) limits.of_context = jobs::measure_copy_limits(ctx, most_bytes);
  return limits;
}

void print_rows(const edge_input& in, std::uint64_t moved, const stream_limits& limits,
                const std::vector<timed_call>& all) {
  const timed_call* const unprepared = fastest_unprepared(all);
  for (const timed_call& call : all) {
    const double bound = static_cast<double>(moved) / limits.of(call).bytes_per_second(moved);
    std::string line = fmt::format(
        "  {:<34} {:>11} {:7.3f} ns an edge {:7.2f}x {:9.2f} MB {:5.1f} %",
        (call.is_prepared ? "prepared, " : "") + call.who + (call.is_ours ? "" : ", " + call.where),
        time_text(call.time.median_seconds), call.time.median_seconds * 1e9 / static_cast<double>(in.edges.size()),
        all.front().time.median_seconds / call.time.median_seconds, static_cast<double>(moved) * 1e-6,
        100 * bound / call.time.median_seconds);
    if (call.is_prepared && unprepared != nullptr) {
      // Calls without preparation take the copy to the device, too.
      const auto runs = runs_to_amortise(call.loading_seconds - unprepared->loading_seconds, call.time.median_seconds,
                                         unprepared->time.median_seconds);
      line += fmt::format("  prepared in {}, {}", time_text(call.loading_seconds),
                          runs ? fmt::format("pays after {} runs", *runs) : "which gains nothing here");
    }
    fmt::print("{}{}\n", line, call.is_right ? "" : "  WRONG");
  }
  std::fflush(stdout);
}

/// The rows of a file of --json.
void add_results(const context& ctx, const context& cpu, const std::string& input, const std::vector<timed_call>& all,
                 std::vector<input_result>& rows) {
  for (const timed_call& call : all) {
    rows.push_back({.figure = "edges",
                    .input = input,
                    .machine = platform_of(call.backend == ctx.backend() ? ctx : cpu).machine,
                    .where = call.where.empty() ? std::string(name(call.backend)) : call.where,
                    .backend = call.backend,
                    .who = call.who,
                    .is_prepared = call.is_prepared,
                    .loading_seconds = call.loading_seconds,
                    .time = call.time,
                    .largest_error = call.largest_error ? call.largest_error() : -1,
                    .verified = call.is_right});
  }
}

/// A loop on one thread, and one with atomic additions; then the calls of the context.
template <class Value>
void run_input(const context& ctx, const context& cpu, const edges_request& request, const stream_limits& limits_of,
               std::shared_ptr<const edge_input> input, std::string_view order, std::vector<input_result>& rows) {
  if (input->edges.empty()) {
    fmt::print("{}: {} nodes, no edges\n", input->name, input->nodes);
    return;
  }
  for (const std::uint32_t components : request.components) {
    const edge_terms terms{components, request.function};
    std::vector<timed_call> all;
    const call_place place{"", ctx, request.quick ? 0 : 2};
    const auto judged = judge_edges<Value>(input, terms);
    add_plain_edges<Value>("1 thread", judged, all);
    add_atomic_edges<Value>(place, cpu, judged, all);
    add_edge_calls<Value>(place, judged, all);
    const timing_limits limits{.seconds = request.seconds, .least_rounds = 3, .least_slow_rounds = 3};
    fmt::print("{}: {} nodes, {} edges, {} order, {} component{}\n", input->name, input->nodes, input->edges.size(),
               order, components, components == 1 ? "" : "s");
    time_and_check(all, limits);
    print_rows(*input, moved_bytes(*input, terms, sizeof(Value)), limits_of, all);
    add_results(
        ctx, cpu,
        fmt::format("{}, {} order, {} x {}, {}", input->name, order, components, sizeof(Value) == 8 ? "f64" : "f32",
                    primitives::text_of(request.function, primitives::edge_functions)),
        all, rows);
  }
}

template <class Value>
std::vector<input_result> run_typed(const context& ctx, const edges_request& request) {
  const context cpu = ctx.backend() == backend_kind::cpu ? ctx : context::cpu();
  const stream_limits limits = measure_limits(ctx, cpu, request.quick);
  std::vector<input_result> rows;
  for (const std::string& file : request.files) {
    const auto read = std::make_shared<const edge_input>(read_edges(cpu, file));
    for (const std::string& order : request.orders) {
      const auto in = order == "natural"  ? read
                      : order == "random" ? std::make_shared<const edge_input>(with_nodes_at_random(*read, seed))
                                          : std::make_shared<const edge_input>(in_prepared_order(cpu, *read));
      run_input<Value>(ctx, cpu, request, limits, in, order, rows);
    }
  }
  if (!request.files.empty()) return rows;
  const std::uint32_t most_components = *std::ranges::max_element(request.components);
  for (const std::uint64_t nodes : request.quick ? std::vector<std::uint64_t>{1000} : request.nodes) {
    for (const std::string& order : request.orders) {
      mesh::box box = box_of_nodes(nodes);
      if (order == "random") box.order = mesh::node_order::random;
      box.seed = seed;
      const std::uint64_t ordered = order == "prepared" ? bytes_of_prepared_order(box) : 0;
      const std::uint64_t taken = std::max(ordered, bytes_of_sums(box, most_components, sizeof(Value)));
      const std::uint64_t free = std::min(platform_of(cpu).memory_bytes, platform_of(ctx).memory_bytes);
      if (taken > free || mesh::box_nodes(box) > io::most_nodes) {
        fmt::print("box of {} nodes skipped: sums take {} MB, but {} are available\n", nodes, taken >> 20, free >> 20);
        continue;
      }
      edge_input in = edges_of_box(cpu, box);
      if (order == "prepared") in = in_prepared_order(cpu, in);
      in.name = fmt::format("box of {} x {} x {} cells", box.cells[0], box.cells[1], box.cells[2]);
      run_input<Value>(ctx, cpu, request, limits, std::make_shared<const edge_input>(std::move(in)), order, rows);
    }
  }
  return rows;
}

}  // namespace

std::vector<input_result> run_edges(const context& ctx, const edges_request& request) {
  fmt::print("sums over edges, {}, {}, {}\n", request.narrow ? "f32" : "f64",
             primitives::text_of(request.function, primitives::edge_functions), platform_of(ctx).machine);
  fmt::print(
      "  the factor is over the plain loop; bytes are those of ends, values and results, each once, and the share "
      "that of the\n  time in which a streamed copy moves as many; runs that pay are beside the fastest call without "
      "preparation\n");
  return request.narrow ? run_typed<float>(ctx, request) : run_typed<double>(ctx, request);
}

}  // namespace sheaf::bench
