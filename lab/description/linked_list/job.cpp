#include <algorithm>

#include <fmt/format.h>
#include <sheaf/list_scan.hpp>

#include "lab/description/job.hpp"
#include "lab/description/linked_list/items.hpp"
#include "lab/description/plain_loops.hpp"
#include "lab/description/seeds.hpp"
#include "primitives/operators/scan_value.hpp"
#include "primitives/operators/with_value.hpp"
#include "primitives/words.hpp"

// The jobs of list_rank and list_scan: lists whose nodes lie in the order of a pattern, and answers that are functions
// of the rank.
namespace sheaf::jobs {
namespace {

constexpr std::uint64_t packed_bytes = 8;

list_source source_of(const problem_spec& p, std::uint64_t copy) {
  const std::uint64_t list_nodes = p.lists == list_count::one ? p.count : nodes_of_many;
  return {.order = pattern_of_copy(p, copy),
          .count = p.count,
          .list_nodes = std::max<std::uint64_t>(list_nodes, 1),
          .type = p.value,
          .op = p.scan_op,
          .is_exclusive = p.is_exclusive};
}

std::string list_text(const problem_spec& p) {
  return fmt::format("{} {} {} {}", inputs::name(p.pattern), primitives::name(p.index), p.count,
                     primitives::text_of(p.lists, primitives::list_counts));
}

// Exclusive scans have the inputs of inclusive ones.
std::string values_text(const problem_spec& p) {
  return fmt::format("{} {} of {}", primitives::name(p.value),
                     primitives::text_of(p.scan_op, primitives::scan_operators), list_text(p));
}

array_shapes rank_shapes(const problem_spec& p) {
  array_shapes all;
  all[places::index] = {p.count, bytes(p.index), array_role::input, "list " + list_text(p)};
  all[places::target] = {p.count, p.record_bytes, array_role::output};
  return all;
}

array_shapes scan_shapes(const problem_spec& p) {
  array_shapes all;
  if (p.is_packed) {
    all[places::source] = {p.count, packed_bytes, array_role::input, "nodes " + values_text(p)};
  } else {
    all[places::source] = {p.count, p.record_bytes, array_role::input, "values " + values_text(p)};
    all[places::index] = {p.count, bytes(p.index), array_role::input, "list " + list_text(p)};
  }
  all[places::target] = {p.count, p.record_bytes, array_role::output};
  return all;
}

std::uint64_t bytes_of_rank(const problem_spec& p) { return p.count * (bytes(p.index) + p.record_bytes); }
std::uint64_t bytes_of_scan(const problem_spec& p) { return p.count * (bytes(p.index) + 2 * p.record_bytes); }

// A number of 4 bytes tells fewer than 2^32 nodes apart, of which all bits set is none.
bool is_too_narrow(std::uint64_t number_bytes, index_type type, std::uint64_t nodes) {
  const int bits = type == index_type::i32 ? 31 : 32;
  return number_bytes == 4 && nodes >= std::uint64_t{1} << bits;
}

std::string unchecked_list(const problem_spec& p) {
  if (!is_distinct(p.pattern)) return "an order that goes through nodes twice is no list";
  return is_too_narrow(bytes(p.index), p.index, p.count) ? "successors are too narrow for the nodes" : "";
}

std::string unchecked_rank(const problem_spec& p) {
  const bool narrow = is_too_narrow(p.record_bytes, index_type::u32, p.count);
  return narrow ? "ranks are too narrow for the nodes" : unchecked_list(p);
}

std::string unchecked_scan(const problem_spec& p) {
  if (!primitives::takes(p.scan_op, p.value)) return "the operator is of integers alone";
  if (p.is_packed && (bytes(p.index) != 4 || p.record_bytes != 4)) return "packed nodes have two numbers of 4 bytes";
  return unchecked_list(p);
}

void fill_array(const context& ctx, const problem_spec& p, std::uint64_t copy, std::size_t place, records array) {
  const list_source source = source_of(p, copy);
  switch (place) {
    case places::source:
      if (p.is_packed) {
        over_items(ctx, p.count, fill_packed_nodes{source, array.data});
      } else {
        over_items(ctx, p.count, fill_list_values{source, array.data});
      }
      break;
    case places::index: over_items(ctx, p.count, fill_successors{source, array.data, bytes(p.index)}); break;
    default: wipe(ctx, array);
  }
}

void run_rank(const context& ctx, const problem_spec& p, const array_set& arrays, const call_settings& settings) {
  const index_type ranks = p.record_bytes == 4 ? index_type::u32 : index_type::u64;
  list_rank(ctx, {arrays[places::index].data, p.count, p.index}, {arrays[places::target].data, p.count, ranks},
            {.lists = p.lists, .pattern = p.access, .variant = settings.variant});
}

scalar start_of_scan(const problem_spec& p) {
  scalar start;
  primitives::with_value(p.value, [&](auto value) {
    using number = std::conditional_t<std::is_floating_point_v<decltype(value)>, double, std::uint64_t>;
    start = scalar(static_cast<decltype(value)>(start_of<number>(p.scan_op)));
  });
  return start;
}

void run_scan(const context& ctx, const problem_spec& p, const array_set& arrays, const call_settings& settings) {
  list_scan_options options{.lists = p.lists, .pattern = p.access, .variant = settings.variant};
  if (p.is_exclusive) options.exclusive_from = start_of_scan(p);
  const values out(arrays[places::target].data, p.count, p.value);
  const std::byte* const in = arrays[places::source].data;
  if (p.is_packed) return list_scan(ctx, const_list_nodes(in, p.count, p.value, p.index), out, p.scan_op, options);
  list_scan(ctx, {arrays[places::index].data, p.count, p.index}, {in, p.count, p.value}, out, p.scan_op, options);
}

std::uint64_t rank_mistakes(const context& ctx, const problem_spec& p, const array_set& arrays, bool) {
  const check_ranks check{source_of(p, 0), arrays[places::target].data, p.record_bytes};
  return over_items(ctx, p.count, check).mismatches;
}

std::uint64_t scan_mistakes(const context& ctx, const problem_spec& p, const array_set& arrays, bool) {
  return over_items(ctx, p.count, check_list_values{source_of(p, 0), arrays[places::target].data}).mismatches;
}

constexpr sample rank_samples[] = {
    {"list_rank/permutation/r4/u32"}, {"list_rank/identity/r4/u32"}, {"list_rank/permutation/r4/u32+many"}};
constexpr sample scan_samples[] = {{"list_scan/permutation/r4/u32+u32+packed"}, {"list_scan/permutation/r8/u32+f64"}};

}  // namespace

extern const job list_rank_job{.primitive = "list_rank",
                               .samples = rank_samples,
                               .shapes = rank_shapes,
                               .moved_bytes = bytes_of_rank,
                               .unchecked = unchecked_rank,
                               .fill = fill_array,
                               .run = run_rank,
                               .count_mistakes = rank_mistakes,
                               .plain_loop = plain_list_rank};

extern const job list_scan_job{.primitive = "list_scan",
                               .samples = scan_samples,
                               .shapes = scan_shapes,
                               .moved_bytes = bytes_of_scan,
                               .unchecked = unchecked_scan,
                               .fill = fill_array,
                               .run = run_scan,
                               .count_mistakes = scan_mistakes,
                               .plain_loop = plain_list_scan};

}  // namespace sheaf::jobs
