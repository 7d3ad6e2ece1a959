#include "cuda/edges/by_node.hpp"

#include <utility>

#include <sheaf/memory.hpp>

#include "core/scratch_offsets.hpp"
#include "cuda/edges/bad_ends.hpp"
#include "cuda/edges/cost.hpp"
#include "plan/choose.hpp"
#include "primitives/edges/prepare.hpp"

// The preparation cuda.by_node: the edges of each node in a list, both ends of an edge in the lists of both, in the
// order of the edges. A run sums each list by a group of lanes.
namespace sheaf::cuda {
namespace {

using primitives::edge_memory;
using primitives::edge_sum_buffers;
using primitives::edge_sum_problem;
using primitives::prepare_edge_sum_buffers;
using primitives::prepare_edge_sum_problem;

constexpr const char* by_node = "cuda.by_node";

class listed_edges final : public primitives::prepared_edges {
 public:
  listed_edges(buffer begins, buffer entries, bool has_long_lists)
      : begins_(std::move(begins)), entries_(std::move(entries)), has_long_lists_(has_long_lists) {}

  void run(const context& ctx, const edge_sum_problem& p, const edge_sum_buffers& b) override {
    const run_scope scope(ctx, by_node);
    const std::uint64_t entries = 2 * p.edges;
    const std::uint64_t scratch_bytes = has_long_lists_ ? piece_sum_bytes(p, entries) : 0;
    const core::scratch scratch = plan::take_scratch(ctx, primitives::prepared_edge_sum_call, by_node, scratch_bytes);
    const edge_sum_kernels kernels(p, b);
    queue_list_sums(ctx, kernels,
                    {views_of(p, b), begins_.as<std::uint64_t>(), entries_.as<edge_kernels::list_entry>(), p.nodes,
                     entries, scratch_bytes == 0 ? nullptr : scratch.data(), lanes_of_list(p, entries), false});
  }
  std::uint64_t kept_bytes() const override { return begins_.size() + entries_.size(); }
  std::string_view run_variant() const override { return by_node; }

 private:
  buffer begins_;
  buffer entries_;
  bool has_long_lists_;
};

struct by_node_layout {
  std::uint64_t first_bad;
  std::uint64_t longest;
  list_layout lists;
};

// A run reads 16 bytes an edge, and a value at random for each end. There are no halos and no tiles, so that any graph
// will do.
plan::planned plan_by_node(const prepare_edge_sum_problem& p, const plan::scope& scope) {
  const edge_sum_problem& s = p.sum;
  if (const char* reason = list_rejection(s)) return plan::rejected(reason);
  if (s.nodes == 0 || s.edges == 0) return plan::rejected("there is nothing to bring into order");
  const machine& m = scope.machine;
  core::scratch_offsets place;
  by_node_layout layout;
  layout.first_bad = place.take(bad_end_report::bytes);
  layout.longest = place.take(sizeof(unsigned long long));
  layout.lists = list_layout(s, listed_ends::both, place);
  const double run_seconds = by_node_seconds(s, m);
  plan::planned plan;
  plan.scratch_bytes = place.bytes();
  plan.inner_calls = std::make_shared<const by_node_layout>(layout);
  plan.decided.set(primitives::prepare_edge_sum_decision{run_seconds});
  add_list_cost(s, listed_ends::both, m, plan);
  plan.add("runs", static_cast<double>(p.expected_runs) * run_seconds);
  return plan;
}

void run_by_node(const context& ctx, const prepare_edge_sum_problem& p, const plan::planned& plan,
                 const prepare_edge_sum_buffers& b, std::byte* scratch) {
  const device_scope current_device(ctx.device());
  const auto& layout = plan.inner<by_node_layout>();
  const edge_kernels::end_arrays edges = ends_of(p.sum, b.edges);
  const bad_end_report bad_ends(ctx, p.sum, primitives::edge_call::prepare_edge_sum, scratch + layout.first_bad);
  *b.made = make_by_node(ctx, p.sum, edges, layout.lists, scratch, bad_ends.first_bad(),
                         reinterpret_cast<unsigned long long*>(scratch + layout.longest));
  bad_ends.queue(ctx, edges);
}

}  // namespace

double by_node_seconds(const edge_sum_problem& p, const machine& m) {
  return m.launch_seconds + list_sum_seconds(p, 2 * p.edges, m);
}

std::shared_ptr<primitives::prepared_edges> make_by_node(const context& ctx, const edge_sum_problem& p,
                                                         const edge_kernels::end_arrays& edges,
                                                         const list_layout& layout, std::byte* scratch,
                                                         unsigned long long* first_bad, unsigned long long* longest) {
  buffer begins = edge_memory(ctx, "offsets of the nodes' edges", (p.nodes + 1) * sizeof(std::uint64_t));
  buffer entries = edge_memory(ctx, "edges of the nodes", layout.count * sizeof(edge_kernels::list_entry));
  queue_lists(ctx, p, edges, listed_ends::both, nullptr, layout, scratch,
              {entries.as<edge_kernels::list_entry>(), begins.as<std::uint64_t>()}, first_bad);
  queue_longest(ctx, begins.as<std::uint64_t>(), p.nodes, longest);
  unsigned long long most = 0;
  ctx.state().copy(&most, longest, sizeof most);  // waits
  return std::make_shared<listed_edges>(std::move(begins), std::move(entries), most >= edge_kernels::long_list);
}

extern constinit const primitives::prepare_edge_sum_variant prepare_edge_sum_by_node{"cuda.by_node", backend_kind::cuda,
                                                                                     plan_by_node, run_by_node};

}  // namespace sheaf::cuda
