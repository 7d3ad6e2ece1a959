#include "lab/description/movement/entry_parts.hpp"

#include "plan/he2007.hpp"
#include "primitives/views.hpp"
#include "primitives/words.hpp"

namespace sheaf::primitives {
namespace {

plan::he2007::sizes sizes_of(const problem_spec& p) {
  return {p.count, p.indexed_count(), p.record_bytes, p.count * bytes(p.index)};
}

}  // namespace

std::string order_and_table(const problem_spec& p, bool always_with_table) {
  if (!always_with_table && p.indexed_count() == p.count) return name(p.pattern);
  return fmt::format("{}:s{}", name(p.pattern), p.indexed_count());
}

void read_order_and_table(const name_part& pattern, problem_spec& p) {
  const auto [order, table] = pattern.cut_at_last(":s");
  p.pattern = order.read(parse_pattern);
  if (table) p.table = table->number(0, ~std::uint64_t{0}, "the number of records of a table");
}

std::optional<name_part> read_index_type(const name_part& type, problem_spec& p) {
  const auto [index, rest] = type.cut_at("+");
  p.index = index.read(parse_index_type);
  return rest;
}

std::string movement_text(const problem_spec& p) {
  return fmt::format("{} records of {} bytes, table of {} ({}), {} index, pattern {}", p.count, p.record_bytes,
                     p.indexed_count(), bytes_text(p.indexed_count() * p.record_bytes), name(p.index), name(p.access));
}

std::vector<fact> movement_facts(const problem_spec& p) {
  return {{"count", p.count},
          {"record_bytes", p.record_bytes},
          {"index_type", std::string(name(p.index))},
          {"table", p.indexed_count()},
          {"pattern", name(p.access)}};
}

movement movement_of(const problem_spec& p, backend_kind backend) {
  return {.backend = backend,
          .count = p.count,
          .indexed_count = p.indexed_count(),
          .record_bytes = p.record_bytes,
          .sequential_stride_bytes = p.record_bytes,
          .indexed_stride_bytes = p.record_bytes,
          .word_bytes = widest_word(p.record_bytes),
          .index = p.index,
          .pattern = p.access,
          .bounds = p.bounds};
}

double he2007_seconds_of_gather(const problem_spec& p, const machine& profile) {
  return plan::he2007::predict_gather(sizes_of(p), p.access, profile);
}

double he2007_seconds_of_scatter(const problem_spec& p, const machine& profile) {
  return plan::he2007::predict_scatter(sizes_of(p), p.access, profile);
}

}  // namespace sheaf::primitives
