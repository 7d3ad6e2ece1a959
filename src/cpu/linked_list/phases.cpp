#include "cpu/linked_list/phases.hpp"

#include "core/startable.hpp"
#include "cpu/linked_list/nodes.hpp"
#include "cpu/linked_list/successors.hpp"
#include "cpu/threads/parts.hpp"

namespace sheaf::cpu {

using namespace primitives;

namespace {

/// Where values come from and how they lie in the nodes. Widths are those of the call, or constants, for which the
/// compiler makes a loop of its own.
struct value_places {
  const std::byte* from;
  std::uint64_t from_stride;
  std::byte* to;
  std::uint64_t to_stride;
};

template <class Word, class Successors, class PutValue>
successors_seen copy_part(const Successors& next, std::uint64_t count, std::uint64_t begin, std::uint64_t end,
                          std::byte* links, std::uint64_t stride, PutValue put_value) {
  successors_seen seen;
  std::uint64_t bad = 0;
  for (std::uint64_t i = begin; i < end; ++i) {
    const auto to = next[i];
    const bool ends = next.ends_list(i, to);
    const std::uint64_t link = ends ? count : to;
    bad += static_cast<std::uint64_t>(!ends && to >= count);
    seen.ends += static_cast<std::uint64_t>(ends);
    seen.sum += ends ? 0 : to;
    const Word stored = static_cast<Word>(link);
    std::memcpy(links + i * stride, &stored, sizeof stored);
    put_value(i);
  }
  for (std::uint64_t i = begin; bad > 0 && seen.out_of_range == no_node; ++i) {
    if (!next.ends_list(i, next[i]) && next[i] >= count) seen.out_of_range = i;
  }
  return seen;
}

template <std::uint64_t Bytes, std::uint64_t Stride>
struct put_bytes {
  value_places places;
  void operator()(std::uint64_t i) const noexcept {
    std::memcpy(places.to + i * Stride, places.from + i * places.from_stride, Bytes);
  }
};

template <class Successors>
successors_seen copy_any_part(const list_problem& problem, const sublist_decision& decision, const value_places& places,
                              const Successors& next, std::uint64_t begin, std::uint64_t end, std::byte* nodes) {
  std::byte* const links = nodes + decision.link_at;
  const auto copy = [&](auto word, std::uint64_t stride, auto put_value) {
    return copy_part<decltype(word)>(next, problem.count, begin, end, links, stride, put_value);
  };
  const auto put_nothing = [](std::uint64_t) {};
  if (problem.ranks()) return with_link(decision, [&](auto word) { return copy(word, sizeof word, put_nothing); });
  if (decision.link_bytes == 4 && decision.node_bytes == 8 && problem.value_bytes == 4) {
    return copy(std::uint32_t{}, 8, put_bytes<4, 8>{places});
  }
  if (decision.link_bytes == 4 && decision.node_bytes == 16 && problem.value_bytes == 8) {
    return copy(std::uint32_t{}, 16, put_bytes<8, 16>{places});
  }
  const auto put_any = [&](std::uint64_t i) {
    std::memcpy(places.to + i * places.to_stride, places.from + i * places.from_stride, problem.value_bytes);
  };
  return with_link(decision, [&](auto word) { return copy(word, decision.node_bytes, put_any); });
}

void mark_end_of_all(const list_problem& p, const sublist_decision& d, std::byte* nodes) {
  std::byte* const link = nodes + p.count * d.node_bytes + d.link_at;
  with_link(d, [&](auto word) { std::memcpy(link, &visited_bit<decltype(word)>, sizeof word); });
}

}  // namespace

successors_seen copy_nodes(const list_problem& problem, const list_buffers& buffers, const sublist_decision& decision,
                           std::byte* nodes) {
  value_places places;
  places.from = static_cast<const std::byte*>(problem.is_packed ? buffers.nodes : buffers.in);
  places.from_stride = problem.is_packed ? 8 : problem.value_bytes;
  places.to = decision.values_in_output ? static_cast<std::byte*>(buffers.out) : nodes;
  places.to_stride = decision.values_in_output ? problem.value_bytes : decision.node_bytes;
  mark_end_of_all(problem, decision, nodes);
  successors_seen all;
  with_successors(problem, buffers, [&](const auto& next) {
    std::uint64_t sum = 0;
    std::uint64_t ends = 0;
    std::uint64_t out_of_range = no_node;
// clang-format off
#pragma omp parallel for num_threads(core::startable(static_cast<int>(decision.parts))) schedule(static, 1) if (decision.parts > 1) \
    reduction(+ : sum, ends) reduction(min : out_of_range)
    // clang-format on
    for (std::uint64_t part = 0; part < decision.parts; ++part) {
      const successors_seen seen =
          copy_any_part(problem, decision, places, next, part_begin(problem.count, decision.parts, part),
                        part_begin(problem.count, decision.parts, part + 1), nodes);
      sum += seen.sum;
      ends += seen.ends;
      out_of_range = std::min(out_of_range, seen.out_of_range);
    }
    all = {sum, ends, out_of_range};
  });
  return all;
}

namespace {

/// base[to] = base[from] op total[from]
void put_base(const list_problem& problem, const list_buffers& buffers, const sublist_table& table, std::uint64_t from,
              std::uint64_t to) {
  if (problem.ranks()) {
    with_link(table.decided, [&](auto rank) {
      using word = decltype(rank);
      table.rank_base<word>(to) = table.rank_base<word>(from) + static_cast<word>(table.entries[from].nodes);
    });
  } else {
    std::memcpy(table.base(to), table.total(from), problem.value_bytes);
    if (table.entries[from].has_base != 0)
      buffers.on_host->prepend(buffers.on_host->op, table.base(from), table.base(to), 1);
  }
  table.entries[to].has_base = 1;
}

/// A list begins at the splitter of a sublist, or a walk from its head has ended there.
std::uint64_t follow(const list_problem& problem, const list_buffers& buffers, const sublist_table& table,
                     std::uint64_t sublist_index) {
  std::uint64_t nodes = 0;
  while (sublist_index != no_sublist && table.entries[sublist_index].is_rooted == 0) {
    sublist& at = table.entries[sublist_index];
    at.is_rooted = 1;
    nodes += at.nodes;
    if (at.next != no_sublist) put_base(problem, buffers, table, sublist_index, at.next);
    sublist_index = at.next;
  }
  return nodes;
}

}  // namespace

std::uint64_t follow_sublists(const list_problem& problem, const list_buffers& buffers, const sublist_table& table,
                              const walked& found, std::uint64_t head) {
  std::uint64_t nodes = found.nodes_rooted;
  const auto follow_each = [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t sublist_index = begin; sublist_index < end; ++sublist_index) {
      sublist& first = table.entries[sublist_index];
      const bool is_head = first.splitter != no_node && first.is_reached == 0 &&
                           (problem.lists == list_count::many || first.splitter == head);
      if (is_head && buffers.initial != nullptr) {
        std::memcpy(table.base(sublist_index), buffers.initial, problem.value_bytes);
        first.has_base = 1;
      }
      if (is_head || first.follows_head != 0) nodes += follow(problem, buffers, table, sublist_index);
    }
  };
  follow_each(0, table.decided.splitters);
  follow_each(table.first_added(), table.first_added() + found.added);
  return nodes;
}

