#include "cuda/edges/cost.hpp"

#include "cuda/device/speeds.hpp"

namespace sheaf::cuda {

using primitives::edge_sum_problem;

namespace {

/// Bytes that L2 hands out at least.
constexpr double sector_bytes = 32;

/// Seconds of accesses that neighbours in the list have in common lines: each takes a sector of L2.
double local_seconds(double accesses, double bytes, const machine& m) {
  return accesses * (bytes < sector_bytes ? sector_bytes : bytes) / m.cached_bytes_per_second;
}

}  // namespace

bool is_local(const edge_sum_problem& p) noexcept {
  using kind = access_pattern::kind;
  return p.pattern.shape == kind::sequential || p.pattern.shape == kind::clustered;
}

double value_seconds(const edge_sum_problem& p, std::uint64_t count, const machine& m) {
  if (p.nodes == 0) return 0;
  if (is_local(p)) return local_seconds(static_cast<double>(count), static_cast<double>(p.node_bytes()), m);
  return m.random_reads(count, p.node_bytes(), p.nodes * p.node_bytes());
}

std::uint32_t atomic_sum_values(const edge_sum_problem& p) noexcept {
  constexpr std::uint64_t least_edges = std::uint64_t{1} << 16;  // of fewer, launches are what takes time
  if (p.value != value_type::f32 || p.components < 3 || p.edges < least_edges) return p.components;
  return (p.components + 3) / 4 * 4;
}

double atomic_seconds(const edge_sum_problem& problem, const machine& machine) {
  if (problem.nodes == 0) return 0;
  // The first of a node's atomics brings its line into L2, where the others find it.
  const std::uint32_t sum_values = atomic_sum_values(problem);
  const std::uint64_t words = problem.value == value_type::f64 ? 1
                              : sum_values % 4 == 0            ? 4
                              : sum_values % 2 == 0            ? 2
                                                               : 1;
  const bool is_random = problem.pattern.shape == access_pattern::kind::random;
  constexpr double ends_of_a_mesh = 0.6;
  const auto ends =
      static_cast<std::uint64_t>(2 * static_cast<double>(problem.edges) * (is_random ? 1 : ends_of_a_mesh));
  const std::uint64_t later = ends * (sum_values / words - 1);
  const std::uint64_t footprint = problem.nodes * sum_values * problem.value_bytes();
  const std::uint64_t in_cache = machine.cache_bytes / 4 + 1;
  // Meshes list the edges of a node one after another, so that a warp adds most of them as one, and the other ends near
  // one another, whatever their nodes' order: more than half of them find their lines in L2. Edges in no order find
  // none there, and four words take longer than the one of the profile: 5.7 x 10^7 ends of 4 x 10^6 nodes 2.6 ms on an
  // H200, single words 1.6.
  constexpr double lines_of_a_mesh = 0.4;
  constexpr double lines_at_random = 1.5;
  const double lines = is_local(problem)        ? 1
                       : is_random && words > 1 ? lines_at_random
                       : is_random              ? 1
                                                : lines_of_a_mesh;
  const double first = lines * machine.atomic_adds(is_local(problem) ? ends : 2 * problem.edges, problem.value_bytes(),
                                                   is_local(problem) ? in_cache : footprint);
  return first + machine.atomic_adds(later, problem.value_bytes(), in_cache);
}

double contribution_seconds(const edge_sum_problem& problem, std::uint64_t count, const machine& machine) {
  // Values come from shared memory at random banks, a word for each component; a root and two quotients take as long as
  // some ten words.
  const bool has_root = !problem.has_own_function && problem.function == edge_function::inverse_square;
  const double words =
      (2.0 * problem.value_components + problem.components) * static_cast<double>(problem.value_bytes()) / 4 +
      (has_root ? 2.5 * static_cast<double>(problem.value_bytes()) : 0);
  constexpr double words_per_byte = 0.8;
  return instruction_seconds(static_cast<double>(count) * words, words_per_byte, machine);
}

double weight_seconds(const edge_sum_problem& p, std::uint64_t count, const machine& m) {
  if (p.weight_components == 0 || p.edges == 0) return 0;
  const std::uint64_t bytes = p.weight_components * p.value_bytes();
  if (is_local(p)) return local_seconds(static_cast<double>(count), static_cast<double>(bytes), m);
  return m.random_reads(count, bytes, p.edges * bytes);
}

}  // namespace sheaf::cuda
