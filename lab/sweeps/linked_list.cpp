#include <algorithm>
#include <string>

#include <fmt/format.h>
#include <sheaf/error.hpp>

#include "lab/description/job.hpp"
#include "lab/description/row_name.hpp"
#include "lab/sweeps/sweep.hpp"
#include "primitives/words.hpp"

// Ranks and scans of linked lists: every layout by every order of the nodes.
namespace sheaf::bench {
namespace {

constexpr std::string_view family = "linked_list";

sweep linked_lists() {
  sweep s{primitives::entries_of(family),
          patterns({"identity", "permutation", "strided:1001"}),
          {4},
          {index_type::u32},
          powers_of_two(20, 30, 2)};
  s.patterns.push_back({primitives::pattern_kind::strided, longest_stride});
  return s;
}

// Strides do not wrap around: with one of n - 1, the first sweep goes through nodes 0 and n - 1, and as sweeps are of
// equal length, the list is 0, n/2, 1, n/2 + 1 and so on, whose neighbours lie half the array apart. A stride of n - 1
// that wraps around goes back by one node each time, which is the pattern `reverse`.
primitives::input_pattern pattern_for(primitives::input_pattern pattern, std::uint64_t count) {
  const bool is_longest = pattern.kind == primitives::pattern_kind::strided && pattern.parameter == longest_stride;
  if (is_longest) pattern.parameter = std::max<std::uint64_t>(count, 2) - 1;
  return pattern;
}

// Throws for a pattern that goes through nodes twice, unless the sweep has other families that take it.
void require_lists(const sweep& s, std::span<const primitives::entry* const> entries) {
  if (entries.size() < s.entries.size()) return;
  for (const primitives::input_pattern& pattern : s.patterns) {
    if (is_distinct(pattern)) continue;
    throw error(error_code::bad_argument,
                fmt::format("--patterns {}: an order that goes through nodes twice is no list", name(pattern)));
  }
}

void add(const sweep& s, std::span<const primitives::entry* const> entries, std::vector<problem>& problems) {
  require_lists(s, entries);
  for (const std::uint64_t count : s.counts) {
    for (const primitives::input_pattern& pattern : s.patterns) {
      for (const std::string& layout : s.list_layouts) {
        problem p = parse_list_layout(layout);
        const bool is_asked_for = std::any_of(entries.begin(), entries.end(),
                                              [&](const primitives::entry* e) { return e->name == p.primitive; });
        p.pattern = pattern_for(pattern, count);
        p.count = count;
        if (is_asked_for && jobs::job_of(p).unchecked(p).empty()) problems.push_back(p);
      }
    }
  }
}

constexpr named_sweep sets[] = {{"list", linked_lists}};

constexpr list_option lists[] = {
    {"--list-layouts", "of linked lists: u32 (ranks), u32+u64, u32+u32+packed, u32+f32+max+exclusive (scans)",
     [](sweep& s, std::span<const std::string> texts) {
       for (const std::string& text : texts) parse_list_layout(text);
       s.list_layouts.assign(texts.begin(), texts.end());
     }},
};

}  // namespace

problem parse_list_layout(std::string_view text) {
  const std::size_t first_plus = text.find('+');
  const std::string_view rest = first_plus == text.npos ? std::string_view() : text.substr(first_plus + 1);
  const std::string_view value = rest.substr(0, rest.find('+'));
  if (rest.empty() || value == "many")
    return primitives::parse_problem(fmt::format("list_rank/identity/r4/{}/n=0", text));
  return primitives::parse_problem(
      fmt::format("list_scan/identity/r{}/{}/n=0", bytes(primitives::parse_value_type(value)), text));
}

extern const family_sweeps list_sweeps{family, sets, lists, add};

}  // namespace sheaf::bench
