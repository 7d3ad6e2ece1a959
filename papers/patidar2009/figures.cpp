#include <fmt/format.h>

#include "papers/patidar2009/figures.hpp"

#include "lab/description/keys.hpp"

namespace sheaf::bench::papers {
namespace patidar2009 {

using primitives::key_part;

problem number_sort(std::uint64_t count, std::uint32_t bits) {
  return problem{.primitive = "sort_keys", .record_bytes = bits / 8, .count = count, .key_bytes = bits / 8}.with(
      key_part{.bits = bits});
}

problem pair_sort(std::uint64_t count) {
  return problem{.primitive = "sort_pairs", .record_bytes = 4, .count = count, .key_bytes = 4}.with(
      key_part{.bits = 32});
}

problem record_sort(std::uint64_t count, std::uint64_t record_bytes, std::uint64_t key_bytes) {
  const problem p{.primitive = "sort_records", .record_bytes = record_bytes, .count = count, .key_bytes = key_bytes};
  return p.with(key_part{.bits = static_cast<std::uint32_t>(8 * key_bytes)});
}

problem record_split(std::uint64_t count, std::uint64_t record_bytes, std::uint32_t bits, std::string_view what) {
  return problem{.primitive = what, .record_bytes = record_bytes, .count = count}.with(key_part{.bits = bits});
}

problem index_split(std::uint64_t count, std::uint32_t bits, std::string_view what) {
  const std::uint64_t key_bytes = (bits + 31) / 32 * 4;
  const problem p{
      .primitive = what, .record_bytes = 4, .index = index_type::u32, .count = count, .key_bytes = key_bytes};
  return p.with(key_part{.bits = bits});
}

std::string own_name(const session& session, std::string_view form) {
  return fmt::format("{}.{}", session.ctx.backend() == backend_kind::cuda ? "cuda" : "cpu", form);
}

std::vector<result> measure_iterated(paper_run& run, session& s, int figure, const problem& p) {
  std::vector<contender> who = contenders_of(s.ctx, p, {.hint = true}, s.arrays);
  add_variants(who, s, p, {"cpu.iterated_split", "cuda.iterated_split"});
  return run.measure(s, figure, p, std::move(who));
}

const result* iterated_of(const session& s, const std::vector<result>& found) {
  return find(found, own_name(s, "iterated_split"));
}

namespace {

constexpr figure<paper_run> figures[] = {{2, figure_2},
                                         {4, figure_4},
                                         {5, figure_5},
                                         {6, figure_6},
                                         {8, figure_8},
                                         {9, figure_9},
                                         {10, figure_10},
                                         {11, figure_11},
                                         {12, figure_12},
                                         {13, figure_13},
                                         {14, figure_14},
                                         {15, figure_15},
                                         {table_number(1), table_1},
                                         {table_number(2), table_2}};

findings print(std::span<const context>, sessions& all_sessions, const papers::request& request) {
  paper_run run{{"patidar2009", all_sessions, request}};
  print_figures(run,
                "\nPatidar, Narayanan: Scalable Split and Gather Primitives for the GPU, IIIT/TR/2009/99\n"
                "  M is 2^20. A peer is what users call today; \"-\" where nobody does it.\n",
                figures);
  return {std::move(run.results), std::move(run.input_results)};
}

}  // namespace
}  // namespace patidar2009

paper patidar2009_paper() { return {"patidar2009", numbers_of(patidar2009::figures), false, patidar2009::print}; }

}  // namespace sheaf::bench::papers
