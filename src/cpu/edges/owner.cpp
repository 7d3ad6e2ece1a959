#include <limits>

#include "cpu/edges/cost.hpp"
#include "cpu/edges/ends.hpp"
#include "cpu/threads/core_speed.hpp"
#include "cpu/threads/parts.hpp"

namespace sheaf::cpu {
namespace {

using namespace primitives;

struct owner_decision {
  std::uint64_t threads;

  void tell(plan::told& to) const { to.add("threads", threads); }
};

// Owner computes: each thread owns a range of the nodes, reads the ends of all edges, and adds those that are its own,
// in the order of the edges. An edge between two threads' nodes is computed by both. A single thread owns all nodes and
// does not ask. Threads read all ends, so this is for few of them.
plan::planned plan_with(const edge_sum_problem& problem, const machine& machine, std::uint64_t threads) {
  const auto workers = static_cast<double>(threads);
  plan::planned plan;
  plan.decided.set(owner_decision{threads});
  const double ends = static_cast<double>(problem.edges) * 2 * static_cast<double>(bytes(problem.index));
  plan.add("latency", machine.launch_seconds + machine.step_seconds);
  // Nodes in no known order are on the same thread as often as chance has it.
  const double computed = 1 + (1 - local_share(problem)) * (1 - 1 / workers);
  // The rates of memory are those of all threads. A thread alone waits for its own accesses only.
  const double alone = threads == 1 ? static_cast<double>(threads_worth(problem, machine)) : 1;
  plan.add_overlapped(
      overlap_exponent,
      {{"streamed", streamed_seconds(problem, machine) + ends * (workers - 1) / machine.copy_bytes_per_second},
       {"random access", alone * (computed * value_seconds(problem, machine) + result_seconds(problem, machine))},
       {"contributions", computed * contribution_seconds(problem, machine, threads)}});
  if (threads > 1) plan.add("ownership checks", ownership_seconds(problem, machine));
  return plan;
}

plan::planned plan_owner(const edge_sum_problem& problem, const plan::scope& scope) {
  const machine& machine = scope.machine;
  const std::uint64_t threads = std::min(threads_worth(problem, machine), std::max<std::uint64_t>(1, problem.nodes));
  plan::planned all = plan_with(problem, machine, threads);
  if (threads == 1) return all;
  // Where most edges lie between the nodes of two threads, one may be done sooner than all.
  plan::planned one = plan_with(problem, machine, 1);
  return one.seconds < all.seconds ? one : all;
}

/// Prefetches the values and sums of edges where neighbours in the list lie far apart.
template <class End>
void prefetch_ends(const end_arrays<End>& ends, const edge_sum_problem& problem, const edge_sum_buffers& b,
                   std::uint64_t begin, std::uint64_t end) {
  const auto* const values = static_cast<const std::byte*>(b.values);
  const auto* const result = static_cast<const std::byte*>(b.result);
  for (std::uint64_t e = begin; e < end; ++e) {
    for (const std::uint64_t node : {std::uint64_t{ends.from(e)}, std::uint64_t{ends.to(e)}}) {
      prefetch(values, node * problem.node_bytes(), problem.node_bytes());
      prefetch(result, node * problem.result_bytes(), problem.result_bytes());
    }
  }
}

/// Whether the ends of some edges lie so far apart that the hardware follows none of them.
template <class End>
bool is_scattered(const end_arrays<End>& ends, const edge_sum_problem& problem, std::uint64_t begin,
                  std::uint64_t end) {
  constexpr std::uint64_t far_bytes = 4096;
  constexpr std::uint64_t looked_at = 16;
  const std::uint64_t step = std::max<std::uint64_t>(1, (end - begin) / looked_at);
  std::uint64_t far = 0;
  std::uint64_t seen = 0;
  for (std::uint64_t e = begin; e + 1 < end; e += step) {
    const std::uint64_t a = ends.from(e);
    const std::uint64_t b = ends.from(e + 1);
    far += (a < b ? b - a : a - b) * problem.node_bytes() > far_bytes ? 1 : 0;
    ++seen;
  }
  return 2 * far > seen;
}

/// The lowest and the highest end of some edges.
template <class End>
struct end_span {
  End low = std::numeric_limits<End>::max();
  End high = 0;

