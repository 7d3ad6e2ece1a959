#include <fmt/format.h>

#include "papers/patidar2009/figures.hpp"
#include "papers/patidar2009/split_sort.hpp"
#include "papers/wei2010/figures.hpp"
#include "plan/choose.hpp"

// Figures 13 to 15 and table 1: SplitSort of numbers, pairs and large records.
namespace sheaf::bench::papers::patidar2009 {
namespace {

/// The choice, the paper's sort and the peers.
std::vector<result> measure_sorts(paper_run& run, session& s, int figure, const problem& p) {
  std::vector<contender> who = contenders_of(s.ctx, p, {}, s.arrays);
  add_variants(who, s, p, {"cpu.split_sort", "cuda.split_sort"});
  return run.measure(s, figure, p, std::move(who));
}

const result* split_sort_of(const session& s, const std::vector<result>& found) {
  return find(found, own_name(s, "split_sort"));
}

const std::vector<std::uint64_t> up_to_128_million = in_millions({1, 2, 4, 8, 16, 32, 64, 128});

/// Times of 128 M numbers in the text, in seconds; 0: none.
double paper_seconds(std::uint64_t count, std::uint32_t bits) {
  if (count != 128 * million) return 0;
  return bits == 32 ? 0.65 : bits == 64 ? 1.5 : bits == 128 ? 4 : 0;
}

std::string seconds_text(double seconds) { return seconds == 0 ? "-" : time_text(seconds); }

struct paper_row {
  std::uint64_t key_bytes;
  std::uint64_t record_bytes;
  std::array<int, 5> milliseconds;  // for 8, 16, 32, 48 and 64 M records; 0 where they did not fit
};

constexpr std::array<paper_row, 12> paper_table{{
    {4, 32, {270, 352, 733, 1102, 1488}},
    {4, 64, {182, 367, 752, 0, 0}},
    {4, 128, {194, 373, 0, 0, 0}},
    {4, 256, {196, 0, 0, 0, 0}},
    {6, 32, {210, 460, 955, 1720, 2650}},
    {6, 64, {230, 473, 972, 0, 0}},
    {6, 128, {244, 489, 0, 0, 0}},
    {6, 256, {248, 0, 0, 0, 0}},
    {8, 32, {251, 530, 1080, 1980, 3124}},
    {8, 64, {263, 540, 1190, 0, 0}},
    {8, 128, {278, 555, 0, 0, 0}},
    {8, 256, {281, 0, 0, 0, 0}},
}};

constexpr std::array<std::uint64_t, 5> paper_millions{8, 16, 32, 48, 64};

// The paper's time for this number of records; 0 for a number that is not in its table.
int paper_milliseconds(const paper_row& row, std::uint64_t count) {
  for (std::size_t i = 0; i < paper_millions.size(); ++i) {
    if (paper_millions[i] * million == count) return row.milliseconds[i];
  }
  return 0;
}

std::vector<std::uint64_t> counts_of(const paper_row& row) {
  std::vector<std::uint64_t> all = in_millions({paper_millions.begin(), paper_millions.end()});
  std::erase_if(all, [&](std::uint64_t count) { return paper_milliseconds(row, count) == 0; });
  return all;
}

void sort_large_records(paper_run& run, session& session, const paper_row& kind, const table& rows) {
  const auto at = [&](std::uint64_t count) { return record_sort(count, kind.record_bytes, kind.key_bytes); };
  for (const std::uint64_t count : run.counts(session, counts_of(kind), at)) {
    const int paper = paper_milliseconds(kind, count);
    const auto found = measure_sorts(run, session, table_number(1), at(count));
    const result* const ours = find(found, "sheaf");
    const bool compared = paper != 0 && ours != nullptr;
    rows.row({fmt::format("{} B", kind.key_bytes), fmt::format("{} B", kind.record_bytes), count_text(count),
              paper == 0 ? "-" : fmt::format("{} ms", paper), time_of(ours),
              compared ? ratio_text(paper * 1e-3 / ours->time.median_seconds) : "-", variant_of(ours),
              bandwidth_of(ours), time_of(split_sort_of(session, found)), time_of(fastest_peer(found)),
              ratio_of(fastest_peer(found), ours)});
  }
}

}  // namespace

void figure_13(paper_run& run) {
  print_caption(
      "Figure 13. Sorts of numbers of 32 to 128 bits",
      "1 to 128 M; linear in the length of the list and in the width of the key. 128 M numbers of 32 bits take 650 "
      "ms, of 64 bits 1.5 s, of 128 bits 4 s.");
  for (session& session : run.sessions) {
    for (const std::uint32_t bits : {32U, 64U, 96U, 128U}) {
      print_place(session, fmt::format("keys of {} bits", bits));
      const auto counts =
          run.counts(session, up_to_128_million, [bits](std::uint64_t count) { return number_sort(count, bits); });
      const bool has_paper =
          std::ranges::any_of(counts, [bits](std::uint64_t n) { return paper_seconds(n, bits) != 0; });
      const table rows({"list",
                        "sort",
                        "keys",
                        "variant",
                        "SplitSort",
                        "SplitSort / sort",
                        {"the paper's", has_paper},
                        "peer",
                        "",
                        "peer / sort"});
      for (const std::uint64_t count : counts) {
        const auto found = measure_sorts(run, session, 13, number_sort(count, bits));
        const result* const ours = find(found, "sheaf");
        const result* const paper = split_sort_of(session, found);
        const result* const peer = fastest_peer(found);
        rows.row({count_text(count), time_of(ours), records_per_second(ours), variant_of(ours), time_of(paper),
                  ratio_of(paper, ours), seconds_text(paper_seconds(count, bits)), time_of(peer), who_of(peer),
                  ratio_of(peer, ours)});
      }
    }
  }
}

void figure_14(paper_run& run) {
  print_caption(
      "Figure 14. Sorts of pairs, key and value of 32 bits each",
      "1 to 128 M; SplitSort is 25 % faster than CUDPP 1.1, in whose place today's CUB stands; that is 4 times as "
      "fast as CUDPP before, and 3.5 times as fast as 8 cores. Satish et al. report 110 ms for 16 M pairs.");
  for (session& s : run.sessions) {
    print_place(s, "values in an array of their own");
    const auto counts = run.counts(s, up_to_128_million, pair_sort);
    const bool has_theirs = std::ranges::find(counts, 16 * million) != counts.end();
    const table rows({"list",
                      "sort",
                      "pairs",
                      "variant",
                      "SplitSort",
                      {"Satish et al.", has_theirs},
                      "peer",
                      "",
                      "peer / sort",
                      "peer / SplitSort"});
    for (const std::uint64_t count : counts) {
      const auto found = measure_sorts(run, s, 14, pair_sort(count));
      const result* const ours = find(found, "sheaf");
      const result* const paper = split_sort_of(s, found);
      const result* const peer = fastest_peer(found);
      rows.row({count_text(count), time_of(ours), records_per_second(ours), variant_of(ours), time_of(paper),
                seconds_text(count == 16 * million ? 0.11 : 0), time_of(peer), who_of(peer), ratio_of(peer, ours),
                ratio_of(peer, paper)});
    }
  }
}

namespace {

// A CPU's threads are its cores.
void by_threads(paper_run& run, session& session, std::uint64_t count) {
  print_place(session, fmt::format("{} numbers", count_text(count)));
  const table rows({"threads", "sort", "keys", "variant", "over one thread", "SplitSort", "over one thread"});
  const problem p = number_sort(count, 32);
  std::vector<contender> who;
  std::vector<int> threads{1};
  while (threads.back() < session.ctx.threads()) {
    threads.push_back(std::min(2 * threads.back(), session.ctx.threads()));
  }
  for (const int t : threads) {
    const context some = context::cpu(t);
    who.push_back(contenders_of(some, p, {.no_peer = true}, session.arrays).front());
    who.back().who += fmt::format(":threads={}", t);
    who.push_back(*contender_by_name(some, p, session.arrays, "cpu.split_sort"));
    who.back().who += fmt::format(":threads={}", t);
  }
  const auto found = run.measure(session, 15, p, std::move(who));
  for (const int t : threads) {
    const result* const ours = find(found, fmt::format("sheaf:threads={}", t));
    const result* const split_sort = find(found, fmt::format("cpu.split_sort:threads={}", t));
    rows.row({fmt::to_string(t), time_of(ours), records_per_second(ours), variant_of(ours),
              ratio_of(find(found, "sheaf:threads=1"), ours), time_of(split_sort),
              ratio_of(find(found, "cpu.split_sort:threads=1"), split_sort)});
  }
}

#if SHEAF_HAS_CUDA
// Shorter than the paper's, so that short lists too have work for many blocks.
constexpr std::uint32_t sweep_segment = 1024;

// SplitSort whose kernels have so many blocks, which loop over the segments.
contender with_blocks(const session& session, std::uint64_t count, std::uint32_t blocks) {
  primitives::sort_problem sort;
  sort.backend = backend_kind::cuda;
  sort.count = count;
  sort.key.fields[0] = {.offset = 0, .bytes = 4, .type = key_type::unsigned_integer};
  sort.key.field_count = 1;
  sort.key.bits = 32;
  sort.rows = {.record_bytes = 4, .in_stride_bytes = 4, .out_stride_bytes = 4, .access_bytes = 4};
  const plan::planned plan =
      sheaf::papers::patidar2009::plan_split_sort(sort, plan::scope_of(session.ctx), cuda::steps_of_split_sort,
                                                  {.segment_records = sweep_segment, .blocks = blocks});
  return {.who = fmt::format("cuda.split_sort:blocks={}", blocks),
          .variant = "cuda.split_sort",
          .predicted_seconds = plan.seconds,
          .scratch_bytes = plan.scratch_bytes,
          .queue =
              [&session, sort, plan](std::uint64_t copy) {
                primitives::sort_buffers buffers;
                buffers.in = session.arrays.source(copy);
                buffers.out = session.arrays.target(copy);
                sheaf::papers::patidar2009::run_split_sort(session.ctx, sort, plan, buffers,
                                                           session.arrays.scratch(plan.scratch_bytes),
                                                           cuda::steps_of_split_sort);
              },
          .wait = [ctx = session.ctx] { ctx.wait(); }};
}

// A GPU's multiprocessors cannot be told to rest, but a grid of fewer blocks leaves some without work.
void by_blocks(paper_run& run, session& session, std::uint64_t count) {
  const std::uint64_t multiprocessors = wei2010::device::multiprocessors(session.ctx);
  print_place(session,
              fmt::format("SplitSort of {} numbers, segments of {}, so many blocks that loop over them, of one "
                          "warp each but for the prefix sums; {} multiprocessors",
                          count_text(count), sweep_segment, multiprocessors));
  const table rows({"blocks", "of each multiprocessor", "SplitSort", "keys", "over the fewest"});
  // More blocks than segments would have no work.
  const std::uint64_t most_blocks = std::min(multiprocessors * 32, count / sweep_segment);
  std::vector<contender> who;
  for (std::uint64_t blocks = std::max<std::uint64_t>(1, multiprocessors / 8); blocks <= most_blocks;
       blocks = blocks < multiprocessors ? std::min(2 * blocks, multiprocessors) : 2 * blocks) {
    who.push_back(with_blocks(session, count, static_cast<std::uint32_t>(blocks)));
  }
  const auto found = run.measure(session, 15, number_sort(count, 32), std::move(who));
  for (const result& r : found) {
    const std::string blocks = r.who.substr(r.who.find('=') + 1);
    rows.row({blocks, fmt::format("{:.2f}", std::stod(blocks) / static_cast<double>(multiprocessors)), time_of(&r),
              records_per_second(&r), ratio_of(&found.front(), &r)});
  }
}
#else
void by_blocks(paper_run&, session&, std::uint64_t) {}
#endif

}  // namespace

void figure_15(paper_run& run) {
  print_caption("Figure 15. Sorts of 32-bit numbers by the number of cores",
                "GPUs of 32, 128 and 240 cores; about linear in the cores and in the length of the list.");
  for (session& session : run.sessions) {
    const auto at = [](std::uint64_t count) { return number_sort(count, 32); };
    for (const std::uint64_t count : run.counts(session, in_millions({1, 4, 16, 64}), at)) {
      session.ctx.backend() == backend_kind::cuda ? by_blocks(run, session, count) : by_threads(run, session, count);
    }
  }
}

void table_1(paper_run& run) {
  print_caption(
      "Table 1. Sorts of large records",
      "8 to 64 M records of 32 to 256 bytes by keys of 4, 6 and 8 bytes, as far as 4 GB of memory go. The text "
      "has 379 and 556 ms for 16 M records of 128 bytes, 1490 and 3126 ms for 64 M of 32.");
  for (session& s : run.sessions) {
    print_place(s, "the key first in the record");
    const bool has_paper = s.size >= run_size::medium;  // the paper's shortest lists have 8 M records
    const table rows({"key",
                      "record",
                      "records",
                      {"paper", has_paper},
                      "sort",
                      {"paper / sort", has_paper},
                      "variant",
                      "bandwidth",
                      "SplitSort",
                      "peer",
                      "peer / sort"});
    for (const paper_row& kind : paper_table) sort_large_records(run, s, kind, rows);
  }
}

}  // namespace sheaf::bench::papers::patidar2009
