#include <fmt/format.h>

#include "lab/description/keys.hpp"
#include "papers/he2007/figures.hpp"
#include "papers/patidar2009/figures.hpp"
#include "papers/patidar2009/lane_rule.hpp"

// Figures 2, 5, 6, 11 and 12: scatters by the range of destinations, ways to make a scatter index, and wide records
// that lanes move together.
namespace sheaf::bench::papers::patidar2009 {
namespace {

constexpr std::uint64_t element_bytes = 4;

using he2007::at_random;

const std::vector<std::uint64_t> lengths_of_lists = in_millions({1, 2, 4, 8, 16, 32, 64});

problem scatter_within(std::uint64_t range, std::uint64_t count) {
  const primitives::input_pattern within{primitives::pattern_kind::clustered, range};
  return {.primitive = "scatter", .pattern = within, .record_bytes = element_bytes, .count = count};
}

// The paper's counts of wide records, as far as its card of 4 GB held input and output.
std::vector<std::uint64_t> counts_of_wide(std::uint64_t record_bytes) {
  constexpr std::uint64_t paper_bytes = std::uint64_t{2} << 30;
  std::vector<std::uint64_t> all = in_millions({4, 8, 16, 32, 64});
  const std::uint64_t most = std::bit_floor(paper_bytes / record_bytes);
  std::erase_if(all, [&](std::uint64_t count) { return count > most; });
  if (all.empty()) all.push_back(most);
  return all;
}

std::string paper_scatter(std::uint64_t count, std::uint64_t record_bytes) {
  if (count == 16 * million && record_bytes == 128) return "290 ms";
  return count == 8 * million && record_bytes == 256 ? "under 150 ms" : "-";
}

struct moved_records {
  std::uint64_t record_bytes;
  std::uint64_t count;
  std::string paper;  ///< time in the text of the paper, or "-"
};

// The paper's widths are 32 to 256 bytes. Those around them, and odd ones, meet every class of its lane rule. As many
// records as the paper moves, up to its bytes; of wide records, of which the fewest pass these, the most below.
std::vector<moved_records> records_to_move(const paper_run& run, const session& session, std::string_view what) {
  std::vector<moved_records> all;
  for (const std::uint64_t record_bytes : {16, 32, 64, 100, 128, 256, 300, 512, 1024}) {
    const auto at = [&](std::uint64_t count) { return at_random(what, count, record_bytes); };
    for (const std::uint64_t count : run.counts(session, counts_of_wide(record_bytes), at)) {
      all.push_back({record_bytes, count, what == "scatter" ? paper_scatter(count, record_bytes) : "-"});
    }
  }
  return all;
}

// "16 x 8 B". Records of the benchmark lie side by side from an aligned address on.
std::string lanes_text(std::uint64_t record_bytes) {
  const auto word_bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(record_bytes & (~record_bytes + 1), 16));
  const auto lanes = sheaf::papers::patidar2009::lanes_of_record(record_bytes, word_bytes);
  return fmt::format("{} x {} B", lanes.count, lanes.access_bytes);
}

void by_width(paper_run& run, session& session, int figure, std::string_view what) {
  constexpr const char* by_rule = "cuda.lane_rule";
  constexpr const char* collective = "cuda.collective";
  constexpr const char* by_thread = "cuda.thread_per_record";
  const bool has_lanes = is_of_backend(session, by_rule);
  print_place(session, fmt::format("{} of records at random places", std::string(what)));
  if (has_lanes) {
    fmt::print(
        "    lanes: those of a record by the paper's rule, and the width of their accesses\n    lane rule, collective, "
        "a "
        "thread each: by the paper's lanes, by the library's, by a thread for a record\n");
  }
  const std::vector<moved_records> all = records_to_move(run, session, what);
  const bool has_paper = std::ranges::any_of(all, [](const moved_records& m) { return m.paper != "-"; });
  const table rows({"record",
                    "records",
                    {"paper", has_paper},
                    {"lanes", has_lanes},
                    {"lane rule", has_lanes},
                    {"collective", has_lanes},
                    {"a thread each", has_lanes},
                    {"rule / coll.", has_lanes},
                    {"each / coll.", has_lanes},
                    "choice",
                    "bandwidth",
                    "variant",
                    "peer",
                    "peer / choice"});
  for (const moved_records& m : all) {
    const problem p = at_random(what, m.count, m.record_bytes);
    std::vector<contender> who = contenders_of(session.ctx, p, {.hint = true}, session.arrays);
    add_variants(who, session, p, {by_rule, collective, by_thread});
    const auto found = run.measure(session, figure, p, std::move(who));
    const result* const rule = find(found, by_rule);
    const result* const together = find(found, collective);
    const result* const each = find(found, by_thread);
    const result* const ours = find(found, "sheaf");
    rows.row({fmt::format("{} B", m.record_bytes), count_text(m.count), m.paper, lanes_text(m.record_bytes),
              time_of(rule), time_of(together), time_of(each), ratio_of(rule, together), ratio_of(each, together),
              time_of(ours), bandwidth_of(ours), variant_of(ours), time_of(fastest_peer(found)),
              ratio_of(fastest_peer(found), ours)});
  }
}

}  // namespace

