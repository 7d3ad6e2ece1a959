#include "cpu/linked_list/bases.hpp"

#include <cstring>

namespace sheaf::cpu {
namespace {

using primitives::list_buffers;
using primitives::list_problem;

/// base[to] = base[from] op total[from]
void put_base(const list_problem& p, const list_buffers& b, const sublist_table& table, std::uint64_t from,
              std::uint64_t to) {
  if (p.ranks()) {
    if (table.decided.link_bytes == 4) {
      table.rank_base<std::uint32_t>(to) =
          table.rank_base<std::uint32_t>(from) + static_cast<std::uint32_t>(table.entries[from].nodes);
    } else {
      table.rank_base<std::uint64_t>(to) = table.rank_base<std::uint64_t>(from) + table.entries[from].nodes;
    }
  } else {
    std::memcpy(table.base(to), table.total(from), p.value_bytes);
    if (table.entries[from].has_base != 0) b.on_host->prepend(b.on_host->op, table.base(from), table.base(to), 1);
  }
  table.entries[to].has_base = 1;
}

/// A list begins at the splitter of sublist s, or a walk from its head has ended there.
std::uint64_t follow(const list_problem& p, const list_buffers& b, const sublist_table& table, std::uint64_t s) {
  std::uint64_t nodes = 0;
  while (s != no_sublist && table.entries[s].is_rooted == 0) {
    sublist& at = table.entries[s];
    at.is_rooted = 1;
    nodes += at.nodes;
    if (at.next != no_sublist) put_base(p, b, table, s, at.next);
    s = at.next;
  }
  return nodes;
}

}  // namespace

std::uint64_t follow_sublists(const list_problem& p, const list_buffers& b, const sublist_table& table,
                              const walked& found, std::uint64_t head) {
  std::uint64_t nodes = found.nodes_rooted;
  const auto follow_each = [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t s = begin; s < end; ++s) {
      sublist& first = table.entries[s];
      const bool is_head =
          first.splitter != no_node && first.is_reached == 0 && (p.lists == list_count::many || first.splitter == head);
      if (is_head && b.initial != nullptr) {
        std::memcpy(table.base(s), b.initial, p.value_bytes);
        first.has_base = 1;
      }
      if (is_head || first.follows_head != 0) nodes += follow(p, b, table, s);
    }
  };
  follow_each(0, table.decided.splitters);
  follow_each(table.first_added(), table.first_added() + found.added);
  return nodes;
}

}  // namespace sheaf::cpu
