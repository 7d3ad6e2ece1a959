#include "cpu/movement/multipass.hpp"
#include "primitives/movement/gather.hpp"

namespace sheaf::cpu {
namespace {

using primitives::gather_buffers;
using primitives::gather_problem;

plan::planned plan_multipass(const gather_problem& p, const plan::scope& scope) {
  const machine& m = scope.machine;
  if (p.indexed_count == 0) return plan::rejected("there is no record that an index could name");
  return plan_passes(p, m, plan::he2007::operation::gather);
}

// One pass over a part of the list: moves the records of one region. A bad index lies in no region; the first pass
// clears its record and reports it.
template <class Layout, class Index>
first_bad gather_region(Layout layout, const Index* index, std::uint64_t count, const std::byte* table, std::byte* out,
                        std::uint64_t region_begin, std::uint64_t region_count, std::uint64_t limit, bool is_first) {
  first_bad bad;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t from = index[i];
    if (from - region_begin < region_count) {
      layout.copy(out + layout.sequential_offset(i), table + layout.indexed_offset(from));
    } else if (is_first && from >= limit) {
      layout.clear(out + layout.sequential_offset(i));
      bad.note(i);
    }
  }
  return bad;
}

void run_multipass(const context& ctx, const gather_problem& p, const plan::planned& plan, const gather_buffers& b,
                   std::byte*) {
  const auto decided = plan.decided.get<primitives::multipass_decision>();
  with_index(b.index, [&](const auto* index) {
    with_layout(p, [&](auto layout) {
      for_each_checked_part(ctx, p, p.count, b.index, primitives::gather_words,
                            [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
                              return for_each_pass(
                                  p, decided, begin, end,
                                  [&](std::uint64_t first, std::uint64_t count, std::uint64_t region_begin,
                                      std::uint64_t region_count, bool is_first) {
                                    return gather_region(layout, index + first, count, b.table.data,
                                                         b.out.data + layout.sequential_offset(first), region_begin,
                                                         region_count, p.index_limit(), is_first);
                                  });
                            });
    });
  });
}

}  // namespace

extern constinit const primitives::gather_variant gather_multipass{"cpu.multipass", backend_kind::cpu, plan_multipass,
                                                                   run_multipass};

}  // namespace sheaf::cpu
