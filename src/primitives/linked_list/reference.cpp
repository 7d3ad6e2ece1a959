#include "core/cpu_state.hpp"
#include "core/scratch_offsets.hpp"
#include "primitives/index_reader.hpp"
#include "primitives/linked_list/contract.hpp"

namespace sheaf::reference {

using namespace primitives;

namespace {

constexpr std::uint64_t no_node = ~std::uint64_t{0};

/// The successors of a list of any type and layout. Simple rather than fast.
class successor_reader {
 public:
  successor_reader(const list_problem& p, const list_buffers& b)
      : is_packed_(p.is_packed), type_(p.successor), data_(p.is_packed ? b.nodes : b.successor.data) {}

  /// The bits of node i's successor, sign-extended where the type is signed.
  std::uint64_t bits(std::uint64_t i) const {
    const std::uint64_t entry = is_packed_ ? 2 * i + 1 : i;
    return index_reader({data_, 0, type_}, 0).bits(entry);
  }
  bool is_signed() const { return type_ == index_type::i32 || type_ == index_type::i64; }
  bool ends_list(std::uint64_t i) const {
    const std::uint64_t next = bits(i);
    const std::uint64_t all_ones = type_ == index_type::u32 ? 0xffffffffU : no_node;
    return next == all_ones || next == i || (is_signed() && static_cast<std::int64_t>(next) < 0);
  }

 private:
  bool is_packed_;
  index_type type_;
  const void* data_;
};

/// What is known of a node while lists are walked.
enum : unsigned char { led_to = 1, visited = 2 };

core::index_report report(std::uint64_t call, const list_problem& problem, list_fault fault, std::uint64_t position,
                          std::uint64_t value, std::uint64_t limit) {
  core::index_report report;
  report.call = call;
  report.position = position;
  report.value = value;
  report.limit = limit;
  report.wording = &wording_of(problem, fault);
  return report;
}

/// The lowest node that two nodes lead to, as a report; one that says nothing if there is none.
core::index_report two_predecessors(std::uint64_t call, const list_problem& problem, const successor_reader& next,
                                    const unsigned char* led_twice) {
  std::uint64_t node = 0;
  while (node < problem.count && led_twice[node] == 0) ++node;
  if (node == problem.count) return {};
  std::uint64_t first = no_node;
  for (std::uint64_t i = 0; i < problem.count; ++i) {
    if (next.ends_list(i) || next.bits(i) != node) continue;
    if (first != no_node) return report(call, problem, list_fault::two_predecessors, node, first, i);
    first = i;
  }
  return {};
}

/// Walks one list from its head, folding values or counting nodes.
void walk(const list_problem& problem, const list_buffers& buffers, const successor_reader& next, std::uint64_t head,
          unsigned char* state, std::byte* running) {
  std::uint64_t rank = 0;
  bool has_running = buffers.initial != nullptr;
  if (has_running) std::memcpy(running, buffers.initial, problem.value_bytes);
  for (std::uint64_t node = head;; node = next.bits(node)) {
    state[node] |= visited;
    if (problem.ranks()) {
      if (problem.out_bytes == 4) {
        static_cast<std::uint32_t*>(buffers.out)[node] = static_cast<std::uint32_t>(rank++);
      } else {
        static_cast<std::uint64_t*>(buffers.out)[node] = rank++;
      }
    } else {
      // Of packed nodes, the value is every second number of 4 bytes.
      const std::uint64_t place = problem.is_packed ? 2 * node : node;
      buffers.on_host->fold(buffers.on_host->op, problem.is_packed ? buffers.nodes : buffers.in, &place, true, 1,
                            problem.is_exclusive, has_running, running,
                            static_cast<std::byte*>(buffers.out) + node * problem.value_bytes);
      has_running = true;
    }
    if (next.ends_list(node)) return;
  }
}

// Finds the heads, then walks each list in turn.
plan::planned plan_serial(const list_problem& p, const plan::scope& scope) {
  plan::planned plan = plan::serial(2 * static_cast<double>(p.count), scope);
  const std::uint64_t state_bytes = core::scratch_aligned(p.count);
  plan.scratch_bytes = 2 * state_bytes + core::scratch_aligned(p.value_bytes);
  return plan;
}

void run_serial(const context& ctx, const list_problem& problem, const plan::planned&, const list_buffers& buffers,
                std::byte* scratch) {
  core::cpu_state& state = core::cpu(ctx);
  const std::uint64_t call = state.begin_call();
  const successor_reader next(problem, buffers);
  auto* const node_state = reinterpret_cast<unsigned char*>(scratch);
  auto* const led_twice = node_state + core::scratch_aligned(problem.count);
  std::byte* const running = scratch + 2 * core::scratch_aligned(problem.count);
  std::memset(scratch, 0, 2 * core::scratch_aligned(problem.count));

  for (std::uint64_t i = 0; i < problem.count; ++i) {
    if (next.ends_list(i)) continue;
    const std::uint64_t to = next.bits(i);
    if (to >= problem.count) {
      core::index_report bad = report(call, problem, list_fault::out_of_range, i, to, problem.count);
      bad.is_signed = next.is_signed();
      return state.keep_first(bad);
    }
    if ((node_state[to] & led_to) != 0) led_twice[to] = 1;
    node_state[to] |= led_to;
  }
  const core::index_report joined = two_predecessors(call, problem, next, led_twice);
  if (joined.found()) return state.keep_first(joined);
  std::uint64_t first_head = no_node;
  for (std::uint64_t i = 0; i < problem.count; ++i) {
    if ((node_state[i] & led_to) != 0) continue;
    if (first_head != no_node && problem.lists == list_count::one) {
      return state.keep_first(report(call, problem, list_fault::two_heads, first_head, i, 0));
    }
    first_head = std::min(first_head, i);
    walk(problem, buffers, next, i, node_state, running);
  }
  for (std::uint64_t i = 0; i < problem.count; ++i) {
    if ((node_state[i] & visited) == 0) return state.keep_first(report(call, problem, list_fault::on_a_cycle, i, 0, 0));
  }
}

}  // namespace

extern constinit const list_variant list_serial{"reference.serial", backend_kind::cpu, plan_serial, run_serial};

}  // namespace sheaf::reference
