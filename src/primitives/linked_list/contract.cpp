#include "primitives/linked_list/contract.hpp"

#include "plan/choose.hpp"
#include "primitives/backends.hpp"
#include "primitives/enum_names.hpp"
#include "primitives/operators/scan_value.hpp"

namespace sheaf {
namespace primitives {

std::span<const list_variant> list_variants() { return list_of<list_variant>(); }

namespace {

constexpr std::string_view rank_call = "list_rank";
constexpr std::string_view scan_call = "list_scan";

std::string two_predecessors(const core::index_wording& wording, const core::index_report& report) {
  return fmt::format("{}: nodes {} and {} both lead to node {}, so this is not a list", wording.call, report.value,
                     report.limit, report.position);
}

std::string two_heads(const core::index_wording& wording, const core::index_report& report) {
  return fmt::format("{}: no node leads to node {} or to node {}: two lists, where one is expected", wording.call,
                     report.position, report.value);
}

std::string on_a_cycle(const core::index_wording& wording, const core::index_report& report) {
  return fmt::format("{}: node {} is on a cycle", wording.call, report.position);
}

}  // namespace

const core::index_wording list_rank_wording[4] = {{"list_rank", "successor", "the list's", "nodes"},
                                                  {"list_rank", "", "", "", two_predecessors},
                                                  {"list_rank", "", "", "", two_heads},
                                                  {"list_rank", "", "", "", on_a_cycle}};
const core::index_wording list_scan_wording[4] = {{"list_scan", "successor", "the list's", "nodes"},
                                                  {"list_scan", "", "", "", two_predecessors},
                                                  {"list_scan", "", "", "", two_heads},
                                                  {"list_scan", "", "", "", on_a_cycle}};

namespace {

constexpr std::uint64_t packed_bytes = 8;
constexpr std::uint64_t most_nodes = std::uint64_t{1} << 56;  // with values of 64 bytes their bytes have 62 bits

/// As require_index_width(), whose error has records where lists have nodes.
void require_node_width(std::string_view call, index_type type, std::string_view what, std::uint64_t nodes) {
  require_index_type(call, type, what);
  const int bits = bytes(type) == 8 ? 63 : type == index_type::i32 ? 31 : 32;
  if (nodes >> bits != 0) refuse("{}: {} has 4-byte entries, too narrow for {} nodes", call, what, nodes);
}

/// The successors and the output; data may be null.
void require_list_shapes(std::string_view call, index_span successor, list_count lists, std::uint64_t out_count,
                         std::string_view out_name) {
  if (successor.count > most_nodes) refuse("{}: {} nodes are more than memory can hold", call, successor.count);
  require_node_width(call, successor.type, "successor", successor.count);
  require_enumerator(call, "lists", lists, list_count::many);
  if (out_count != successor.count) {
    refuse("{}: {} has {} values for {} nodes", call, out_name, out_count, successor.count);
  }
}

void require_list_views(std::string_view call, const context& ctx, index_span successor, const void* out,
                        std::uint64_t out_bytes, std::string_view out_name) {
  const std::uint64_t successor_bytes = successor.count * bytes(successor.type);
  require_memory(call, ctx, successor.data, successor_bytes, "successor");
  require_aligned(call, successor.data, bytes(successor.type), "successor");
  require_memory(call, ctx, out, out_bytes, out_name);
  require_no_overlap(call, out, out_bytes, out_name, successor.data, successor_bytes, "successor");
}

void require_operator(value_type in, value_type out, scan_operator op, const std::optional<scalar>& from) {
  require_enumerator(scan_call, "the type of in", in, value_type::f64);
  require_enumerator(scan_call, "the type of out", out, value_type::f64);
  require_enumerator(scan_call, "the operator", op, scan_operator::bit_xor);
  if (in != out) {
    refuse("{}: in has values of type {}, but out has {}", scan_call, name(in), name(out));
  }
  if (!takes(op, in)) {
    refuse("{}: the bitwise operators take integers, not {}", scan_call, name(in));
  }
  if (from && from->type != in) {
    require_enumerator(scan_call, "the type of exclusive_from", from->type, value_type::f64);
    refuse("{}: exclusive_from has type {}, but the values have {}", scan_call, name(from->type), name(in));
  }
}

void require_rank_shapes(index_span successor, index_output rank, const list_rank_options& options) {
  require_list_shapes(rank_call, successor, options.lists, rank.count, "rank");
  require_node_width(rank_call, rank.type, "rank", successor.count);
}

list_problem describe_rank(const context& ctx, index_span successor, index_output rank,
                           const list_rank_options& options) {
  list_problem problem;
  problem.backend = ctx.backend();
  problem.count = successor.count;
  problem.successor = successor.type;
  problem.out_bytes = bytes(rank.type);
  problem.out_word = static_cast<std::uint32_t>(problem.out_bytes);
  problem.lists = options.lists;
  problem.pattern = options.pattern;
  return problem;
}

list_problem describe_scan(const context& ctx, index_span successor, std::uint64_t value_bytes, bool is_packed,
                           const list_scan_options& options) {
  list_problem problem;
  problem.backend = ctx.backend();
  problem.count = successor.count;
  problem.successor = successor.type;
  problem.value_bytes = problem.out_bytes = value_bytes;
  problem.out_word = widest_word(value_bytes);
  problem.is_packed = is_packed;
  problem.is_exclusive = options.exclusive_from.has_value();
  problem.lists = options.lists;
  problem.pattern = options.pattern;
  return problem;
}

detail::host_scan_operator host_operator_of(value_type type, scan_operator op) {
  detail::host_scan_operator erased;
  with_scan_function(type, op, [&](auto value, const auto& function) {
    static const std::remove_cvref_t<decltype(function)> kept;
    erased = detail::host_operator<decltype(value)>(kept);
  });
  return erased;
}

/// The bits of an exclusive scan's result where nothing but its first number comes before a node.
std::uint64_t alone(scan_operator op, const scalar& first) {
  std::uint64_t bits = 0;
  with_scan_function(first.type, op, [&](auto value, const auto& function) {
    using T = decltype(value);
    std::memcpy(&value, &first.bits, sizeof value);
    value = detail::first_result<std::remove_cvref_t<decltype(function)>, T>::of(function, value);
    std::memcpy(&bits, &value, sizeof value);
  });
  return bits;
}

void run_scan(const context& ctx, const list_problem& problem, list_buffers buffers, value_type type, scan_operator op,
              const list_scan_options& options) {
  const detail::host_scan_operator on_host = host_operator_of(type, op);
  std::uint64_t initial = 0;
  if (options.exclusive_from) {
    initial = alone(op, *options.exclusive_from);
    buffers.initial = &initial;
  }
  buffers.type = type;
  buffers.op = op;
  buffers.on_host = &on_host;
  plan::execute(scan_call, list_variants(), problem, ctx, options.variant, buffers);
}

/// The shape of packed nodes' successors.
index_span successors_of(const_list_nodes nodes) { return {nullptr, nodes.count, nodes.successor_type}; }

void require_packed_views(const context& ctx, const_list_nodes nodes, const void* out, std::uint64_t out_bytes) {
  require_memory(scan_call, ctx, nodes.data, nodes.count * packed_bytes, "nodes");
  require_aligned(scan_call, nodes.data, packed_bytes, "nodes");
  require_memory(scan_call, ctx, out, out_bytes, "out");
  require_no_overlap(scan_call, out, out_bytes, "out", nodes.data, nodes.count * packed_bytes, "nodes");
}

void require_packed_shapes(const_list_nodes nodes, values out, scan_operator op, const list_scan_options& options) {
  require_operator(nodes.type, out.type, op, options.exclusive_from);
  if (bytes(nodes.type) != 4 || bytes(nodes.successor_type) != 4) {
    refuse("{}: packed nodes have values and successors of 4 bytes, not {} and {}", scan_call, bytes(nodes.type),
           bytes(nodes.successor_type));
  }
  require_list_shapes(scan_call, successors_of(nodes), options.lists, out.count, "out");
}

void require_scan_shapes(index_span successor, const_values in, values out, scan_operator op,
                         const list_scan_options& options) {
  require_operator(in.type, out.type, op, options.exclusive_from);
  require_list_shapes(scan_call, successor, options.lists, out.count, "out");
  if (in.count != successor.count) {
    refuse("{}: in has {} values for {} nodes", scan_call, in.count, successor.count);
  }
}

}  // namespace
}  // namespace primitives

using namespace primitives;

void list_rank(const context& ctx, index_span successor, index_output rank, const list_rank_options& options) {
  require_rank_shapes(successor, rank, options);
  require_list_views(rank_call, ctx, successor, rank.data, rank.count * bytes(rank.type), "rank");
  require_aligned(rank_call, rank.data, bytes(rank.type), "rank");
  if (successor.count == 0) return;
  list_buffers buffers;
  buffers.successor = successor;
  buffers.out = rank.data;
  plan::execute(rank_call, list_variants(), describe_rank(ctx, successor, rank, options), ctx, options.variant,
                buffers);
}

void list_scan(const context& ctx, index_span successor, const_values in, values out, scan_operator op,
               const list_scan_options& options) {
  require_scan_shapes(successor, in, out, op, options);
  const std::uint64_t value_bytes = bytes(in.type);
  require_list_views(scan_call, ctx, successor, out.data, out.count * value_bytes, "out");
  require_memory(scan_call, ctx, in.data, in.count * value_bytes, "in");
  require_aligned(scan_call, in.data, value_bytes, "in");
  require_aligned(scan_call, out.data, value_bytes, "out");
  require_no_overlap(scan_call, out.data, out.count * value_bytes, "out", in.data, in.count * value_bytes, "in");
  if (successor.count == 0) return;
  list_buffers buffers;
  buffers.successor = successor;
  buffers.in = in.data;
  buffers.out = out.data;
  run_scan(ctx, describe_scan(ctx, successor, value_bytes, false, options), buffers, in.type, op, options);
}

void list_scan(const context& ctx, const_list_nodes nodes, values out, scan_operator op,
               const list_scan_options& options) {
  require_packed_shapes(nodes, out, op, options);
  const std::uint64_t out_bytes = out.count * bytes(out.type);
  require_packed_views(ctx, nodes, out.data, out_bytes);
  require_aligned(scan_call, out.data, bytes(out.type), "out");
  if (nodes.count == 0) return;
  const index_span successor = successors_of(nodes);
  list_buffers buffers;
  buffers.successor = successor;
  buffers.nodes = nodes.data;
  buffers.out = out.data;
  run_scan(ctx, describe_scan(ctx, successor, bytes(nodes.type), true, options), buffers, nodes.type, op, options);
}

explanation explain_list_rank(const context& ctx, index_span successor, index_output rank,
                              const list_rank_options& options) {
  require_rank_shapes(successor, rank, options);
  return plan::explain(rank_call, list_variants(), describe_rank(ctx, successor, rank, options), ctx, options.variant);
}

explanation explain_list_scan(const context& ctx, index_span successor, const_values in, values out, scan_operator op,
                              const list_scan_options& options) {
  require_scan_shapes(successor, in, out, op, options);
  return plan::explain(scan_call, list_variants(), describe_scan(ctx, successor, bytes(in.type), false, options), ctx,
                       options.variant);
}

explanation explain_list_scan(const context& ctx, const_list_nodes nodes, values out, scan_operator op,
                              const list_scan_options& options) {
  require_packed_shapes(nodes, out, op, options);
  return plan::explain(scan_call, list_variants(),
                       describe_scan(ctx, successors_of(nodes), bytes(nodes.type), true, options), ctx,
                       options.variant);
}

namespace {

// A function on host memory is for contexts of the CPU, one on a device for those of CUDA.
void take(const context& ctx, const detail::host_scan_operator& op, list_buffers& buffers) {
  if (ctx.backend() != backend_kind::cpu) {
    refuse(
        "{}: a function of the caller's runs on a CPU context, not on {}; sheaf/cuda/list_scan.cuh takes one for CUDA",
        scan_call, name(ctx.backend()));
  }
  buffers.on_host = &op;
}
void take(const context& ctx, const detail::device_scan_operator& op, list_buffers& buffers) {
  if (ctx.backend() != backend_kind::cuda) {
    refuse(
        "{}: a device function of the caller's runs on a CUDA context, not on {}; sheaf/list_scan.hpp takes one for "
        "the CPU",
        scan_call, name(ctx.backend()));
  }
  buffers.on_device = &op;
}

/// A call by an operator of the caller's.
struct scan_by {
  const context& ctx;
  records out;
  const detail::untyped_list_options& options;

