#include "cpu/threads/parts.hpp"
#include "primitives/split/contract.hpp"

namespace sheaf::cpu {
namespace {

using namespace primitives;

plan::planned plan_rows(const row_of_entry_problem& p, const plan::scope& scope) {
  const machine& m = scope.machine;
  const std::uint64_t streamed = (p.rows + 1) * sizeof(std::uint64_t) + p.entries * bytes(p.index);
  plan::planned plan;
  plan.add("latency", m.launch_seconds + m.step_seconds);
  plan.add("streamed", m.streamed(streamed, streamed));
  return plan;
}

template <class Index>
void fill_part(const row_of_entry_problem& problem, const row_of_entry_buffers& b, std::uint64_t begin,
               std::uint64_t end) {
  Index* const out = static_cast<Index*>(b.row_of_entry);
  // The first row that reaches into the part, by binary search; where rows do not ascend, any row will do.
  const std::uint64_t* const first = b.first;
  std::uint64_t row = static_cast<std::uint64_t>(std::upper_bound(first, first + problem.rows + 1, begin) - first);
  if (row > 0) --row;
  for (; row < problem.rows && first[row] < end; ++row) {
    const std::uint64_t from = std::clamp(first[row], begin, end);
    const std::uint64_t to = std::clamp(first[row + 1], from, end);
    std::fill(out + from, out + to, static_cast<Index>(row));
  }
}

// Load-balancing search: each thread writes an equal part of the entries, however long the rows are. No long row keeps
// one thread busy, and no thread writes outside its part.
void run_rows(const context& ctx, const row_of_entry_problem& problem, const plan::planned&,
              const row_of_entry_buffers& buffers, std::byte*) {
  const auto threads = static_cast<std::uint64_t>(ctx.threads());
  const std::uint64_t parts =
      parts_worth(problem.rows * sizeof(std::uint64_t) + problem.entries * bytes(problem.index), threads);
  for_each_range(problem.entries, parts, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
    if (begin == end) return;
    if (bytes(problem.index) == 4) {
      fill_part<std::uint32_t>(problem, buffers, begin, end);
    } else {
      fill_part<std::uint64_t>(problem, buffers, begin, end);
    }
  });
}

}  // namespace

extern constinit const row_of_entry_variant row_of_entry{"cpu.row_of_entry", backend_kind::cpu, plan_rows, run_rows};

}  // namespace sheaf::cpu
