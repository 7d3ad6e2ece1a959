#include "distributed/sort/part_lists.hpp"

namespace sheaf::distributed {

part_lists::part_lists(group_state& state, const part_edges& edges, const part_table& table, const rank_groups& mine) {
  std::vector<primitives::row_part> parts;
  std::vector<primitives::row_run> runs;
  for (std::size_t g = 0; g + 1 < mine.begins.size(); ++g) {
    const std::size_t first = mine.begins[g];
    const std::size_t last = mine.begins[g + 1];
    list& of = lists_.emplace_back();
    of.parts = parts.size();
    of.runs = runs.size();
    of.part_count = last - first;
    of.have_one_key = true;
    of.is_short = table.begin(last) - table.begin(first) <= ~std::uint32_t{0};
    std::uint32_t before = 0;
    if (!of.is_short) continue;
    std::vector<std::uint64_t> places;  // of each rank's chunks
    for (int r = 0; r < state.size; ++r) {
      for (std::uint64_t c = 0; c < table.chunks(); ++c) places.push_back(table.place(r, c, first, last));
    }
    for (std::size_t part = first; part <= last; ++part) {
      parts.push_back({part == last ? 0 : edges.first_number(part), part == last ? 0 : edges.last_number(part),
                       static_cast<std::uint32_t>(runs.size() - of.runs),
                       static_cast<std::uint32_t>(table.begin(part) - table.begin(first))});
      if (part == last) break;
      of.have_one_key = of.have_one_key && edges.has_one_key(part);
      auto place = places.begin();
      for (int r = 0; r < state.size; ++r) {
        for (std::uint64_t c = 0; c < table.chunks(); ++c, ++place) {
          const std::uint64_t count = table.count(r, c, part, part + 1);
          if (count == 0) continue;
          runs.push_back({static_cast<std::uint32_t>(*place + table.count(r, c, first, part)),
                          static_cast<std::uint32_t>(count), static_cast<std::uint32_t>(part - first), before});
          before += static_cast<std::uint32_t>(count);
        }
      }
    }
    of.run_count = runs.size() - of.runs;
  }
  parts_ = buffer(state.ctx, parts.size() * sizeof(primitives::row_part));
  runs_ = buffer(state.ctx, runs.size() * sizeof(primitives::row_run));
  if (!parts.empty()) copy_bytes(state.ctx, parts_.data(), parts.data(), parts_.size());
  if (!runs.empty()) copy_bytes(state.ctx, runs_.data(), runs.data(), runs_.size());
}

bool part_lists::set(std::size_t g, primitives::rows_in_parts& to) const {
  const list& of = lists_[g];
  to.parts = parts_.as<primitives::row_part>() + of.parts;
  to.part_count = static_cast<std::uint32_t>(of.part_count);
  to.runs = runs_.as<primitives::row_run>() + of.runs;
  to.run_count = static_cast<std::uint32_t>(of.run_count);
  to.have_one_key = of.have_one_key;
  return of.is_short;
}

}  // namespace sheaf::distributed
