#include "lab/description/job.hpp"
#include "lab/description/row_name.hpp"
#include "lab/sweeps/sweep.hpp"

// Sums over edges: every layout by every order of the nodes.
namespace sheaf::bench {
namespace {

constexpr std::string_view family = "edges";

// Boxes of tetrahedra of 10^6 to 10^7 edges, with nodes in order and at random, and a graph at random.
sweep boxes_and_graphs() {
  return {primitives::entries_of(family),
          patterns({"identity", "permutation", "uniform"}),
          {12},
          {index_type::u32},
          {1000000, 10000000}};
}

/// What is computed over edges, without their order and count: "r12/u32+f32".
problem parse_edge_layout(std::string_view text) {
  return primitives::parse_problem("edge_sum/identity/" + std::string(text) + "/n=0");
}

void add(const sweep& s, std::span<const primitives::entry* const> entries, std::vector<problem>& problems) {
  if (entries.empty()) return;
  for (const std::uint64_t count : s.counts) {
    for (const primitives::input_pattern& pattern : s.patterns) {
      for (const std::string& layout : s.edge_layouts) {
        problem p = parse_edge_layout(layout);
        p.pattern = pattern;
        p.count = count;
        p.table.reset();
        if (jobs::job_of(p).unchecked(p).empty()) problems.push_back(p);
      }
    }
  }
}

constexpr named_sweep sets[] = {{"edges", boxes_and_graphs}};

constexpr list_option lists[] = {
    {"--edge-layouts",
     "of sums over edges: r12/u32+f32 (3 components of f32), r40/u32+f64+inverse_square+weights+pairs",
     [](sweep& s, std::span<const std::string> texts) {
       for (const std::string& text : texts) parse_edge_layout(text);
       s.edge_layouts.assign(texts.begin(), texts.end());
     }},
};

}  // namespace

extern const family_sweeps edge_sweeps{family, sets, lists, add};

}  // namespace sheaf::bench
