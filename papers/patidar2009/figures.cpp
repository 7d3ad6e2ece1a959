#include "papers/patidar2009/figures.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "lab/description/keys.hpp"

namespace sheaf::bench::papers {
namespace patidar2009 {

using primitives::key_part;
namespace {

// A CPU would take seconds for each of the figures' largest lists.
constexpr std::uint64_t most_cpu_records = 16 * million;

}  // namespace

std::vector<result> paper_run::measure(session& s, int figure, const problem& p, std::vector<contender> who) {
  std::vector<result> rows = measured(s, fmt::format("patidar2009/{}", figure_text(figure)), p, std::move(who));
  results.insert(results.end(), rows.begin(), rows.end());
  return rows;
}

std::vector<result> paper_run::measure_choice(session& s, int figure, const problem& p) {
  return measure(s, figure, p, contenders_of(s.ctx, p, {.hint = true}, s.arrays));
}

std::vector<std::uint64_t> paper_run::counts(const session& s, const std::vector<std::uint64_t>& millions) const {
  if (request.quick) return {1 << 12, 1 << 14};
  std::vector<std::uint64_t> all;
  for (const std::uint64_t count : millions) {
    if (s.ctx.backend() == backend_kind::cuda || count * million <= most_cpu_records) all.push_back(count * million);
  }
  return all;
}

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
  const problem p{.primitive = what, .record_bytes = 4, .index = index_type::u32, .count = count, .key_bytes = 4};
  return p.with(key_part{.bits = bits});
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
                                         {table_number(1), table_1}};

}  // namespace
}  // namespace patidar2009

std::vector<result> print_patidar2009(sessions& all_sessions, const papers::request& request) {
  patidar2009::paper_run run{.sessions = all_sessions, .request = request};
  fmt::print("\nPatidar, Narayanan: Scalable Split and Gather Primitives for the GPU, IIIT/TR/2009/99\n");
  fmt::print("  M is 2^20. A peer is what users call today; \"-\" where nobody does it.\n");
  if (request.quick) {
    fmt::print("  --quick: small sizes, run once. It shows that everything runs; the times mean nothing.\n");
  }
  for (const auto& f : patidar2009::figures) {
    if (request.wants_figure(f.number)) f.print(run);
  }
  return std::move(run.results);
}

}  // namespace sheaf::bench::papers
