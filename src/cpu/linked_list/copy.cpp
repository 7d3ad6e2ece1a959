#include "cpu/linked_list/copy.hpp"

#include <algorithm>
#include <cstring>

#include "core/startable.hpp"
#include "cpu/linked_list/nodes.hpp"
#include "cpu/linked_list/successors.hpp"
#include "cpu/threads/parts.hpp"

namespace sheaf::cpu {
namespace {

using primitives::list_buffers;
using primitives::list_problem;

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
  value_places v;
  void operator()(std::uint64_t i) const noexcept { std::memcpy(v.to + i * Stride, v.from + i * v.from_stride, Bytes); }
};

template <class Successors>
successors_seen copy_any_part(const list_problem& p, const sublist_decision& d, const value_places& v,
                              const Successors& next, std::uint64_t begin, std::uint64_t end, std::byte* nodes) {
  std::byte* const links = nodes + d.link_at;
  const auto copy = [&](auto word, std::uint64_t stride, auto put_value) {
    return copy_part<decltype(word)>(next, p.count, begin, end, links, stride, put_value);
  };
  const auto put_nothing = [](std::uint64_t) {};
  if (p.ranks()) {
    return d.link_bytes == 4 ? copy(std::uint32_t{}, 4, put_nothing) : copy(std::uint64_t{}, 8, put_nothing);
  }
  if (d.link_bytes == 4 && d.node_bytes == 8 && p.value_bytes == 4) {
    return copy(std::uint32_t{}, 8, put_bytes<4, 8>{v});
  }
  if (d.link_bytes == 4 && d.node_bytes == 16 && p.value_bytes == 8) {
    return copy(std::uint32_t{}, 16, put_bytes<8, 16>{v});
  }
  const auto put_any = [&](std::uint64_t i) {
    std::memcpy(v.to + i * v.to_stride, v.from + i * v.from_stride, p.value_bytes);
  };
  return d.link_bytes == 4 ? copy(std::uint32_t{}, d.node_bytes, put_any)
                           : copy(std::uint64_t{}, d.node_bytes, put_any);
}

void mark_end_of_all(const list_problem& p, const sublist_decision& d, std::byte* nodes) {
  std::byte* const link = nodes + p.count * d.node_bytes + d.link_at;
  if (d.link_bytes == 4) {
    std::memcpy(link, &visited_bit<std::uint32_t>, 4);
  } else {
    std::memcpy(link, &visited_bit<std::uint64_t>, 8);
  }
}

}  // namespace

successors_seen copy_nodes(const list_problem& p, const list_buffers& b, const sublist_decision& d, std::byte* nodes) {
  value_places v;
  v.from = static_cast<const std::byte*>(p.is_packed ? b.nodes : b.in);
  v.from_stride = p.is_packed ? 8 : p.value_bytes;
  v.to = d.values_in_output ? static_cast<std::byte*>(b.out) : nodes;
  v.to_stride = d.values_in_output ? p.value_bytes : d.node_bytes;
  mark_end_of_all(p, d, nodes);
  successors_seen all;
  with_successors(p, b, [&](const auto& next) {
    std::uint64_t sum = 0;
    std::uint64_t ends = 0;
    std::uint64_t out_of_range = no_node;
// clang-format off
#pragma omp parallel for num_threads(core::startable(static_cast<int>(d.parts))) schedule(static, 1) if (d.parts > 1) \
    reduction(+ : sum, ends) reduction(min : out_of_range)
    // clang-format on
    for (std::uint64_t part = 0; part < d.parts; ++part) {
      const successors_seen seen = copy_any_part(p, d, v, next, part_begin(p.count, d.parts, part),
                                                 part_begin(p.count, d.parts, part + 1), nodes);
      sum += seen.sum;
      ends += seen.ends;
      out_of_range = std::min(out_of_range, seen.out_of_range);
    }
    all = {sum, ends, out_of_range};
  });
  return all;
}

}  // namespace sheaf::cpu
