#include "cuda/edges/lists.hpp"

#include <sheaf/cuda/detail/edge_atomics.cuh>

#include "cuda/device/launch.cuh"
#include "cuda/edges/cost.hpp"
#include "cuda/edges/row_writer.cuh"
#include "cuda/split/cost.hpp"
#include "cuda/split/passes.hpp"

namespace sheaf::cuda {
namespace {

using edge_kernels::end_arrays;
using edge_kernels::list_entry;
using primitives::edge_sum_problem;

std::uint64_t entries_of(const edge_sum_problem& p, listed_ends ends) {
  return ends == listed_ends::both ? 2 * p.edges : p.edges;
}

/// An edge that has a bad end sorts as one node more.
pair_passes passes_of(std::uint64_t nodes, std::uint64_t entries) {
  pair_passes passes;
  passes.key_bits = std::max(1U, primitives::category_bits(nodes + 1));
  passes.value_bytes = sizeof(list_entry);
  passes.count = entries;
  passes.writes_keys = true;
  passes.keys.stride = passes.keys.word_bytes = sizeof(std::uint32_t);
  passes.keys.bits = {0, passes.key_bits};
  passes.keys.categories = nodes;
  return passes;
}

template <class End>
__global__ void __launch_bounds__(block_threads)
    list_ends(const __grid_constant__ end_arrays edges, listed_ends ends, const std::uint32_t* place,
              std::uint32_t no_node, std::uint32_t* keys, uint2* entries, unsigned long long* first_bad) {
  const std::uint64_t e = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (e >= edges.count) return;
  const End i = __ldcs(static_cast<const End*>(edges.first) + e * edges.stride);
  const End j = __ldcs(static_cast<const End*>(edges.second) + e * edges.stride);
  std::uint32_t first = no_node;
  std::uint32_t second = no_node;
  if (i < edges.limit && j < edges.limit) {
    first = place == nullptr ? static_cast<std::uint32_t>(i) : __ldg(place + i);
    second = place == nullptr ? static_cast<std::uint32_t>(j) : __ldg(place + j);
  } else {
    edge_kernels::note_bad_edge(first_bad, e);
  }
  const auto edge = static_cast<std::uint32_t>(e);
  const uint2 of_first = make_uint2(second, edge);
  const uint2 of_second = make_uint2(first | edge_kernels::second_end, edge);
  if (ends == listed_ends::both) {
    reinterpret_cast<uint2*>(keys)[e] = make_uint2(first, second);
    reinterpret_cast<uint4*>(entries)[e] = make_uint4(of_first.x, of_first.y, of_second.x, of_second.y);
  } else {
    keys[e] = ends == listed_ends::first ? first : second;
    entries[e] = ends == listed_ends::first ? of_first : of_second;
  }
}

/// The list of node n begins at the first key that is not below n.
__global__ void __launch_bounds__(block_threads)
    find_begins(const std::uint32_t* keys, std::uint64_t count, std::uint64_t nodes, std::uint64_t* begins) {
  const std::uint64_t n = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (n > nodes) return;
  std::uint64_t low = 0;
  for (std::uint64_t high = count; low < high;) {
    const std::uint64_t middle = (low + high) / 2;
    if (__ldg(keys + middle) < n) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  begins[n] = low;
}

__global__ void __launch_bounds__(block_threads)
    find_longest(const std::uint64_t* begins, std::uint64_t nodes, unsigned long long* longest) {
  const std::uint64_t n = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  const std::uint64_t length = n < nodes ? begins[n + 1] - begins[n] : 0;
  const auto most = __reduce_max_sync(~0U, static_cast<unsigned>(min(length, std::uint64_t{0xffffffffU})));
  if (threadIdx.x % 32 == 0 && most > *static_cast<volatile unsigned long long*>(longest)) {
    atomicMax(longest, static_cast<unsigned long long>(most));
  }
}

/// A warp for each slice.
__global__ void __launch_bounds__(block_threads)
    write_rows(const std::uint64_t* begins, const list_entry* entries, std::uint64_t nodes, row_outputs to) {
  const std::uint64_t thread = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  const std::uint64_t node = min(thread, nodes);
  const std::uint64_t begin = begins[node];
  const std::uint64_t length = thread < nodes ? begins[node + 1] - begin : 0;
  const row_writer rows(static_cast<std::uint32_t>(min(length, std::uint64_t{0xffffffffU})), to.longest);
  if (thread <= nodes) to.begins[node] = rows.begin_word(begin);
  const std::uint64_t first = __shfl_sync(~0U, begin, 0);
  rows.for_each(static_cast<std::uint32_t>(begin - first), [&](std::uint32_t at, std::uint32_t from) {
    const uint2 entry = __ldcs(reinterpret_cast<const uint2*>(entries + first) + from);
    to.others[first + at] = entry.x;
    to.edges[first + at] = entry.y;
  });
}

}  // namespace

bool suits_rows(const edge_sum_problem& p) noexcept {
  return p.nodes > 0 && p.edges >> 31 == 0 && 2 * p.edges / p.nodes <= longest_in_rows;
}

void queue_rows(const context& ctx, const list_outputs& lists, std::uint64_t nodes, const row_outputs& to) {
  require(cudaMemsetAsync(to.longest, 0, sizeof *to.longest, ctx.stream()), ctx);
  launch(ctx, write_rows, ceil_div(nodes + 1, block_threads), lists.begins, lists.entries, nodes, to);
}

const char* list_rejection(const edge_sum_problem& p) noexcept {
  if (p.nodes >= edge_kernels::second_end - 1) return "its lists number nodes with 31 bits";
  if (p.edges >> 32 != 0) return "its lists number edges with 32 bits";
  return nullptr;
}

list_scratch::list_scratch(const edge_sum_problem& p, listed_ends ends, core::scratch_arrays& arrays)
    : count(entries_of(p, ends)),
      keys(arrays.take<std::uint32_t>(count)),
      entries(arrays.take<uint2>(count)),
      passes(arrays.take<std::byte>(count == 0 ? 0 : pair_scratch_bytes(passes_of(p.nodes, count)))) {}

void queue_lists(const context& ctx, const edge_sum_problem& problem, const end_arrays& edges, listed_ends ends,
                 const std::uint32_t* place, const list_scratch& scratch, const list_outputs& to,
                 unsigned long long* first_bad) {
  launch(ctx, edges.is_wide ? list_ends<std::uint64_t> : list_ends<std::uint32_t>, ceil_div(edges.count, block_threads),
         edges, ends, place, static_cast<std::uint32_t>(problem.nodes), scratch.keys, scratch.entries, first_bad);
  pair_passes passes = passes_of(problem.nodes, scratch.count);
  passes.keys.data = reinterpret_cast<const std::byte*>(scratch.keys);
  passes.values = reinterpret_cast<const std::byte*>(scratch.entries);
  passes.out = reinterpret_cast<std::byte*>(to.entries);
  const std::uint32_t* const sorted = run_pair_passes(ctx, passes, scratch.passes);
  launch(ctx, find_begins, ceil_div(problem.nodes + 1, block_threads), sorted, scratch.count, problem.nodes, to.begins);
}

void queue_longest(const context& ctx, const std::uint64_t* begins, std::uint64_t nodes, unsigned long long* longest) {
  require(cudaMemsetAsync(longest, 0, sizeof *longest, ctx.stream()), ctx);
  launch(ctx, find_longest, ceil_div(nodes, block_threads), begins, nodes, longest);
}

void add_list_cost(const edge_sum_problem& problem, listed_ends ends, const machine& machine, plan::planned& plan) {
  const std::uint64_t entries = entries_of(problem, ends);
  const std::uint64_t rounds = ends == listed_ends::both ? 1 : 2;
  const std::uint64_t listed = problem.edges * 2 * bytes(problem.index) + entries * 12 + (problem.nodes + 1) * 24;
  const auto times = static_cast<double>(rounds);
  plan.add("lists", times * (2 * machine.step_seconds + machine.streamed(listed, listed)));
  plan.add("sort", entries == 0 ? 0 : times * pair_passes_cost(passes_of(problem.nodes, entries), machine).seconds);
}

// Entries of 8 bytes are read, and written as two words; so are the begins. A warp reads and writes the entries of a
// slice in one piece, so that all is streamed. No preparation has been recorded: the price is one of bytes moved.
void add_row_cost(const edge_sum_problem& problem, std::uint64_t entries, const machine& machine, plan::planned& plan) {
  const std::uint64_t moved = entries * 2 * sizeof(list_entry) + (problem.nodes + 1) * 2 * sizeof(std::uint64_t);
  plan.add("rows", 2 * machine.step_seconds + machine.streamed(moved, moved));
}

std::uint64_t piece_sum_bytes(const edge_sum_problem& p, std::uint64_t entries) noexcept {
  return 2 * ceil_div(entries, edge_kernels::piece_entries) * p.result_bytes();
}

std::uint32_t lanes_of_list(const edge_sum_problem& p, std::uint64_t entries) noexcept {
  constexpr std::uint64_t entries_of_a_lane = 4;
  const std::uint64_t mean = p.nodes == 0 ? 0 : entries / p.nodes;
  return static_cast<std::uint32_t>(std::bit_floor(std::clamp<std::uint64_t>(mean / entries_of_a_lane, 1, 32)));
}

double list_sum_seconds(const edge_sum_problem& p, std::uint64_t entries, const machine& m) {
  const std::uint64_t streamed = entries * sizeof(list_entry) + p.nodes * (8 + p.node_bytes() + p.result_bytes());
  return m.step_seconds +
         std::max(m.streamed(streamed, streamed) + value_seconds(p, entries, m) + weight_seconds(p, entries, m),
                  contribution_seconds(p, entries, m));
}

double row_sum_seconds(const edge_sum_problem& p, const machine& m, bool has_weights_in_rows) {
  const std::uint64_t entries = 2 * p.edges;
  const std::uint64_t beside = has_weights_in_rows       ? p.weight_components * p.value_bytes()
                               : p.weight_components > 0 ? sizeof(std::uint32_t)
                                                         : 0;
  const std::uint64_t streamed =
      entries * (sizeof(std::uint32_t) + beside) + p.nodes * (8 + p.node_bytes() + p.result_bytes());
  const double weights = has_weights_in_rows ? 0 : weight_seconds(p, entries, m);
  return m.step_seconds + std::max(m.streamed(streamed, streamed) + value_seconds(p, entries, m) + weights,
                                   contribution_seconds(p, entries, m));
}

void queue_list_sums(const context& ctx, const edge_sum_kernels& kernels, const edge_kernels::list_arguments& lists) {
  if (lists.piece_sums != nullptr) require(kernels->sum_pieces(ctx.stream(), kernels->function, lists), ctx);
  const auto sum = lists.entries == nullptr ? kernels->sum_rows : kernels->sum_lists;
  require(sum(ctx.stream(), kernels->function, lists), ctx);
}

}  // namespace sheaf::cuda