  template <class Operator>
  void run(index_span successor, const_records in, const Operator& op) const {
    list_buffers buffers;
    take(ctx, op, buffers);
    require_list_shapes(scan_call, successor, options.rest.lists, out.count, "out");
    if (in.count != successor.count) refuse("{}: in has {} values for {} nodes", scan_call, in.count, successor.count);
    const std::uint64_t all_bytes = out.count * out.record_bytes;
    require_list_views(scan_call, ctx, successor, out.data, all_bytes, "out");
    require_memory(scan_call, ctx, in.data, all_bytes, "in");
    require_no_overlap(scan_call, out.data, all_bytes, "out", in.data, all_bytes, "in");
    buffers.in = in.data;
    execute(successor, buffers, false);
  }

  /// Of packed nodes.
  template <class Operator>
  void run(const void* nodes, std::uint64_t count, const Operator& op) const {
    list_buffers buffers;
    take(ctx, op, buffers);
    const const_list_nodes all(nodes, count, value_type::u32);  // whatever the 4 bytes are
    require_list_shapes(scan_call, successors_of(all), options.rest.lists, out.count, "out");
    require_packed_views(ctx, all, out.data, out.count * out.record_bytes);
    buffers.nodes = nodes;
    execute(successors_of(all), buffers, true);
  }

