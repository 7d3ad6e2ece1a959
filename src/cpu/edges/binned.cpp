#include <mutex>

#include "core/scratch_offsets.hpp"
#include "cpu/edges/cost.hpp"
#include "cpu/edges/ends.hpp"
#include "cpu/threads/core_speed.hpp"
#include "cpu/threads/parts.hpp"
#include "cpu/threads/write_combining.hpp"

namespace sheaf::cpu {
namespace {

using namespace primitives;

/// An edge in the bin of one of its ends.
struct binned_edge {
  std::uint32_t first;
  std::uint32_t second;
  std::uint32_t offset;  ///< from the first edge of the round
  std::uint32_t unused;
};
static_assert(sizeof(binned_edge) == 16);

struct binned_decision {
  std::uint64_t threads = 1;
  std::uint64_t bins = 1;
  std::uint32_t log2_bin = 0;     ///< nodes of a bin are 2^log2_bin
  std::uint64_t round_edges = 1;  ///< edges that are binned before they are summed

  void tell(plan::told& to) const { to.add("threads", threads).add("bins", bins).add("round_edges", round_edges); }
};

/// The arrays of a call in scratch.
struct binned_arrays {
  bucket_table counts;        ///< for each part and bin, where its edges go
  bucket_table begins;        ///< where they begin
  std::uint64_t* bin_begins;  ///< where each bin's edges begin and end
  std::byte* buffers;         ///< write-combining buffers of each part
  binned_edge* edges;

