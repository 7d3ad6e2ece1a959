#include "apps/sheaf/mesh/edges.hpp"

#include <omp.h>

#include <algorithm>
#include <new>

#include <sheaf/sort.hpp>

#include "apps/sheaf/files/failure.hpp"
#include "apps/sheaf/files/memory_limit.hpp"
#include "apps/sheaf/mesh/parts.hpp"
#include "apps/sheaf/mesh/repeated.hpp"
#include "core/startable.hpp"
#include "primitives/views.hpp"

namespace sheaf::mesh {
namespace {

// Below this, memory is taken without asking how much there is, which takes longer than the work.
constexpr std::uint64_t small_bytes = std::uint64_t{1} << 24;
// Keys and numbers before and after the sort, and its scratch.
constexpr std::uint64_t bytes_per_key = 2 * sizeof(std::uint64_t) + 13;
constexpr std::uint64_t most_scratch_beside = std::uint64_t{64} << 20;

std::uint64_t key_of(std::uint32_t a, std::uint32_t b) noexcept {
  return std::uint64_t{std::min(a, b)} << 32 | std::max(a, b);
}
edge edge_of(std::uint64_t key) noexcept {
  return {static_cast<std::uint32_t>(key >> 32), static_cast<std::uint32_t>(key)};
}

// keys[n] has the nodes of the elements' edge n.
void fill_keys(int threads, const unstructured_mesh& mesh, const part_numbers& parts,
               std::vector<std::uint64_t>& keys) {
  for (const element_type type : io::all_element_types) {
    const element_shape& shape = shape_of(type);
    std::uint64_t* const to = keys.data() + parts.begin(type);
#pragma omp parallel for num_threads(core::startable(threads)) schedule(static)
    for (std::uint64_t i = 0; i < mesh.elements.count(type); ++i) {
      const std::uint32_t* const nodes = mesh.elements.element(type, i);
      for (std::uint64_t e = 0; e < shape.edge_count; ++e) {
        to[i * shape.edge_count + e] = key_of(nodes[shape.edges[e].first], nodes[shape.edges[e].second]);
      }
    }
  }
}

// Calls begin(i, place) for every place of sorted keys whose key differs from the one before; i counts these. Threads
// have ranges of keys, and count first, so that each knows its first i. reserve(count) is called in between.
template <class Reserve, class Begin>
void for_each_run(int threads, const std::vector<std::uint64_t>& keys, Reserve reserve, Begin begin) {
  const auto ranges = static_cast<std::uint64_t>(threads);
  const auto first_of = [&](std::uint64_t range) {
    return keys.size() / ranges * range + std::min(range, keys.size() % ranges);
  };
  const auto begins_run = [&](std::uint64_t place) { return place == 0 || keys[place] != keys[place - 1]; };
  std::vector<std::uint64_t> runs(ranges + 1, 0);
#pragma omp parallel for num_threads(core::startable(threads)) schedule(static, 1)
  for (std::uint64_t range = 0; range < ranges; ++range) {
    std::uint64_t count = 0;
    for (std::uint64_t place = first_of(range); place < first_of(range + 1); ++place)
      count += begins_run(place) ? 1 : 0;
    runs[range + 1] = count;
  }
  for (std::uint64_t range = 0; range < ranges; ++range) runs[range + 1] += runs[range];
  reserve(runs.back());
#pragma omp parallel for num_threads(core::startable(threads)) schedule(static, 1)
  for (std::uint64_t range = 0; range < ranges; ++range) {
    std::uint64_t i = runs[range];
    for (std::uint64_t place = first_of(range); place < first_of(range + 1); ++place) {
      if (begins_run(place)) begin(i++, place);
    }
  }
}

// Keys alone are sorted in place of pairs, where nobody asks which elements have an edge.
std::vector<std::uint64_t> sorted_keys(const context& ctx, const unstructured_mesh& mesh, const part_numbers& parts) {
  require_memory(parts.count() * bytes_per_key, "the edges of all elements", most_scratch_beside);
  std::vector<std::uint64_t> keys(parts.count());
  fill_keys(ctx.threads(), mesh, parts, keys);
  std::vector<std::uint64_t> sorted(parts.count());
  sort_keys(ctx, keys, sorted);
  ctx.wait();
  return sorted;
}

}  // namespace

void require_cpu(const context& ctx) {
  if (ctx.backend() != backend_kind::cpu) {
    primitives::refuse("mesh: the context works on {}, but meshes are prepared on the CPU", name(ctx.backend()));
  }
}

void require_memory(std::uint64_t bytes, std::string_view what, std::uint64_t bytes_beside) {
  if (bytes + bytes_beside < small_bytes && bytes <= io::memory_left()) return;
  const io::available_memory available = io::memory_available();
  // --memory counts what is taken, the host's memory also what may be.
  if (bytes + (available.is_limited ? 0 : bytes_beside) <= available.bytes) return;
  io::throw_error(error_code::out_of_memory, "mesh: {} take {} bytes, but {}", what, bytes, available.text());
}

std::vector<edge> edges_of(const context& ctx, const unstructured_mesh& mesh) {
  require_cpu(ctx);
  io::require_mesh(mesh);
  try {
    require_distinct_elements(ctx, mesh);
    const std::vector<std::uint64_t> keys = sorted_keys(ctx, mesh, part_numbers::of_edges(mesh.elements));
    std::vector<edge> edges;
    for_each_run(
        ctx.threads(), keys, [&](std::uint64_t count) { edges.resize(count); },
        [&](std::uint64_t i, std::uint64_t place) { edges[i] = edge_of(keys[place]); });
    return edges;
  } catch (const std::bad_alloc&) {
    throw error(error_code::out_of_memory, "mesh: no memory for its edges");
  }
}

template <class Number>
edge_incidence<Number> incidence_of(const context& ctx, const unstructured_mesh& mesh, const part_numbers& parts) {
  require_memory(parts.count() * (bytes_per_key + 4 * sizeof(Number)), "the edges of all elements",
                 most_scratch_beside);
  std::vector<std::uint64_t> keys(parts.count());
  std::vector<Number> numbers(parts.count());
  fill_keys(ctx.threads(), mesh, parts, keys);
#pragma omp parallel for num_threads(core::startable(ctx.threads())) schedule(static)
  for (std::uint64_t n = 0; n < numbers.size(); ++n) numbers[n] = static_cast<Number>(n);
  edge_incidence<Number> made;
  std::vector<std::uint64_t> sorted(parts.count());
  made.numbers.resize(parts.count());
  sort_pairs(ctx, keys, sorted, numbers, made.numbers);
  ctx.wait();
  for_each_run(
      ctx.threads(), sorted,
      [&](std::uint64_t count) {
        made.edges.resize(count);
        made.begins.resize(count + 1);
        made.begins.back() = sorted.size();
      },
      [&](std::uint64_t i, std::uint64_t place) {
        made.edges[i] = edge_of(sorted[place]);
        made.begins[i] = place;
      });
  return made;
}

template edge_incidence<std::uint32_t> incidence_of(const context&, const unstructured_mesh&, const part_numbers&);
template edge_incidence<std::uint64_t> incidence_of(const context&, const unstructured_mesh&, const part_numbers&);

}  // namespace sheaf::mesh