  end_span(const end_arrays<End>& ends, std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t e = begin; e < end; ++e) {
      low = std::min(low, std::min(ends.from(e), ends.to(e)));
      high = std::max(high, std::max(ends.from(e), ends.to(e)));
    }
  }
};

/// The sums of a range of nodes, or of all.
template <class End>
class owned_sums {
 public:
  owned_sums(const edge_sum_problem& problem, const edge_sum_buffers& buffers,
             const detail::host_edge_function& function, const end_arrays<End>& ends, host_node_range own)
      : problem_(problem),
        buffers_(buffers),
        function_(function),
        ends_(ends),
        own_(own),
        owns_all_(own.count == problem.nodes),
        sums_(static_cast<std::byte*>(buffers.result) + own.begin * problem.result_bytes()) {}

  /// Returns the first edge that has a bad end.
  std::uint64_t make() {
    if (own_.count > 0) std::memset(sums_, 0, own_.count * problem_.result_bytes());
    const bool may_prefetch =
        owns_all_ && problem_.nodes * (problem_.node_bytes() + problem_.result_bytes()) >= least_prefetched_bytes;
    for (std::uint64_t begin = 0; begin < problem_.edges; begin += chunk_edges) {
      const std::uint64_t end = std::min(begin + chunk_edges, problem_.edges);
      const std::uint64_t next_end = std::min(end + chunk_edges, problem_.edges);
      if (may_prefetch && is_scattered(ends_, problem_, end, next_end))
        prefetch_ends(ends_, problem_, buffers_, end, next_end);
      const end_span<End> span(ends_, begin, end);
      const bool has_bad_end = span.high >= ends_.limit;
      if (!has_bad_end && span.low >= own_.begin && span.high - own_.begin < own_.count) {
        function_.sum(function_.function, list_of(problem_, buffers_, ends_, begin, end), buffers_.values,
                      buffers_.result, own_, true);
      } else if (has_bad_end ||
                 (span.high >= own_.begin && (span.low < own_.begin || span.low - own_.begin < own_.count))) {
        sum_some(begin, end);
      }
    }
    return first_bad_;
  }

 private:
  // Edges are filtered without a branch, as nothing says which they are.
  void sum_some(std::uint64_t begin, std::uint64_t end) {
    chunk_.clear();
    bool are_good = true;
    for (std::uint64_t e = begin; e < end; ++e) {
      const std::uint64_t i = ends_.from(e);
      const std::uint64_t j = ends_.to(e);
      const bool is_own = (i - own_.begin < own_.count) | (j - own_.begin < own_.count);
      const bool is_good = (i < ends_.limit) & (j < ends_.limit);
      are_good &= is_good;
      chunk_.put_if(is_own & is_good, static_cast<End>(i), static_cast<End>(j), static_cast<std::uint32_t>(e - begin));
    }
    function_.sum(function_.function, list_of(problem_, buffers_, chunk_, begin), buffers_.values, sums_, own_,
                  owns_all_);
    if (are_good || first_bad_ != no_edge) return;
    first_bad_ = begin;
    while (ends_.is_good(first_bad_)) ++first_bad_;
  }

  const edge_sum_problem& problem_;
  const edge_sum_buffers& buffers_;
  const detail::host_edge_function& function_;
  const end_arrays<End>& ends_;
  host_node_range own_;
  bool owns_all_;
  std::byte* sums_;
  edge_chunk<End> chunk_;
  std::uint64_t first_bad_ = no_edge;
};

void run_owner(const context& ctx, const edge_sum_problem& problem, const plan::planned& plan,
               const edge_sum_buffers& buffers, std::byte*) {
  const std::uint64_t threads = plan.decided.get<owner_decision>().threads;
  const detail::host_edge_function function = function_of(problem, buffers);
  sum_checked(ctx, problem, buffers, [&](const auto& ends) {
    std::uint64_t first_bad = no_edge;
    for_each_range(problem.nodes, threads, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t part) {
      const std::uint64_t bad = owned_sums(problem, buffers, function, ends, {begin, end - begin}).make();
      if (part == 0) first_bad = bad;  // every part reads all ends
    });
    return first_bad;
  });
}

}  // namespace

extern constinit const edge_sum_variant edge_sum_owner{"cpu.owner", backend_kind::cpu, plan_owner, run_owner};

}  // namespace sheaf::cpu
