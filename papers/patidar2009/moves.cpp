#include <fmt/format.h>

#include "lab/description/keys.hpp"
#include "papers/he2007/figures.hpp"
#include "papers/patidar2009/figures.hpp"

// Figures 2, 5, 6, 11 and 12: scatters by the range of destinations, ways to make a scatter index, and wide records
// that lanes move together.
namespace sheaf::bench::papers::patidar2009 {
namespace {

constexpr std::uint64_t element_bytes = 4;

using he2007::at_random;

problem scatter_within(std::uint64_t range, std::uint64_t count) {
  const primitives::input_pattern within{primitives::pattern_kind::clustered, range};
  return {.primitive = "scatter", .pattern = within, .record_bytes = element_bytes, .count = count};
}

// The paper's card held 4 GB, input and output together.
constexpr std::uint64_t paper_bytes = std::uint64_t{2} << 30;
constexpr std::uint64_t most_moved_cpu_bytes = std::uint64_t{1} << 29;

std::string paper_scatter(std::uint64_t count, std::uint64_t record_bytes) {
  if (count == 16 * million && record_bytes == 128) return "290 ms";
  return count == 8 * million && record_bytes == 256 ? "under 150 ms" : "-";
}

void by_width(paper_run& run, session& session, int figure, std::string_view what) {
  print_place(session, fmt::format("{} of records at random places", std::string(what)));
  const std::uint64_t most_bytes = session.ctx.backend() == backend_kind::cuda ? paper_bytes : most_moved_cpu_bytes;
  const table rows({"record", "records", "paper", "collective", "a thread each", "each / coll.", "choice", "bandwidth",
                    "variant", "peer", "peer / choice"});
  for (const std::uint64_t record_bytes : {32, 64, 128, 256}) {
    for (const std::uint64_t count : run.counts(session, {4, 8, 16, 32, 64})) {
      if (count * record_bytes > most_bytes) continue;
      const problem p = at_random(what, count, record_bytes);
      std::vector<contender> who = contenders_of(session.ctx, p, {.hint = true}, session.arrays);
      add_variants(who, session, p, {"cuda.collective", "cuda.thread_per_record"});
      const auto found = run.measure(session, figure, p, std::move(who));
      const result* const together = find(found, "cuda.collective");
      const result* const each = find(found, "cuda.thread_per_record");
      const result* const ours = find(found, "sheaf");
      rows.row({fmt::format("{} B", record_bytes), count_text(count),
                what == "scatter" ? paper_scatter(count, record_bytes) : "-", time_of(together), time_of(each),
                ratio_of(each, together), time_of(ours), bandwidth_of(ours), variant_of(ours),
                time_of(fastest_peer(found)), ratio_of(fastest_peer(found), ours)});
    }
  }
}

}  // namespace

void figure_2(paper_run& run) {
  print_caption("Figure 2. Scatter by the range of the destinations",
                "the wider the range that neighbours go to, the slower.");
  for (session& session : run.sessions) {
    const std::uint64_t count = run.counts(session, {16}).back();
    print_place(session, fmt::format("{} elements of {} bytes, each list a permutation inside windows of the range",
                                     count_text(count), element_bytes));
    const table rows({"range", "direct", "to the least", "choice", "bandwidth", "variant"});
    double least = 0;
    for (const std::uint64_t range : powers(32, count, run.request.quick ? 32 : 4)) {
      const problem p = scatter_within(range, count);
      const auto found = run.measure(session, 2, p, {he2007::single_pass(session, p), he2007::chosen(session, p)});
      if (found.empty()) continue;
      const double direct = found[0].time.median_seconds;
      if (least == 0) least = direct;
      rows.row({fmt::to_string(range), time_text(direct), ratio_text(direct / least), time_of(&found[1]),
                bandwidth_text(found[1].bytes_per_second()), found[1].variant});
    }
  }
}

void figure_5(paper_run& run) {
  print_caption("Figure 5. A scatter index by scattering numbers, or by sorting them with the gather index as key",
                "above 8 M numbers the scatter takes longer than the sort.");
  for (session& session : run.sessions) {
    print_place(session, "numbers of 32 bits; the key has as many bits as the list's length");
    const table rows({"list", "scatter", "its choice", "variant", "sort", "variant", "sort / choice"});
    for (const std::uint64_t count : run.counts(session, {1, 2, 4, 8, 16, 32, 64})) {
      const problem p = at_random("scatter", count, element_bytes);
      const auto moved = run.measure(session, 5, p, {he2007::single_pass(session, p), he2007::chosen(session, p)});
      const problem by_key{.primitive = "split", .record_bytes = element_bytes, .count = count, .key_bytes = 4};
      const primitives::key_part key{.bits = static_cast<std::uint32_t>(std::bit_width(count - 1))};
      const auto sorted = run.measure_with_peers(session, 5, by_key.with(key));
      const result* const ours = find(sorted, "sheaf");
      if (moved.empty()) continue;
      rows.row({count_text(count), time_of(&moved[0]), time_of(&moved[1]), moved[1].variant, time_of(ours),
                variant_of(ours), ratio_of(ours, &moved[1])});
    }
  }
}

void figure_6(paper_run& run) {
  print_caption("Figure 6. Gather index and scatter index by the length of the list",
                "split gives a gather index; a scatter index takes a second sort.");
  for (session& session : run.sessions) {
    print_place(session, "keys of 32 bits");
    const table rows({"list", "gather index", "variant", "peer", "peer / ours", "scatter index", "variant", "peer",
                      "peer / ours", "scatter / gather"});
    for (const std::uint64_t count : run.counts(session, {1, 2, 4, 8, 16, 32, 64})) {
      const auto gathers = run.measure_with_peers(session, 6, index_split(count, 32, "split_gather_index"));
      const auto scatters = run.measure_with_peers(session, 6, index_split(count, 32, "split_scatter_index"));
      const result* const to_gather = find(gathers, "sheaf");
      const result* const to_scatter = find(scatters, "sheaf");
      rows.row({count_text(count), time_of(to_gather), variant_of(to_gather), time_of(fastest_peer(gathers)),
                ratio_of(fastest_peer(gathers), to_gather), time_of(to_scatter), variant_of(to_scatter),
                time_of(fastest_peer(scatters)), ratio_of(fastest_peer(scatters), to_scatter),
                ratio_of(to_scatter, to_gather)});
    }
  }
}

void figure_11(paper_run& run) {
  print_caption("Figure 11. Gather of large records by lanes that cooperate, against a thread for each record",
                "up to 64 bytes a lane for every 4, up to 256 bytes 16 lanes, above that a lane for every 16.");
  for (session& s : run.sessions) by_width(run, s, 11, "gather");
}

void figure_12(paper_run& run) {
  print_caption("Figure 12. Scatter of large records by lanes that cooperate",
                "16 M records of 128 bytes in 290 ms, 8 M of 256 bytes in under 150 ms; linear in the number of "
                "records, far less than linear in their width.");
  for (session& s : run.sessions) by_width(run, s, 12, "scatter");
}

}  // namespace sheaf::bench::papers::patidar2009