void figure_2(paper_run& run) {
  print_caption(
      "Figure 2. Scatter by the range of the destinations",
      "the wider the range that neighbours go to, the slower. Reads that coalesce are 50 to 100 times as fast "
      "as those at random (section 3.1).");
  for (session& session : run.sessions) {
    const std::uint64_t count = run.count(session, 16 * million, [](std::uint64_t n) { return scatter_within(n, n); });
    print_place(session, fmt::format("{} elements of {} bytes, each list a permutation inside windows of the range",
                                     count_text(count), element_bytes));
    const table rows({"range", "direct", "to the least", "choice", "bandwidth", "variant"});
    double least = 0;
    for (const std::uint64_t range : powers(32, count, session.size == run_size::tiny ? 32 : 4)) {
      const problem p = scatter_within(range, count);
      const auto found =
          run.measure(session, 2, p, {he2007::cheapest_single_pass(session, p), he2007::chosen(session, p)});
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
    const auto scatter_of = [](std::uint64_t count) { return at_random("scatter", count, element_bytes); };
    for (const std::uint64_t count : run.counts(session, lengths_of_lists, scatter_of)) {
      const problem p = scatter_of(count);
      const auto moved =
          run.measure(session, 5, p, {he2007::cheapest_single_pass(session, p), he2007::chosen(session, p)});
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

namespace {

/// The fastest way that inverts the gather index by a scatter.
const result* by_scatter_of(const std::vector<result>& found) {
  const result* fastest = nullptr;
  for (const result& r : found) {
    const bool sorts = r.variant.ends_with(".second_sort") || r.variant.empty();
    if (!sorts && (fastest == nullptr || r.time.median_seconds < fastest->time.median_seconds)) fastest = &r;
  }
  return fastest;
}

}  // namespace

void figure_6(paper_run& run) {
  print_caption("Figure 6. Gather index and scatter index by the length of the list",
                "split gives a gather index; a scatter index takes a scatter of it, above 8 M a second sort.");
  for (session& session : run.sessions) {
    print_place(session, "keys of 32 bits");
    const table rows({"list", "gather index", "variant", "Algorithm 3", "peer", "peer / ours", "scatter index",
                      "variant", "by scatter", "second sort", "second / scatter", "peer", "peer / ours",
                      "scatter / gather"});
    const auto scatter_index = [](std::uint64_t n) { return index_split(n, 32, "split_scatter_index"); };
    for (const std::uint64_t count : run.counts(session, lengths_of_lists, scatter_index)) {
      const auto gathers = measure_iterated(run, session, 6, index_split(count, 32, "split_gather_index"));
      const problem scatter = scatter_index(count);
      std::vector<contender> who = contenders_of(session.ctx, scatter, {.hint = true}, session.arrays);
      add_variants(who, session, scatter,
                   {"cpu.buffered", "cuda.stable", "cuda.cub", "cpu.second_sort", "cuda.second_sort"});
      const auto scatters = run.measure(session, 6, scatter, std::move(who));
      const result* const to_gather = find(gathers, "sheaf");
      const result* const to_scatter = find(scatters, "sheaf");
      const result* const by_scatter = by_scatter_of(scatters);
      const result* const second = find(scatters, own_name(session, "second_sort"));
      rows.row({count_text(count), time_of(to_gather), variant_of(to_gather), time_of(iterated_of(session, gathers)),
                time_of(fastest_peer(gathers)), ratio_of(fastest_peer(gathers), to_gather), time_of(to_scatter),
                variant_of(to_scatter), time_of(by_scatter), time_of(second), ratio_of(second, by_scatter),
                time_of(fastest_peer(scatters)), ratio_of(fastest_peer(scatters), to_scatter),
                ratio_of(to_scatter, to_gather)});
    }
  }
}

void figure_11(paper_run& run) {
  print_caption("Figure 11. Gather of large records by lanes that cooperate, against a thread for each record",
                "a drawing, without measurements: up to 64 bytes a lane for every 4, up to 256 bytes 16 lanes, above "
                "that a lane for every 16.");
  for (session& s : run.sessions) by_width(run, s, 11, "gather");
}

void figure_12(paper_run& run) {
  print_caption("Figure 12. Scatter of large records by lanes that cooperate",
                "16 M records of 128 bytes in 290 ms, 8 M of 256 bytes, as many bytes, in under 150 ms: half the time; "
                "linear in the number of records, far less than linear in their width.");
  for (session& s : run.sessions) by_width(run, s, 12, "scatter");
}

}  // namespace sheaf::bench::papers::patidar2009
