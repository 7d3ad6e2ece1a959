#include <map>

#include <fmt/format.h>

#include "lab/description/keys.hpp"
#include "lab/harness/platform.hpp"
#include "papers/he2007/figures.hpp"

// Section 4.1, figures 15 and 16: radix sort of records of a key and an identifier of 4 bytes each. The paper's times
// on the GPU include the transfers from and to the host.
namespace sheaf::bench::papers::he2007 {
namespace {

constexpr std::uint64_t key_bytes = 4;

problem radix_sort(std::uint64_t count) {
  const problem p{.primitive = "sort_records", .record_bytes = tuple_bytes, .count = count, .key_bytes = key_bytes};
  return p.with(primitives::key_part{.bits = 8 * key_bytes});
}

std::vector<std::uint64_t> counts_of(const paper_run& run, const session& s) {
  return run.counts(s, powers(million, 64 * million, 4), radix_sort);
}

/// A sort with the transfer of its input from the host before and of its output to the host after.
contender with_transfers(const session& session, const problem& p, const contender& sort) {
  const std::uint64_t bytes = p.count * p.record_bytes;
  const std::shared_ptr<std::byte[]> host = host_memory(session.ctx, 2 * bytes);
  contender contender = sort;
  contender.who += "+transfers";
  contender.predicted_seconds = 0;
  // The source is filled after contenders are made, so its copy on the host is taken here.
  contender.prepare = [&arrays = session.arrays, host, ctx = session.ctx, bytes, sort](std::uint64_t copies) {
    sort.prepare(copies);
    copy_bytes(ctx, host.get(), arrays.source(0).data, bytes);
  };
  contender.queue = [&arrays = session.arrays, host, ctx = session.ctx, bytes, sort](std::uint64_t) {
    copy_bytes(ctx, arrays.source(0).data, host.get(), bytes);
    sort.queue(0);
    copy_bytes(ctx, host.get() + bytes, arrays.target(0).data, bytes);
  };
  return contender;
}

/// Adds the variant of this name, if it is built, and on a GPU also the variant with transfers.
void add_sort(std::vector<contender>& who, const session& s, const problem& p, std::string_view variant) {
  std::optional<contender> contender = contender_by_name(s.ctx, p, s.arrays, variant);
  if (!contender) return;
  if (s.ctx.backend() == backend_kind::cuda && host_holds(2 * p.count * p.record_bytes)) {
    who.push_back(with_transfers(s, p, *contender));
  }
  who.push_back(std::move(*contender));
}

void optimizations_on_cuda(paper_run& run, session& session) {
  print_place(session, "records of 8 bytes by keys of 4; the last columns with the way from the host and back");
  const table rows({"records", "the paper's", "today's", "the paper's / today's", "choice", "variant", "the paper's",
                    "today's", "transfers in it"});
  for (const std::uint64_t count : counts_of(run, session)) {
    const problem p = radix_sort(count);
    std::vector<contender> who = contenders_of(session.ctx, p, {.no_peer = true}, session.arrays);
    for (const char* variant : {"cuda.msd_bitonic", "cuda.sample"}) add_sort(who, session, p, variant);
    const auto found = run.measure(session, 15, p, std::move(who));
    const result* const paper = find(found, "cuda.msd_bitonic");
    const result* const ours = find(found, "cuda.sample");
    const result* const moved = find(found, "cuda.sample+transfers");
    const result* const choice = find(found, "sheaf");
    const bool both = ours != nullptr && moved != nullptr;
    rows.row({fmt::to_string(count), time_of(paper), time_of(ours), ratio_of(paper, ours), time_of(choice),
              variant_of(choice), time_of(find(found, "cuda.msd_bitonic+transfers")), time_of(moved),
              both ? percent_text(1 - ours->time.median_seconds / moved->time.median_seconds) : "-"});
  }
}

void optimizations_on_the_cpu(paper_run& run, session& session) {
  print_place(session, "records of 8 bytes by keys of 4");
  const table rows(
      {"records", "whole array", "clustered", "whole / clustered", "choice", "variant", "peer", "", "peer / choice"});
  for (const std::uint64_t count : counts_of(run, session)) {
    const problem p = radix_sort(count);
    std::vector<contender> who = contenders_of(session.ctx, p, {}, session.arrays);
    for (const char* variant : {"cpu.lsd", "cpu.msd"}) add_sort(who, session, p, variant);
    const auto found = run.measure(session, 15, p, std::move(who));
    const result* const whole = find(found, "cpu.lsd");
    const result* const clustered = find(found, "cpu.msd");
    const result* const choice = find(found, "sheaf");
    const result* const peer = fastest_peer(found);
    rows.row({fmt::to_string(count), time_of(whole), time_of(clustered), ratio_of(whole, clustered), time_of(choice),
              variant_of(choice), time_of(peer), who_of(peer), ratio_of(peer, choice)});
  }
}

}  // namespace

void figure_15(paper_run& run) {
  print_caption("Figure 15. Radix sort with and without what makes it fast",
                "three phases of 5 bits; the multi-pass scatter saves 30 % on the GPU, where transfers are 10-30 % of "
                "the time;\n  radix clustering in passes of 6 bits improves AMD's CPU by 85 %, Intel's little.");
  for (session& s : run.sessions) {
    s.ctx.backend() == backend_kind::cuda ? optimizations_on_cuda(run, s) : optimizations_on_the_cpu(run, s);
  }
}

void figure_16(paper_run& run) {
  print_caption("Figure 16. Radix sort and bitonic sort on the GPU, radix sort on the CPU",
                "the radix sort takes half the time of the bitonic sort and less than half of that of the CPU's; "
                "21.4 GB/s on the\n  GPU, 1.2 and 2.1 GB/s on Intel's and AMD's CPU. All with transfers.");
  std::map<std::uint64_t, double> on_the_cpu;
  for (session& session : run.sessions) {
    if (session.ctx.backend() == backend_kind::cuda) continue;
    print_place(session, "records of 8 bytes by keys of 4");
    const table rows({"records", "radix sort", "variant", "records", "bandwidth"});
    for (const std::uint64_t count : counts_of(run, session)) {
      const problem p = radix_sort(count);
      const auto found = run.measure(session, 16, p, {chosen(session, p)});
      if (found.empty()) continue;
      const double seconds = found[0].time.median_seconds;
      on_the_cpu[count] = seconds;
      rows.row({fmt::to_string(count), time_text(seconds), found[0].variant, records_per_second(&found[0]),
                bandwidth_text(found[0].bytes_per_second())});
    }
  }
  for (session& session : run.sessions) {
    if (session.ctx.backend() != backend_kind::cuda) continue;
    print_place(session, "records of 8 bytes by keys of 4, with the way from the host and back");
    const table rows({"records", "radix, paper's", "radix, today's", "bitonic", "bitonic / radix", "without transfers",
                      "bitonic / radix", "bandwidth", "CPU / radix"});
    for (const std::uint64_t count : counts_of(run, session)) {
      const problem p = radix_sort(count);
      std::vector<contender> who;
      for (const char* variant : {"cuda.msd_bitonic", "cuda.sample", "cuda.bitonic"})
        add_sort(who, session, p, variant);
      if (who.empty()) continue;
      const auto found = run.measure(session, 16, p, std::move(who));
      const result* const radix = find(found, "cuda.sample+transfers");
      const result* const inner = find(found, "cuda.sample");
      const auto cpu = on_the_cpu.find(count);
      rows.row(
          {fmt::to_string(count), time_of(find(found, "cuda.msd_bitonic+transfers")), time_of(radix),
           time_of(find(found, "cuda.bitonic+transfers")), ratio_of(find(found, "cuda.bitonic+transfers"), radix),
           time_of(inner), ratio_of(find(found, "cuda.bitonic"), inner), bandwidth_of(inner),
           cpu == on_the_cpu.end() || radix == nullptr ? "-" : ratio_text(cpu->second / radix->time.median_seconds)});
    }
  }
}

}  // namespace sheaf::bench::papers::he2007