  binned_arrays(const binned_decision& decision, core::scratch_arrays& arrays)
      : counts(decision.threads, decision.bins, arrays),
        begins(decision.threads, decision.bins, arrays),
        bin_begins(arrays.take<std::uint64_t>(decision.bins + 1)),
        buffers(arrays.take<std::byte>(decision.threads * write_buffers<binned_edge>::bytes(decision.bins))),
        edges(arrays.take<binned_edge>(2 * decision.round_edges)) {}
};

binned_decision decide(const edge_sum_problem& problem, const machine& machine) {
  binned_decision decision;
  decision.threads = threads_worth(problem, machine);
  // Values and sums of a bin take a quarter of the second-level cache; a thread has several bins, because some have
  // more edges; and there are no more bins than their buffers leave room for in that cache.
  constexpr std::uint64_t most_bins = 2048;
  constexpr std::uint64_t bins_per_thread = 8;
  const std::uint64_t in_cache =
      std::max<std::uint64_t>(1, own_cache_bytes(machine) / 4 / (problem.node_bytes() + problem.result_bytes()));
  const std::uint64_t share = std::max<std::uint64_t>(1, problem.nodes / (bins_per_thread * decision.threads));
  decision.log2_bin = static_cast<std::uint32_t>(std::bit_width(std::min(in_cache, share)) - 1);
  while (((problem.nodes - 1) >> decision.log2_bin) + 1 > most_bins) ++decision.log2_bin;
  decision.bins = ((problem.nodes - 1) >> decision.log2_bin) + 1;
  // Rounds bound the scratch. A round also reads and writes all sums, some bytes for each of its edges.
  constexpr std::uint64_t least_round_edges = std::uint64_t{1} << 22;
  decision.round_edges =
      std::clamp<std::uint64_t>(problem.edges, 1, std::clamp(problem.nodes, least_round_edges, std::uint64_t{1} << 31));
  return decision;
}

// Edges go to the bins of both their ends (propagation blocking), stably, so that a bin has them in their order. Each
// bin is then summed by one thread, whose cache holds the bin's values and sums. An edge whose ends lie in two bins is
// computed for both, which reads one value at random; contributions that were stored instead would be 8 to 64 bytes for
// each end. So half of the random accesses of cpu.owner are left, for 64 bytes of streams an edge.
plan::planned plan_binned(const edge_sum_problem& problem, const plan::scope& scope) {
  if (problem.nodes >> 32 != 0) return plan::rejected("its bins hold node numbers of 32 bits");
  if (problem.nodes == 0 || problem.edges == 0) return plan::rejected("there is nothing to bin");
  const machine& machine = scope.machine;
  const binned_decision decision = decide(problem, machine);
  const std::uint64_t scratch_bytes = core::bytes_of<binned_arrays>(decision);
  if (scratch_bytes > machine.memory_bytes / 4) return plan::rejected("its scratch would take a quarter of memory");
  plan::planned plan;
  plan.decided.set(decision);
  plan.scratch_bytes = scratch_bytes;
  const std::uint64_t rounds = (problem.edges + decision.round_edges - 1) / decision.round_edges;
  const double crossing = decision.bins == 1 ? 0.1 : 1 - 0.9 * local_share(problem);  // share of edges between two bins
  const auto ends = static_cast<double>(problem.edges * 2 * bytes(problem.index));
  const double entries = (1 + crossing) * static_cast<double>(problem.edges) * sizeof(binned_edge);
  const auto again =
      static_cast<double>((rounds - 1) * problem.nodes * (problem.node_bytes() + 2 * problem.result_bytes()));
  constexpr double digits_per_entry = 5;  // to count it, to put it into its bin and to take it out: 10 ns
  plan.add("latency", machine.launch_seconds + 3 * static_cast<double>(rounds) * machine.step_seconds);
  plan.add_overlapped(
      overlap_exponent,
      {{"streamed", streamed_seconds(problem, machine) + (ends + 2 * entries + again) / machine.copy_bytes_per_second},
       {"random access", crossing * value_seconds(problem, machine)},
       {"contributions", (1 + crossing) * contribution_seconds(problem, machine, decision.threads) +
                             (1 + crossing) * static_cast<double>(problem.edges) * digits_per_entry *
                                 digit_seconds(machine) / static_cast<double>(decision.threads)}});
  return plan;
}

/// Adds the edges of a part to the counts of its bins. Returns the first edge that has a bad end.
template <class End>
std::uint64_t count_bins(const binned_decision& decision, const end_arrays<End>& ends, std::uint64_t begin,
                         std::uint64_t end, std::uint64_t* counts) {
  std::uint64_t first_bad = no_edge;
  for (std::uint64_t e = begin; e < end; ++e) {
    if (!ends.is_good(e)) {
      first_bad = std::min(first_bad, e);
      continue;
    }
    const std::uint64_t a = std::uint64_t{ends.from(e)} >> decision.log2_bin;
    const std::uint64_t b = std::uint64_t{ends.to(e)} >> decision.log2_bin;
    ++counts[a];
    counts[b] += a != b ? 1 : 0;
  }
  return first_bad;
}

template <class End>
void put_in_bins(const binned_decision& decision, const end_arrays<End>& ends, std::uint64_t base, std::uint64_t begin,
                 std::uint64_t end, const write_buffers<binned_edge>& to) {
  for (std::uint64_t e = begin; e < end; ++e) {
    if (!ends.is_good(e)) continue;
    const binned_edge edge{static_cast<std::uint32_t>(ends.from(e)), static_cast<std::uint32_t>(ends.to(e)),
                           static_cast<std::uint32_t>(e - base), 0};
    const std::uint64_t a = edge.first >> decision.log2_bin;
    const std::uint64_t b = edge.second >> decision.log2_bin;
    to.put(a, edge);
    if (a != b) to.put(b, edge);
  }
  to.finish(decision.bins);
}

/// Adds the edges of one bin to its sums.
void sum_bin(const edge_sum_problem& problem, const edge_sum_buffers& buffers,
             const detail::host_edge_function& function, bool owns_all, std::span<const binned_edge> edges,
             std::uint64_t base, void* sums, host_node_range own) {
  edge_chunk<std::uint32_t> chunk;
  const auto* const values = static_cast<const std::byte*>(buffers.values);
  for (std::uint64_t e = 0; e < edges.size(); e += chunk_edges) {
    const std::uint64_t chunk_end = std::min(e + chunk_edges, edges.size());
    const std::uint64_t next_end = std::min(chunk_end + chunk_edges, edges.size());
    for (std::uint64_t next = chunk_end; next < next_end; ++next) {
      prefetch(values, edges[next].first * problem.node_bytes(), problem.node_bytes());
      prefetch(values, edges[next].second * problem.node_bytes(), problem.node_bytes());
    }
    chunk.clear();
    for (std::uint64_t i = e; i < chunk_end; ++i) chunk.put_if(true, edges[i].first, edges[i].second, edges[i].offset);
    function.sum(function.function, list_of(problem, buffers, chunk, base), buffers.values, sums, own, owns_all);
  }
}

template <class End>
std::uint64_t run_rounds(const edge_sum_problem& problem, const edge_sum_buffers& buffers,
                         const binned_decision& decision, const end_arrays<End>& ends, const binned_arrays& arrays) {
  const detail::host_edge_function function = function_of(problem, buffers);
  const std::uint64_t misalignment = write_buffers<binned_edge>::misalignment_of(arrays.edges);
  std::uint64_t first_bad = no_edge;
  for (std::uint64_t base = 0; base < problem.edges; base += decision.round_edges) {
    const std::uint64_t count = std::min(decision.round_edges, problem.edges - base);
    std::uint64_t bad = no_edge;
    std::mutex lowest;
    for_each_range(count, decision.threads, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t part) {
      const std::uint64_t found = count_bins(decision, ends, base + begin, base + end, arrays.counts.cleared_row(part));
      if (found == no_edge) return;
      const std::lock_guard lock(lowest);
      bad = std::min(bad, found);
    });
    first_bad = std::min(first_bad, bad);
    const std::uint64_t entries = arrays.counts.scan();
    std::copy_n(arrays.counts.row(0), decision.bins, arrays.bin_begins);
    arrays.bin_begins[decision.bins] = entries;
    for_each_range(count, decision.threads, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t part) {
      std::uint64_t* const cursors = arrays.counts.row(part);
      std::uint64_t* const starts = arrays.begins.row(part);
      std::copy_n(cursors, decision.bins, starts);
      for (std::uint64_t bin = 0; bin < decision.bins; ++bin) cursors[bin] += misalignment;
      const write_buffers<binned_edge> to(arrays.buffers + part * write_buffers<binned_edge>::bytes(decision.bins),
                                          cursors, starts, arrays.edges, true);
      put_in_bins(decision, ends, base, base + begin, base + end, to);
    });
    for_each_task(decision.bins, decision.threads, [&](std::uint64_t bin) {
      const std::uint64_t first_node = bin << decision.log2_bin;
      const host_node_range own{first_node, std::min((bin + 1) << decision.log2_bin, problem.nodes) - first_node};
      std::byte* const sums = static_cast<std::byte*>(buffers.result) + own.begin * problem.result_bytes();
      if (base == 0) std::memset(sums, 0, own.count * problem.result_bytes());
      const std::span edges(arrays.edges + arrays.bin_begins[bin], arrays.edges + arrays.bin_begins[bin + 1]);
      sum_bin(problem, buffers, function, decision.bins == 1, edges, base, sums, own);
    });
  }
  return first_bad;
}

void run_binned(const context& ctx, const edge_sum_problem& p, const plan::planned& plan, const edge_sum_buffers& b,
                std::byte* scratch) {
  const auto d = plan.decided.get<binned_decision>();
  const auto arrays = core::arrays_in<binned_arrays>(scratch, d);
  sum_checked(ctx, p, b, [&](const auto& ends) { return run_rounds(p, b, d, ends, arrays); });
}

}  // namespace

extern constinit const edge_sum_variant edge_sum_binned{"cpu.binned", backend_kind::cpu, plan_binned, run_binned};

}  // namespace sheaf::cpu
