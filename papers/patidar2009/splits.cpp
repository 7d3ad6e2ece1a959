#include <fmt/format.h>

#include "papers/patidar2009/figures.hpp"

// Figures 4 and 8 to 10: splits by the number of categories, bits of the key, records and numbers.
namespace sheaf::bench::papers::patidar2009 {
namespace {

constexpr std::uint32_t most_bits_of_figure_4 = 11;
constexpr std::uint64_t widest_of_figure_4 = 8;

void by_categories(paper_run& run, session& session, std::uint64_t count, std::uint64_t record_bytes) {
  print_place(session, fmt::format("{} records of {} bits", count_text(count), 8 * record_bytes));
  const table rows({"categories", "one-step", "two-step", "one / two", "split", "variant", "in any order", "variant",
                    "peer", "peer / split"});
  for (std::uint32_t bits = 1; bits <= most_bits_of_figure_4; ++bits) {
    const problem stable = record_split(count, record_bytes, bits);
    std::vector<contender> who = contenders_of(session.ctx, stable, {}, session.arrays);
    add_variants(who, session, stable, {"cpu.one_step", "cpu.two_step", "cuda.one_step", "cuda.two_step"});
    const std::vector<result> found = run.measure(session, 4, stable, std::move(who));
    const problem unstable = record_split(count, record_bytes, bits, "split_unstable");
    const std::vector<result> any_order =
        run.measure(session, 4, unstable, contenders_of(session.ctx, unstable, {.no_peer = true}, session.arrays));
    const result* const one = find(found, own_name(session, "one_step"));
    const result* const two = find(found, own_name(session, "two_step"));
    const result* const ours = find(found, "sheaf");
    const result* const free = find(any_order, "sheaf");
    rows.row({fmt::to_string(1U << bits), time_of(one), time_of(two), ratio_of(one, two), time_of(ours),
              variant_of(ours), time_of(free), variant_of(free), time_of(fastest_peer(found)),
              ratio_of(fastest_peer(found), ours)});
  }
}

// What the text compares the ordered split with. On a CPU a thread splits a segment alone, without clashes.
void beside_rivals(paper_run& run, session& session, std::uint64_t count, std::uint64_t record_bytes) {
  if (session.ctx.backend() != backend_kind::cuda) return;
  print_place(session, fmt::format("{} records of {} bits, beside the rivals of sections 2 and 3", count_text(count),
                                   8 * record_bytes));
  const table rows({"categories", "ordered", "hardware atomics", "ordered / hardware", "global atomics",
                    "thread histograms", "1-bit splits"});
  for (std::uint32_t bits = 1; bits <= most_bits_of_figure_4; ++bits) {
    const problem p = record_split(count, record_bytes, bits, "split_unstable");
    std::vector<contender> who;
    add_variants(
        who, session, p,
        {"cuda.two_step", "cuda.hardware_atomics", "cuda.global_atomics", "cuda.thread_histograms", "cuda.one_bit"});
    const std::vector<result> found = run.measure(session, 4, p, std::move(who));
    const result* const ordered = find(found, "cuda.two_step");
    const result* const hardware = find(found, "cuda.hardware_atomics");
    rows.row({fmt::to_string(1U << bits), time_of(ordered), time_of(hardware), ratio_of(ordered, hardware),
              time_of(find(found, "cuda.global_atomics")), time_of(find(found, "cuda.thread_histograms")),
              time_of(find(found, "cuda.one_bit"))});
  }
}

/// A time that the paper's text gives.
struct paper_time {
  std::uint32_t key_bits;
  std::uint64_t count;
  const char* text;
};

constexpr std::array<paper_time, 4> index_times{{
    {16, 32 * million, "91 ms"},
    {32, 32 * million, "180 ms"},
    {32, 64 * million, "350 ms"},
    {96, 32 * million, "804 ms"},
}};

std::string paper_text(std::uint32_t key_bits, std::uint64_t count) {
  for (const paper_time& t : index_times) {
    if (t.key_bits == key_bits && t.count == count) return t.text;
  }
  return "-";
}

struct record_and_keys {
  std::uint64_t record_bytes;
  std::vector<std::uint32_t> key_bits;
};

// Width of a record of a key and a record number, as in the paper, rounded up to a word of 4 bytes.
std::uint64_t bytes_with_number(std::uint32_t key_bits) { return (key_bits + 32 + 31) / 32 * 4; }

void index_by_key_bits(paper_run& run, session& session, std::uint64_t count) {
  print_place(session, fmt::format("{} numbers of 32 bits", count_text(count)));
  const bool has_paper = std::ranges::any_of(index_times, [count](const paper_time& t) { return t.count == count; });
  const table rows({"key",
                    {"paper", has_paper},
                    "key and number",
                    "records",
                    "peer",
                    "peer / split",
                    "gather index",
                    "Algorithm 3",
                    "Alg. 3 / index",
                    "peer",
                    "peer / index"});
  for (const std::uint32_t bits : {16U, 32U, 48U, 64U, 96U}) {
    const auto pairs = run.measure_with_peers(session, 10, record_split(count, bytes_with_number(bits), bits));
    const auto index = measure_iterated(run, session, 10, index_split(count, bits, "split_gather_index"));
    const result* const ours = find(pairs, "sheaf");
    const result* const direct = find(index, "sheaf");
    const result* const iterated = iterated_of(session, index);
    rows.row({fmt::format("{} bits", bits), paper_text(bits, count), time_of(ours), records_per_second(ours, 2),
              time_of(fastest_peer(pairs)), ratio_of(fastest_peer(pairs), ours), time_of(direct), time_of(iterated),
              ratio_of(iterated, direct), time_of(fastest_peer(index)), ratio_of(fastest_peer(index), direct)});
  }
}

}  // namespace

void figure_4(paper_run& run) {
  print_caption("Figure 4. Basic split by the number of categories, one pass",
                "16 M elements, 2 to 2048 categories (section 3.2; 3.5 says 1 K), of which shared memory holds fewer "
                "blocks; 256 are best. There, with segments of 8192, the one-step scatter takes 24 ms, 90 % of the "
                "split, the two-step one 14 ms, step 3 of these 12 ms. Hardware atomics are 8 to 10 times as "
                "fast as ordered ones (section 3.2), or 5 to 10 (appendix).");
  for (session& s : run.sessions) {
    const std::uint64_t count =
        run.count(s, 16 * million, [](std::uint64_t n) { return record_split(n, 8, most_bits_of_figure_4); });
    for (const std::uint64_t record_bytes : {4, 8}) by_categories(run, s, count, record_bytes);
    for (const std::uint64_t record_bytes : {4, 8}) beside_rivals(run, s, count, record_bytes);
    for (const std::uint64_t record_bytes : {4, 8}) steps_by_segment(run, s, count, record_bytes);
  }
}

void figure_8(paper_run& run) {
  print_caption("Figure 8. Splits of 64-bit records by keys of 8 to 64 bits",
                "8 to 64 M records; the time grows as the key and as the list do.");
  for (session& session : run.sessions) {
    print_place(session,
                "time of our choice, and in brackets the fastest peer's over it and that of Algorithm 3 over it");
    const auto counts =
        run.counts(session, in_millions({8, 16, 32, 48, 64}), [](std::uint64_t n) { return record_split(n, 8, 64); });
    std::vector<column> columns{"key"};
    for (const std::uint64_t count : counts) columns.push_back(fmt::format("{:>26}", count_text(count)));
    const table rows(columns);
    for (std::uint32_t bits = 8; bits <= 64; bits += 8) {
      std::vector<std::string> cells{fmt::format("{} bits", bits)};
      for (const std::uint64_t count : counts) {
        const auto found = measure_iterated(run, session, 8, record_split(count, 8, bits));
        const result* const ours = find(found, "sheaf");
        cells.push_back(fmt::format("{} ({}, {})", time_of(ours), ratio_of(fastest_peer(found), ours),
                                    ratio_of(iterated_of(session, found), ours)));
      }
      rows.row(cells);
    }
  }
}

void figure_9(paper_run& run) {
  print_caption("Figure 9. Splits by the widths of record and key",
                "records of 32 to 128 bits; less than linear in the record, because wide ones are read by wide words.");
  const std::vector<record_and_keys> kinds{
      {4, {8, 16, 24, 32}}, {8, {16, 32, 48, 64}}, {12, {32, 64, 96}}, {16, {32, 64, 96, 128}}};
  for (session& session : run.sessions) {
    const std::uint64_t count = run.count(session, 32 * million, [&](std::uint64_t n) {
      return record_split(n, kinds.back().record_bytes, kinds.back().key_bits.back());
    });
    print_place(session, fmt::format("{} records", count_text(count)));
    const table rows({"record", "key", "value", "split", "records", "variant", "Algorithm 3", "Alg. 3 / split", "peer",
                      "peer / split"});
    for (const record_and_keys& kind : kinds) {
      for (const std::uint32_t bits : kind.key_bits) {
        const auto found = measure_iterated(run, session, 9, record_split(count, kind.record_bytes, bits));
        const result* const ours = find(found, "sheaf");
        const result* const iterated = iterated_of(session, found);
        rows.row({fmt::format("{} bits", 8 * kind.record_bytes), fmt::format("{} bits", bits),
                  fmt::format("{} bits", 8 * kind.record_bytes - bits), time_of(ours), records_per_second(ours, 2),
                  variant_of(ours), time_of(iterated), ratio_of(iterated, ours), time_of(fastest_peer(found)),
                  ratio_of(fastest_peer(found), ours)});
      }
    }
  }
}

void figure_10(paper_run& run) {
  print_caption("Figure 10. Splits of 32-bit numbers by keys of 16 to 96 bits",
                "32 M with a key of 16 bits in 91 ms, of 32 bits in 180 ms, of 96 bits in 804 ms; 64 M with 32 bits "
                "in 350 ms.");
  for (session& s : run.sessions) {
    const auto widest = [](std::uint64_t n) { return record_split(n, bytes_with_number(96), 96); };
    for (const std::uint64_t count : run.counts(s, in_millions({8, 16, 32, 64}), widest)) {
      index_by_key_bits(run, s, count);
    }
  }
}

}  // namespace sheaf::bench::papers::patidar2009