 private:
  void execute(index_span successor, list_buffers& buffers, bool is_packed) const {
    if (successor.count == 0) return;
    const list_scan_options known{.lists = options.rest.lists, .pattern = options.rest.pattern};
    list_problem problem = describe_scan(ctx, successor, out.record_bytes, is_packed, known);
    problem.is_exclusive = options.exclusive_from != nullptr;
    problem.has_own_operator = true;
    problem.out_word = widest_word(reinterpret_cast<std::uintptr_t>(out.data) | out.record_bytes);
    buffers.successor = successor;
    buffers.out = out.data;
    buffers.initial = options.exclusive_from;
    plan::execute(scan_call, list_variants(), problem, ctx, options.rest.variant, buffers);
  }
};

}  // namespace

namespace detail {

void list_scan_packed_by(const context& ctx, const void* nodes, std::uint64_t count, records out,
                         const host_scan_operator& op, const untyped_list_options& options) {
  scan_by{ctx, out, options}.run(nodes, count, op);
}

void list_scan_by(const context& ctx, index_span successor, const_records in, records out, const host_scan_operator& op,
                  const untyped_list_options& options) {
  scan_by{ctx, out, options}.run(successor, in, op);
}

void list_scan_by(const context& ctx, index_span successor, const_records in, records out,
                  const device_scan_operator& op, const untyped_list_options& options) {
  scan_by{ctx, out, options}.run(successor, in, op);
}

void list_scan_packed_by(const context& ctx, const void* nodes, std::uint64_t count, records out,
                         const device_scan_operator& op, const untyped_list_options& options) {
  scan_by{ctx, out, options}.run(nodes, count, op);
}

}  // namespace detail
}  // namespace sheaf