namespace {

core::index_report report_of_fault(const list_problem& p, list_fault fault, std::uint64_t position, std::uint64_t value,
                                   std::uint64_t limit) {
  return {.call = 0, .position = position, .value = value, .limit = limit, .wording = &wording_of(p, fault)};
}

template <class Successors>
core::index_report two_predecessors(const list_problem& problem, const Successors& next, std::uint64_t node) {
  std::uint64_t found[2] = {};
  int predecessors = 0;
  for (std::uint64_t i = 0; i < problem.count && predecessors < 2; ++i) {
    if (next[i] == node && !next.ends_list(i, next[i])) found[predecessors++] = i;
  }
  return report_of_fault(problem, list_fault::two_predecessors, node, found[0], found[1]);
}

}  // namespace

core::index_report out_of_range(const list_problem& p, const list_buffers& b, std::uint64_t position) {
  core::index_report report = report_of_fault(p, list_fault::out_of_range, position, 0, p.count);
  report.is_signed = p.successor == index_type::i32 || p.successor == index_type::i64;
  with_successors(p, b, [&](const auto& next) { report.value = next[position]; });
  return report;
}

core::index_report on_a_cycle(const list_problem& p, std::uint64_t position) {
  return report_of_fault(p, list_fault::on_a_cycle, position, 0, 0);
}

core::index_report find_joined_lists(const list_problem& problem, const list_buffers& buffers, const node_bits& led,
                                     const node_bits& twice, std::uint64_t parts) {
  core::index_report found;
  led.clear(parts);
  twice.clear(parts);
  with_successors(problem, buffers, [&](const auto& next) {
    for_each_range(problem.count, parts, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
      for (std::uint64_t i = begin; i < end; ++i) {
        const std::uint64_t to = next[i];
        if (!next.ends_list(i, next[i]) && led.set(to)) twice.set(to);
      }
    });
    const std::uint64_t joined = twice.find(true, 0, problem.count);
    if (joined < problem.count) {
      found = two_predecessors(problem, next, joined);
      return;
    }
    const std::uint64_t head = led.find(false, 0, problem.count);
    const std::uint64_t other = head < problem.count ? led.find(false, head + 1, problem.count) : problem.count;
    if (other < problem.count && problem.lists == list_count::one) {
      found = report_of_fault(problem, list_fault::two_heads, head, other, 0);
    }
  });
  return found;
}

}  // namespace sheaf::cpu
