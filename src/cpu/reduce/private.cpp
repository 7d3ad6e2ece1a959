#include <limits>

#include "core/startable.hpp"
#include "cpu/movement/memory_cost.hpp"
#include "cpu/reduce/numbers_in_order.hpp"
#include "cpu/reduce/typed_arrays.hpp"
#include "cpu/threads/checked_parts.hpp"
#include "cpu/threads/core_speed.hpp"
#include "cpu/threads/parts.hpp"

namespace sheaf::cpu {
namespace {

using namespace primitives;

// Identity element of a reduction. For sums and differences of floats it is -0: x + -0 is x and -0 - x is -x for every
// x, even for a zero of either sign.
template <class T>
constexpr T identity_of(reduction op) {
  if (op == reduction::min) return std::numeric_limits<T>::max();
  if (op == reduction::max) return std::numeric_limits<T>::lowest();
  return std::is_floating_point_v<T> ? static_cast<T>(-0.0) : T{0};
}

// What plan decides for run.
struct private_decision {
  std::uint64_t parts;  ///< parts of the values, each with an output of its own but the first

  void tell(plan::told& to) const { to.add("parts", parts); }
};

// No line of a private output is in another thread's cache, whereas the rates of writes at random are those of one
// array that all threads write. So accesses cost what reads cost, over all outputs where these are past a core's cache.
memory_cost private_cost(const scatter_reduce_problem& problem, std::uint64_t parts, const machine& machine) {
  memory_cost cost = scatter_cost(problem, machine);
  movement own = problem;
  if (own.indexed_bytes() <= own_cache_bytes(machine)) {
    cost.overlap_exponent = std::max(cost.overlap_exponent, overlap_exponent);
  } else {
    own.indexed_count *= parts;
  }
  cost.indexed_random = std::min(cost.indexed_random, gather_cost(own, machine).indexed_random);
  return cost;
}

// Privatization, for small outputs: each thread reduces its part of the values into an output of its own, and the
// private outputs are reduced into the caller's. Slots take their values in another order than that of the positions,
// which changes no integer result.
plan::planned plan_private(const scatter_reduce_problem& problem, const plan::scope& scope) {
  const machine& machine = scope.machine;
  const bool is_float = problem.type == value_type::f32 || problem.type == value_type::f64;
  if (is_float && !problem.sums()) return plan::rejected("no float leaves every minimum and maximum unchanged");
  if (problem.order_matters() && problem.order == reduction_order::deterministic) {
    return plan::rejected("the order of its sums depends on the number of threads");
  }
  const std::uint64_t parts = parts_worth(2 * problem.sequential_bytes() + problem.index_bytes(), machine.parallelism);
  const memory_cost cost = private_cost(problem, parts, machine);
  const double digits = digits_of_number + digits_of_skew(problem);
  plan::planned plan;
  plan.add("latency", machine.launch_seconds + machine.step_seconds);
  plan.add_overlapped(cost.overlap_exponent, {{"streamed", cost.sequential + cost.indexed_streamed},
                                              {"random write", past_first_cache(cost.indexed_random, problem, machine)},
                                              {"steps", shared_digit_seconds(problem.count, digits, machine, parts)}});
  plan.by_name_only = parts == 1;  // which is cpu.owner by one thread
  plan.decided.set(private_decision{parts});
  plan.scratch_bytes = (parts - 1) * problem.indexed_bytes();
  if (plan.scratch_bytes > machine.memory_bytes / 4)
    return plan::rejected("its scratch would take a quarter of memory");
  return plan.add("copies", machine.streamed(3 * plan.scratch_bytes, plan.scratch_bytes));
}

void run_private(const context& ctx, const scatter_reduce_problem& problem, const plan::planned& plan,
                 const scatter_reduce_buffers& buffers, std::byte* scratch) {
  core::cpu_state& state = core::cpu(ctx);
  const std::uint64_t call = state.begin_call();
  const std::uint64_t parts = plan.decided.get<private_decision>().parts;
  first_bad bad;
  with_arrays_and_op(problem, buffers, [&](const auto* index, const auto* in, auto* out, auto op) {
    using T = std::remove_pointer_t<decltype(out)>;
    std::uint64_t first_bad_position = ~std::uint64_t{0};
    const auto private_output = [&](std::uint64_t part) {
      return reinterpret_cast<T*>(scratch) + (part - 1) * problem.indexed_count;
    };
#pragma omp parallel for num_threads(core::startable(static_cast <int>(parts))) schedule(static, 1) \
    reduction(min                                                                                   \
              : first_bad_position)
    for (std::uint64_t part = 0; part < parts; ++part) {
      T* const own = part == 0 ? out : private_output(part);
      if (part > 0) std::fill_n(own, problem.indexed_count, identity_of<T>(problem.op));
      const std::uint64_t begin = part_begin(problem.count, parts, part);
      const std::uint64_t end = part_begin(problem.count, parts, part + 1);
      const first_bad found = reduce_in_order(index + begin, in + begin, own, end - begin, problem.index_limit(),
                                              problem.indexed_count, op);
      first_bad_position = std::min(first_bad_position, found.behind(begin).position);
    }
    for_each_range(problem.indexed_count, parts, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
      for (std::uint64_t copy = 1; copy < parts; ++copy) {
        const T* const values = private_output(copy);
        for (std::uint64_t i = begin; i < end; ++i) {
          out[i] = op.merged(out[i], values[i]);
        }
      }
    });
    bad.position = first_bad_position;
  });
  if (bad.found()) {
    state.keep_first(report_of(buffers.index, bad.position, call, problem.indexed_count, scatter_reduce_wording));
  }
}

}  // namespace

extern constinit const scatter_reduce_variant scatter_reduce_private{"cpu.private", backend_kind::cpu, plan_private,
                                                                     run_private};

}  // namespace sheaf::cpu
