#include "cpu/movement/memory_cost.hpp"
#include "cpu/reduce/typed_arrays.hpp"
#include "cpu/threads/cache_hints.hpp"
#include "cpu/threads/checked_parts.hpp"
#include "cpu/threads/core_speed.hpp"

namespace sheaf::cpu {
namespace {

using namespace primitives;

// Time each thread spends asking of every value whether its slot is the thread's own. The branch is mispredicted as
// often as the answer is yes. Xeon of family 6 model 207, 2^24 values into 256 slots: 2 ns a value on one thread, which
// does not ask, 6 ns on each of two threads.
double ownership_check_seconds(const scatter_reduce_problem& p, const machine& m) {
  constexpr double digits_per_value = 0.385;
  constexpr double digits_per_own_value = 3.85;
  if (m.parallelism <= 1) return 0;
  return static_cast<double>(p.count) * (digits_per_value + digits_per_own_value / m.parallelism) * digit_seconds(m);
}

// Owner computes: each thread owns a range of the output and reads the whole index list, so every slot takes its values
// in the order of their positions. A single thread owns all slots and does not ask.
plan::planned plan_owner(const scatter_reduce_problem& problem, const plan::scope& scope) {
  const machine& m = scope.machine;
  memory_cost t = scatter_cost(problem, m);
  t.sequential += m.streamed(problem.index_bytes() * (m.parallelism - 1), problem.index_bytes());
  plan::planned plan = to_plan(t, m, true);
  plan.add("ownership checks", ownership_check_seconds(problem, m));
  return plan;
}

template <class Index, class T, class Op>
first_bad reduce_owned(const scatter_reduce_problem& problem, const Index* index, const T* in, T* out,
                       std::uint64_t begin, std::uint64_t end, Op op) {
  constexpr std::uint64_t distance = prefetch_distance;
  const std::uint64_t prefetch_end =
      prefetches_writes(problem) && problem.count > distance ? problem.count - distance : 0;
  const bool owns_all = end - begin == problem.indexed_count;
  first_bad bad;
  for (std::uint64_t i = 0; i < problem.count; ++i) {
    const std::uint64_t to = index[i];
    if (to - begin < end - begin) {
      if (owns_all && i < prefetch_end)
        prefetch(reinterpret_cast<const std::byte*>(out), index[i + distance] * sizeof(T), 1);
      out[to] = op(out[to], in[i]);
    } else if (to >= problem.indexed_count) {
      bad.note(i);
    }
  }
  return bad;
}

void run_owner(const context& ctx, const scatter_reduce_problem& problem, const plan::planned&,
               const scatter_reduce_buffers& b, std::byte*) {
  with_arrays_and_op(problem, b, [&](const auto* index, const auto* in, auto* out, auto op) {
    for_each_checked_part(ctx, problem, problem.indexed_count, b.index, scatter_reduce_wording,
                          [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
                            return reduce_owned(problem, index, in, out, begin, end, op);
                          });
  });
}

}  // namespace

extern constinit const scatter_reduce_variant scatter_reduce_owner{"cpu.owner", backend_kind::cpu, plan_owner,
                                                                   run_owner};

}  // namespace sheaf::cpu
