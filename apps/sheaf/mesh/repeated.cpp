#include "apps/sheaf/mesh/repeated.hpp"

#include <unordered_map>

#include <fmt/format.h>
#include <sheaf/sort.hpp>

#include "apps/sheaf/files/mesh/su2.hpp"
#include "apps/sheaf/files/streams.hpp"
#include "apps/sheaf/mesh/parts.hpp"
#include "core/printable.hpp"
#include "core/startable.hpp"

namespace sheaf::mesh {
namespace {

// Keys before and after the sort, and its scratch.
constexpr std::uint64_t bytes_per_key = 2 * sizeof(std::uint64_t) + 13;

// Groups of fewer are the work of one thread: calling others takes longer, and a file may have markers by the thousand.
constexpr std::uint64_t shared_elements = 4096;

constexpr std::uint64_t most_nodes_of_element = 8;
using sorted_nodes = std::array<std::uint32_t, most_nodes_of_element>;

sorted_nodes nodes_in_order(const std::uint32_t* nodes, std::uint64_t count) noexcept {
  sorted_nodes sorted{};
  for (std::uint64_t n = 0; n < count; ++n) {
    std::uint64_t to = n;
    for (; to > 0 && sorted[to - 1] > nodes[n]; --to) sorted[to] = sorted[to - 1];
    sorted[to] = nodes[n];
  }
  return sorted;
}

// Elements of one type, of the mesh or of one marker. Those of other groups almost always have other keys.
struct element_group {
  std::optional<std::uint32_t> marker;
  element_type type;
  const io::element_lists* lists;
  std::uint64_t begin;  // of its keys among all

  std::uint64_t count() const noexcept { return lists->count(type); }
  sorted_nodes nodes(std::uint64_t i) const noexcept { return nodes_in_order(lists->element(type, i), nodes_of(type)); }

  // Sets of nodes are compared by 64 bits that a product and a shift spread (Steele, Lea and Flood 2014): sorting the
  // nodes themselves would move up to four times as much.
  std::uint64_t key(std::uint64_t i) const noexcept {
    const sorted_nodes all = nodes(i);
    std::uint64_t key = marker ? *marker + std::uint64_t{1} : 0;
    for (std::uint64_t n = 0; n < nodes_of(type); ++n) {
      key += all[n] + 0x9e3779b97f4a7c15U;
      key = (key ^ (key >> 30)) * 0xbf58476d1ce4e5b9U;
      key = (key ^ (key >> 27)) * 0x94d049bb133111ebU;
      key ^= key >> 31;
    }
    return key;
  }
};

std::vector<element_group> groups_of(const unstructured_mesh& mesh) {
  std::vector<element_group> groups;
  std::uint64_t begin = 0;
  const auto add = [&](std::optional<std::uint32_t> marker, const io::element_lists& lists) {
    for (const element_type type : io::all_element_types) {
      if (lists.count(type) == 0) continue;
      groups.push_back({marker, type, &lists, begin});
      begin += lists.count(type);
    }
  };
  add(std::nullopt, mesh.elements);
  for (std::uint32_t m = 0; m < mesh.markers.size(); ++m) add(m, mesh.markers[m].elements);
  return groups;
}

std::vector<std::uint64_t> sorted_keys(const context& ctx, const std::vector<element_group>& groups) {
  const std::uint64_t count = groups.empty() ? 0 : groups.back().begin + groups.back().count();
  require_memory(count * bytes_per_key, "the nodes of all elements");
  std::vector<std::uint64_t> keys(count);
  for (const element_group& group : groups) {
    std::uint64_t* const to = keys.data() + group.begin;
#pragma omp parallel for num_threads(core::startable(ctx.threads())) \
    schedule(static) if (group.count() >= shared_elements)
    for (std::uint64_t i = 0; i < group.count(); ++i) to[i] = group.key(i);
  }
  std::vector<std::uint64_t> sorted(count);
  sort_keys(ctx, keys, sorted);
  ctx.wait();
  return sorted;
}

std::uint64_t count_repeated(const context& ctx, const std::vector<std::uint64_t>& sorted) {
  std::uint64_t repeated = 0;
#pragma omp parallel for num_threads(core::startable(ctx.threads())) schedule(static) reduction(+ : repeated)
  for (std::uint64_t i = 1; i < sorted.size(); ++i) repeated += sorted[i] == sorted[i - 1] ? 1 : 0;
  return repeated;
}

struct element_place {
  const element_group* group;
  std::uint64_t element;
};

// Elements in their order, against those before that have the same key. Different nodes may have it, too.
std::optional<repeated_element> first_repeated(const std::vector<element_group>& groups,
                                               const std::vector<std::uint64_t>& sorted) {
  std::unordered_map<std::uint64_t, std::vector<element_place>> before;
  for (std::uint64_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i] == sorted[i - 1]) before.try_emplace(sorted[i]);
  }
  for (const element_group& group : groups) {
    for (std::uint64_t i = 0; i < group.count(); ++i) {
      const auto found = before.find(group.key(i));
      if (found == before.end()) continue;
      for (const element_place& place : found->second) {
        if (place.group == &group && group.nodes(place.element) == group.nodes(i)) {
          return repeated_element{group.type, place.element, i, group.marker};
        }
      }
      found->second.push_back({&group, i});
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<repeated_element> find_repeated_element(const context& ctx, const unstructured_mesh& mesh) {
  const std::vector<element_group> groups = groups_of(mesh);
  const std::vector<std::uint64_t> sorted = sorted_keys(ctx, groups);
  return count_repeated(ctx, sorted) == 0 ? std::nullopt : first_repeated(groups, sorted);
}

std::string words_of(const unstructured_mesh& mesh, const repeated_element& repeated) {
  const std::string owner =
      repeated.marker ? fmt::format("marker '{}': ", core::printable(mesh.markers[*repeated.marker].name)) : "";
  return fmt::format("{}{} {} has the nodes of {} {}", owner, name(repeated.type), repeated.second, name(repeated.type),
                     repeated.first);
}

void require_distinct_elements(const context& ctx, const unstructured_mesh& mesh) {
  if (const auto repeated = find_repeated_element(ctx, mesh)) {
    throw error(error_code::bad_argument, "mesh: " + words_of(mesh, *repeated));
  }
}

error file_error(const error& thrown, const std::string& path, std::uint64_t zone, const context& cpu,
                 const io::unstructured_mesh& mesh) {
  if (thrown.code() != error_code::bad_argument) return thrown;
  if (const auto repeated = find_repeated_element(cpu, mesh)) {
    const std::string marker = repeated->marker ? mesh.markers[*repeated->marker].name : "";
    const auto line_of = [&](std::uint64_t element) {
      return io::line_of_su2_element(path, {repeated->type, element, marker}, {.threads = cpu.threads(), .zone = zone});
    };
    return {error_code::bad_input,
            fmt::format("{}: line {}: {}, in line {}", io::shown_input(path), line_of(repeated->second),
                        words_of(mesh, *repeated), line_of(repeated->first))};
  }
  const std::string_view words = thrown.what();
  constexpr std::string_view any_mesh = "mesh: ";
  return {error_code::bad_input, fmt::format("{}: {}", io::shown_input(path),
                                             words.starts_with(any_mesh) ? words.substr(any_mesh.size()) : words)};
}

}  // namespace sheaf::mesh
