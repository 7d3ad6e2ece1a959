#include "cpu/movement/in_order.hpp"

#include "cpu/movement/ranges.hpp"
#include "cpu/threads/core_speed.hpp"

namespace sheaf::cpu {
namespace {

// for_each_checked_part() over all entries, with the layout whose copy is the fastest.
template <class Move>
void move_in_order(const context& ctx, const primitives::movement& m, index_span list,
                   const core::index_wording& wording, std::uint64_t threads, Move move) {
  with_index(list, [&](const auto* index) {
    with_own_layout(m, [&](auto layout) {
      for_each_checked_part(ctx, m, m.count, list, wording, threads,
                            [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
                              return move(layout, index + begin, begin, end - begin).behind(begin);
                            });
    });
  });
}

// Whether threads write to ranges of their own, as samples of their parts of the list say.
template <class Index>
bool write_apart(const Index* index, std::uint64_t count, std::uint64_t parts) {
  constexpr std::uint64_t samples = 16;
  const auto range_of = [&](std::uint64_t part) {
    const std::uint64_t begin = part_begin(count, parts, part);
    const std::uint64_t entries = part_begin(count, parts, part + 1) - begin;
    std::pair<Index, Index> range{index[begin], index[begin]};
    for (std::uint64_t s = 1; s < samples; ++s) {
      const Index entry = index[begin + entries * s / samples];
      range = {std::min(range.first, entry), std::max(range.second, entry)};
    }
    return range;
  };
  for (std::uint64_t part = 1; part < parts; ++part) {
    const auto before = range_of(part - 1);
    const auto here = range_of(part);
    if (before.second >= here.first && here.second >= before.first) return false;
  }
  return true;
}

// Threads of a scatter. Those that write narrow records into the same lines take these from one another's caches, as
// long as half of a core's own cache holds them: 2^14 records of 8 bytes at random take two threads of an EPYC of
// family 25 56 us, one thread 30. Of 16 bytes two threads take 53 us, one thread 75; of 32 bytes 75 and 136. 2^18
// records of 8 bytes, twice what a core of an EPYC of family 26 has to itself, take two threads 298 us there, one
// thread 452.
std::uint64_t writing_threads(const context& ctx, const primitives::scatter_problem& problem, index_span list) {
  std::uint64_t threads = threads_worth(ctx, problem);
  constexpr std::uint64_t most_bytes = 8;
  constexpr std::uint64_t most_threads = 3;  // that one is worth; more have not been measured
  if (threads == 1 || threads > most_threads || threads > problem.count || problem.record_bytes > most_bytes ||
      problem.indexed_bytes() > own_cache_bytes(ctx.profile()) / 2)
    return threads;
  with_index(list, [&](const auto* index) {
    if (!write_apart(index, problem.count, threads)) threads = 1;
  });
  return threads;
}

}  // namespace

void gather_in_order(const context& ctx, const primitives::gather_problem& problem, const primitives::gather_buffers& b,
                     in_order_decision how) {
  move_in_order(ctx, problem, b.index, primitives::gather_wording, threads_worth(ctx, problem),
                [&](auto layout, const auto* index, std::uint64_t begin, std::uint64_t count) {
                  gather_range range(layout, index, b.table.data, b.out.data + layout.sequential_offset(begin),
                                     problem.index_limit());
                  return range.run(count, how.prefetches, how.streams);
                });
}

void scatter_in_order(const context& ctx, const primitives::scatter_problem& problem,
                      const primitives::scatter_buffers& b, in_order_decision how) {
  move_in_order(ctx, problem, b.index, primitives::scatter_wording, writing_threads(ctx, problem, b.index),
                [&](auto layout, const auto* index, std::uint64_t begin, std::uint64_t count) {
                  return scatter_range(layout, index, b.in.data + layout.sequential_offset(begin), b.out.data, count,
                                       problem.index_limit(), how.prefetches, how.streams);
                });
}

}  // namespace sheaf::cpu
