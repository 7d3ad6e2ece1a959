#include "cpu/movement/in_order.hpp"

#include "cpu/movement/ranges.hpp"

namespace sheaf::cpu {
namespace {

// for_each_checked_part() over all entries, with the layout whose copy is the fastest.
template <class Move>
void move_in_order(const context& ctx, const primitives::movement& m, index_span list,
                   const core::index_wording& wording, Move move) {
  with_index(list, [&](const auto* index) {
    with_own_layout(m, [&](auto layout) {
      for_each_checked_part(ctx, m, m.count, list, wording, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
        return move(layout, index + begin, begin, end - begin).behind(begin);
      });
    });
  });
}

}  // namespace

void gather_in_order(const context& ctx, const primitives::gather_problem& problem, const primitives::gather_buffers& b,
                     in_order_decision how) {
  move_in_order(ctx, problem, b.index, primitives::gather_wording,
                [&](auto layout, const auto* index, std::uint64_t begin, std::uint64_t count) {
                  gather_range range(layout, index, b.table.data, b.out.data + layout.sequential_offset(begin),
                                     problem.index_limit());
                  return range.run(count, how.prefetches, how.streams);
                });
}

void scatter_in_order(const context& ctx, const primitives::scatter_problem& problem,
                      const primitives::scatter_buffers& b, in_order_decision how) {
  move_in_order(ctx, problem, b.index, primitives::scatter_wording,
                [&](auto layout, const auto* index, std::uint64_t begin, std::uint64_t count) {
                  return scatter_range(layout, index, b.in.data + layout.sequential_offset(begin), b.out.data, count,
                                       problem.index_limit(), how.prefetches, how.streams);
                });
}

}  // namespace sheaf::cpu
