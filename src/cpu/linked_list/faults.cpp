#include "cpu/linked_list/faults.hpp"

#include "cpu/linked_list/successors.hpp"
#include "cpu/threads/parts.hpp"

namespace sheaf::cpu {
namespace {

using primitives::list_buffers;
using primitives::list_fault;
using primitives::list_problem;

core::index_report report_of(const list_problem& p, list_fault fault, std::uint64_t position, std::uint64_t value,
                             std::uint64_t limit) {
  core::index_report report;
  report.call = 0;
  report.position = position;
  report.value = value;
  report.limit = limit;
  report.words = &words_of(p, fault);
  return report;
}

template <class Successors>
core::index_report two_predecessors(const list_problem& p, const Successors& next, std::uint64_t node) {
  std::uint64_t found[2] = {};
  int predecessors = 0;
  for (std::uint64_t i = 0; i < p.count && predecessors < 2; ++i) {
    if (next[i] == node && !next.ends_list(i, next[i])) found[predecessors++] = i;
  }
  return report_of(p, list_fault::two_predecessors, node, found[0], found[1]);
}

}  // namespace

core::index_report out_of_range(const list_problem& p, const list_buffers& b, std::uint64_t position) {
  core::index_report report = report_of(p, list_fault::out_of_range, position, 0, p.count);
  report.is_signed = p.successor == index_type::i32 || p.successor == index_type::i64;
  with_successors(p, b, [&](const auto& next) { report.value = next[position]; });
  return report;
}

core::index_report on_a_cycle(const list_problem& p, std::uint64_t position) {
  return report_of(p, list_fault::on_a_cycle, position, 0, 0);
}

core::index_report find_joined_lists(const list_problem& p, const list_buffers& b, const node_bits& led,
                                     const node_bits& twice, std::uint64_t parts) {
  core::index_report found;
  led.clear(parts);
  twice.clear(parts);
  with_successors(p, b, [&](const auto& next) {
    for_each_part(parts, [&](std::uint64_t part) {
      const std::uint64_t end = part_begin(p.count, parts, part + 1);
      for (std::uint64_t i = part_begin(p.count, parts, part); i < end; ++i) {
        const std::uint64_t to = next[i];
        if (!next.ends_list(i, next[i]) && led.set(to)) twice.set(to);
      }
    });
    const std::uint64_t joined = twice.find(true, 0, p.count);
    if (joined < p.count) {
      found = two_predecessors(p, next, joined);
      return;
    }
    const std::uint64_t head = led.find(false, 0, p.count);
    const std::uint64_t other = head < p.count ? led.find(false, head + 1, p.count) : p.count;
    if (other < p.count && p.lists == list_count::one) {
      found = report_of(p, list_fault::two_heads, head, other, 0);
    }
  });
  return found;
}

}  // namespace sheaf::cpu
