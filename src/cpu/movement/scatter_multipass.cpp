#include "cpu/movement/multipass.hpp"
#include "primitives/movement/scatter.hpp"

namespace sheaf::cpu {
namespace {

using primitives::scatter_buffers;
using primitives::scatter_problem;

plan::planned plan_multipass(const scatter_problem& p, const plan::scope& scope) {
  const machine& m = scope.machine;
  if (p.duplicates == duplicates::last) return plan::rejected("any writer may win");
  if (p.indexed_count == 0) return plan::rejected("there is no record that an index could name");
  return plan_passes(p, m, plan::he2007::operation::scatter);
}

// One pass over a part of the list: moves the records of one region. A bad index lies in no region; the first pass
// reports it.
template <class Layout, class Index>
first_bad scatter_region(Layout layout, const Index* index, std::uint64_t count, const std::byte* in, std::byte* out,
                         std::uint64_t region_begin, std::uint64_t region_count, std::uint64_t limit, bool is_first) {
  first_bad bad;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t to = index[i];
    if (to - region_begin < region_count) {
      layout.copy(out + layout.indexed_offset(to), in + layout.sequential_offset(i));
    } else if (is_first && to >= limit) {
      bad.note(i);
    }
  }
  return bad;
}

void run_multipass(const context& ctx, const scatter_problem& p, const plan::planned& plan, const scatter_buffers& b,
                   std::byte*) {
  const auto decided = plan.decided.get<primitives::multipass_decision>();
  with_index(b.index, [&](const auto* index) {
    with_layout(p, [&](auto layout) {
      for_each_checked_part(ctx, p, p.count, b.index, primitives::scatter_words,
                            [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
                              return for_each_pass(
                                  p, decided, begin, end,
                                  [&](std::uint64_t first, std::uint64_t count, std::uint64_t region_begin,
                                      std::uint64_t region_count, bool is_first) {
                                    return scatter_region(layout, index + first, count,
                                                          b.in.data + layout.sequential_offset(first), b.out.data,
                                                          region_begin, region_count, p.index_limit(), is_first);
                                  });
                            });
    });
  });
}

}  // namespace

extern constinit const primitives::scatter_variant scatter_multipass{"cpu.multipass", backend_kind::cpu, plan_multipass,
                                                                     run_multipass};

}  // namespace sheaf::cpu
