#include <map>
#include <set>

#include <fmt/format.h>

#include "lab/description/keys.hpp"
#include "lab/harness/platform.hpp"
#include "papers/he2007/figures.hpp"
#include "papers/he2007/radix_sort.hpp"
#include "plan/choose.hpp"
#include "primitives/sort/contract.hpp"

// Section 4.1, figures 15 and 16: radix sort of records of a key and an identifier of 4 bytes each. The paper compares
// whole records, so its forms sort them by all of their 8 bytes, with the key in the higher half; today's sorts, which
// are stable, sort by the key alone. The paper's times on the GPU include the transfers from and to the host.
namespace sheaf::bench::papers::he2007 {
namespace {

using sheaf::papers::he2007::msd_layout;
using sheaf::papers::he2007::radix_parameters;

constexpr std::uint64_t key_bytes = 4;
/// The passes of a scatter that the paper's model chose, for three phases of five bits.
constexpr std::uint64_t paper_scatter_passes = 4;

/// Today's problem: a sort by the key.
problem key_sort(std::uint64_t count) {
  const problem p{.primitive = "sort_records", .record_bytes = tuple_bytes, .count = count, .key_bytes = key_bytes};
  return p.with(primitives::key_part{.bits = 8 * key_bytes});
}

/// The paper's problem: a sort of whole tuples.
problem tuple_sort(std::uint64_t count) {
  const problem p{.primitive = "sort_keys", .record_bytes = tuple_bytes, .count = count, .key_bytes = tuple_bytes};
  return p.with(primitives::key_part{.bits = 8 * tuple_bytes});
}

std::vector<std::uint64_t> counts_of(const paper_run& run, const session& s) {
  return run.counts(s, powers(million, 64 * million, 4), key_sort);
}

/// Memory of the host for the input and the output of the sorts of a row on a GPU, which run one after another; null
/// where it does not hold them, and on the CPU.
using transfer_memory = std::shared_ptr<std::byte[]>;

transfer_memory memory_of_transfers(const session& s, const problem& p) {
  const std::uint64_t bytes = 2 * p.count * p.record_bytes;
  if (s.ctx.backend() != backend_kind::cuda || !host_holds(bytes)) return nullptr;
  return host_memory(s.ctx, bytes);
}

/// A sort with the transfer of its input from the host before and of its output to the host after.
contender with_transfers(const session& session, const problem& p, const contender& sort, const transfer_memory& host) {
  const std::uint64_t bytes = p.count * p.record_bytes;
  contender contender = sort;
  contender.who += "+transfers";
  contender.predicted_seconds = 0;
  // The source is filled after contenders are made, so its copy on the host is taken here.
  contender.prepare = [&arrays = session.arrays, host, ctx = session.ctx, bytes, sort](std::uint64_t copies) {
    if (sort.prepare) sort.prepare(copies);
    copy_bytes(ctx, host.get(), arrays.source(0).data, bytes);
  };
  contender.queue = [&arrays = session.arrays, host, ctx = session.ctx, bytes, sort](std::uint64_t) {
    copy_bytes(ctx, arrays.source(0).data, host.get(), bytes);
    sort.queue(0);
    copy_bytes(ctx, host.get() + bytes, arrays.target(0).data, bytes);
  };
  return contender;
}

/// Adds the contender, and where there is memory for them also the contender with transfers.
void add_with_transfers(std::vector<contender>& who, const session& s, const problem& p, contender sort,
                        const transfer_memory& host) {
  if (host != nullptr) who.push_back(with_transfers(s, p, sort, host));
  who.push_back(std::move(sort));
}

/// Adds the variant of this name, if it is built.
void add_sort(std::vector<contender>& who, const session& s, const problem& p, std::string_view variant,
              const transfer_memory& host = nullptr) {
  std::optional<contender> contender = contender_by_name(s.ctx, p, s.arrays, variant);
  if (contender) add_with_transfers(who, s, p, std::move(*contender), host);
}

const primitives::sort_variant* sort_named(std::string_view name) {
  const auto variants = primitives::sort_variants();
  const auto place = std::ranges::find(variants, name, &primitives::sort_variant::name);
  return place == variants.end() ? nullptr : &*place;
}

/// The paper's sort of tuples, with what its model chose.
struct phase_sort {
  const primitives::sort_variant& variant;
  primitives::sort_problem problem;
  plan::planned plan;

  radix_parameters form() const { return plan.decided.get<msd_layout>().form; }
};

std::optional<phase_sort> phase_sort_of(const session& s, std::uint64_t count) {
  const primitives::sort_variant* const variant = sort_named("cuda.msd_bitonic");
  if (variant == nullptr) return std::nullopt;
  primitives::sort_problem sort;
  sort.backend = backend_kind::cuda;
  sort.count = count;
  sort.key.fields[0] = {.offset = 0, .bytes = tuple_bytes, .type = key_type::unsigned_integer};
  sort.key.field_count = 1;
  sort.key.bits = 8 * tuple_bytes;
  sort.rows = {.record_bytes = tuple_bytes,
               .in_stride_bytes = tuple_bytes,
               .out_stride_bytes = tuple_bytes,
               .access_bytes = tuple_bytes};
  plan::planned plan = variant->plan(sort, plan::scope_of(s.ctx));
  if (!plan.applicable()) return std::nullopt;
  return phase_sort{*variant, sort, std::move(plan)};
}

/// The paper's sort whose scatters have so many passes.
contender with_passes(const session& session, const phase_sort& sort, std::uint64_t passes) {
  plan::planned plan = sort.plan;
  auto layout = plan.decided.get<msd_layout>();
  if (layout.form.passes != passes) plan.seconds = 0;  // the price is of the model's number
  layout.form.passes = static_cast<std::uint32_t>(passes);
  plan.decided.set(layout);
  return {.who = fmt::format("{}:passes={}", sort.variant.name, passes),
          .variant = std::string(sort.variant.name),
          .predicted_seconds = plan.seconds,
          .scratch_bytes = plan.scratch_bytes,
          .queue =
              [&session, sort, plan](std::uint64_t copy) {
                primitives::sort_buffers buffers;
                buffers.in = session.arrays.source(copy);
                buffers.out = session.arrays.target(copy);
                sort.variant.run(session.ctx, sort.problem, plan, buffers, session.arrays.scratch(plan.scratch_bytes));
              },
          .wait = [ctx = session.ctx] { ctx.wait(); }};
}

/// The times of the paper's sort by the passes of its scatters.
times_by_passes times_of(const std::vector<result>& rows, const phase_sort& sort, std::string_view ending) {
  times_by_passes times{.modelled = sort.form().passes};
  for (const result& r : rows) {
    const std::string_view who = r.who;
    const std::size_t begin = who.find(":passes=");
    if (begin == std::string_view::npos || !who.ends_with(ending)) continue;
    const std::string_view number = who.substr(begin + 8, who.size() - ending.size() - begin - 8);
    if (number.find_first_not_of("0123456789") != std::string_view::npos) continue;
    times.seconds[std::stoull(std::string(number))] = r.time.median_seconds;
  }
  return times;
}

std::string time_or_none(double seconds) { return seconds > 0 ? time_text(seconds) : "-"; }

/// What is saved of `slow` seconds.
std::string saved_text(double slow, double fast) { return slow > 0 && fast > 0 ? percent_text(1 - fast / slow) : "-"; }

void optimizations_on_cuda(paper_run& run, session& session) {
  print_place(session,
              "the paper's sort of tuples of 8 bytes by the passes of its scatters, and today's by the key of 4; "
              "\"its ending\" is\n  cuda.sample_bitonic, today's passes over tuples with the paper's ending; the last "
              "columns with the way from the host\n  and back");
  const table rows({"records", "phases", "bits", "one pass", "model's", "time", "4 passes", "best", "time", "saved",
                    "today's", "variant", "paper's / today's", "its ending", "one pass", "best", "saved",
                    "transfers in it"});
  for (const std::uint64_t count : counts_of(run, session)) {
    const std::optional<phase_sort> sort = phase_sort_of(session, count);
    if (!sort) continue;
    const problem tuples = tuple_sort(count);
    std::vector<std::uint64_t> numbers = swept_passes(session, sort->form().passes);
    if (std::ranges::find(numbers, paper_scatter_passes) == numbers.end()) numbers.push_back(paper_scatter_passes);
    const transfer_memory host = memory_of_transfers(session, tuples);
    std::vector<contender> who;
    for (const std::uint64_t passes : numbers) {
      add_with_transfers(who, session, tuples, with_passes(session, *sort, passes), host);
    }
    add_sort(who, session, tuples, "cuda.sample_bitonic", host);
    const auto found = run.measure(session, 15, tuples, std::move(who));
    if (found.empty()) continue;
    const auto today = run.measure(session, 15, key_sort(count), {chosen(session, key_sort(count))});
    const result* const choice = find(today, "sheaf");
    const times_by_passes inner = times_of(found, *sort, "");
    const times_by_passes whole = times_of(found, *sort, "+transfers");
    const double best = inner.of(inner.best());
    const double best_whole = whole.of(whole.best());
    rows.row({fmt::to_string(count), fmt::to_string(sort->form().phases), fmt::to_string(sort->form().bits),
              time_or_none(inner.of(1)), fmt::to_string(inner.modelled), time_or_none(inner.of(inner.modelled)),
              time_or_none(inner.of(paper_scatter_passes)), fmt::to_string(inner.best()), time_or_none(best),
              saved_text(inner.of(1), best), time_of(choice), variant_of(choice),
              choice == nullptr ? "-" : ratio_text(best / choice->time.median_seconds),
              time_of(find(found, "cuda.sample_bitonic")), time_or_none(whole.of(1)), time_or_none(best_whole),
              saved_text(whole.of(1), best_whole), saved_text(best_whole, best)});
  }
}

/// Radix clustering on this many threads.
std::optional<contender> clustering_on(const session& session, const problem& p, int threads) {
  std::optional<contender> made = contender_by_name(context::cpu(threads), p, session.arrays, "cpu.radix_clustering");
  if (made) made->who += fmt::format(":threads={}", threads);
  return made;
}

void optimizations_on_the_cpu(paper_run& run, session& session) {
  print_place(
      session,
      "the paper's sort of tuples of 8 bytes, radix clustering of a part for each thread, beside LSD passes over "
      "the whole\n  array; today's by the key of 4 bytes");
  const table rows({"records", "whole array", "one thread", "all threads", "one / all", "whole / all", "today's",
                    "variant", "paper's / today's", "peer", "", "peer / today's"});
  for (const std::uint64_t count : counts_of(run, session)) {
    const problem tuples = tuple_sort(count);
    std::vector<contender> who;
    add_sort(who, session, tuples, "cpu.lsd");
    add_sort(who, session, tuples, "cpu.radix_clustering");
    if (std::optional<contender> one = clustering_on(session, tuples, 1)) who.push_back(std::move(*one));
    const auto found = run.measure(session, 15, tuples, std::move(who));
    const auto today =
        run.measure(session, 15, key_sort(count),
                    contenders_of(session.ctx, key_sort(count), {.no_peer = run.request.no_peer}, session.arrays));
    const result* const whole = find(found, "cpu.lsd");
    const result* const clustered = find(found, "cpu.radix_clustering");
    const result* const one_thread = find(found, "cpu.radix_clustering:threads=1");
    const result* const choice = find(today, "sheaf");
    const result* const peer = fastest_peer(today);
    rows.row({fmt::to_string(count), time_of(whole), time_of(one_thread), time_of(clustered),
              ratio_of(one_thread, clustered), ratio_of(whole, clustered), time_of(choice), variant_of(choice),
              ratio_of(clustered, choice), time_of(peer), who_of(peer), ratio_of(peer, choice)});
  }
}

/// The bandwidth that the paper estimates, from the bytes that the model says are moved.
std::string estimated_bandwidth(double bytes, const result* r) {
  return r == nullptr ? "-" : bandwidth_text(bytes / r->time.median_seconds);
}

/// Keeps with the last row of this contender the bytes that the model says it moves.
void keep_bytes(paper_run& run, std::string_view who, double bytes) {
  const auto row =
      std::find_if(run.results.rbegin(), run.results.rend(), [&](const result& r) { return r.who == who; });
  if (row != run.results.rend()) add_bytes_by_misses(*row, bytes);
}

/// Times on the CPU by the number of records, of the paper's sort and of today's.
struct cpu_times {
  std::map<std::uint64_t, double> paper;
  std::map<std::uint64_t, double> today;
};

std::string ratio_to(const std::map<std::uint64_t, double>& times, std::uint64_t count, const result* gpu) {
  const auto place = times.find(count);
  if (place == times.end() || gpu == nullptr) return "-";
  return ratio_text(place->second / gpu->time.median_seconds);
}

cpu_times sort_on_the_cpu(paper_run& run, session& session) {
  cpu_times times;
  print_place(session, "the paper's sort of tuples of 8 bytes, today's by the key of 4");
  const table rows({"records", "paper's", "by misses", "today's", "variant", "records", "bandwidth"});
  for (const std::uint64_t count : counts_of(run, session)) {
    std::vector<contender> who;
    add_sort(who, session, tuple_sort(count), "cpu.radix_clustering");
    const auto found = run.measure(session, 16, tuple_sort(count), std::move(who));
    const auto today = run.measure(session, 16, key_sort(count), {chosen(session, key_sort(count))});
    if (found.empty() || today.empty()) continue;
    times.paper[count] = found[0].time.median_seconds;
    times.today[count] = today[0].time.median_seconds;
    const std::uint64_t parts =
        sheaf::papers::he2007::clustering_parts(count, static_cast<std::uint64_t>(session.ctx.threads()));
    const double bytes = sheaf::papers::he2007::moved_bytes_of_clustering(count, parts, session.hardware.cache_bytes);
    keep_bytes(run, found[0].who, bytes);
    rows.row({fmt::to_string(count), time_of(&found[0]), estimated_bandwidth(bytes, &found[0]), time_of(&today[0]),
              today[0].variant, records_per_second(&today[0]), bandwidth_text(today[0].bytes_per_second())});
  }
  return times;
}

void sort_on_cuda(paper_run& run, session& session, const cpu_times& on_the_cpu) {
  const bool has_cpu = !on_the_cpu.paper.empty();
  print_place(
      session,
      "the paper's sort, by the passes of its scatters, and the bitonic sort of tuples of 8 bytes, today's by "
      "the key of 4,\n  with the way from the host and back; ratios and \"by misses\" are of the model's number of "
      "passes; bandwidths are\n  without the way");
  const table rows({"records",
                    "one pass",
                    "model's",
                    "its time",
                    "4 passes",
                    "bitonic",
                    "bitonic / paper's",
                    "today's",
                    "bitonic / today's",
                    {"CPU / GPU, paper's", has_cpu},
                    {"CPU / GPU, today's", has_cpu},
                    "by misses, paper's",
                    "bandwidth, today's"});
  const plan::he2007::parameters& machine = run.model_of(session);
  for (const std::uint64_t count : counts_of(run, session)) {
    const std::optional<phase_sort> sort = phase_sort_of(session, count);
    if (!sort) continue;
    const problem tuples = tuple_sort(count);
    const transfer_memory host = memory_of_transfers(session, tuples);
    std::vector<contender> who;
    const std::uint64_t modelled = sort->form().passes;
    for (const std::uint64_t passes : std::set<std::uint64_t>{1, paper_scatter_passes, modelled}) {
      add_with_transfers(who, session, tuples, with_passes(session, *sort, passes), host);
    }
    add_sort(who, session, tuples, "cuda.bitonic", host);
    const auto found = run.measure(session, 16, tuples, std::move(who));
    std::vector<contender> today_who;
    add_with_transfers(today_who, session, key_sort(count), chosen(session, key_sort(count)), host);
    const auto today = run.measure(session, 16, key_sort(count), std::move(today_who));
    const times_by_passes whole = times_of(found, *sort, "+transfers");
    const std::string paper_name = fmt::format("cuda.msd_bitonic:passes={}", modelled);
    const result* const paper = find(found, paper_name + "+transfers");
    const result* const bitonic = find(found, "cuda.bitonic+transfers");
    const result* const choice = find(today, "sheaf+transfers");
    const double bytes = sheaf::papers::he2007::moved_bytes(count, sort->form(), machine);
    if (find(found, paper_name) != nullptr) keep_bytes(run, paper_name, bytes);
    rows.row({fmt::to_string(count), time_or_none(whole.of(1)), fmt::to_string(modelled), time_of(paper),
              time_or_none(whole.of(paper_scatter_passes)), time_of(bitonic), ratio_of(bitonic, paper), time_of(choice),
              ratio_of(bitonic, choice), ratio_to(on_the_cpu.paper, count, paper),
              ratio_to(on_the_cpu.today, count, choice), estimated_bandwidth(bytes, find(found, paper_name)),
              bandwidth_of(find(today, "sheaf"))});
  }
}

}  // namespace

void figure_15(paper_run& run) {
  print_caption("Figure 15. Radix sort with and without what makes it fast",
                "three phases of 5 bits, scatters of 4 passes; these save 30 % on the GPU, where transfers are 10-30 % "
                "of the time;\n  radix clustering in passes of 6 bits improves AMD's CPU by 85 %, Intel's little.");
  for (session& s : run.sessions) {
    s.ctx.backend() == backend_kind::cuda ? optimizations_on_cuda(run, s) : optimizations_on_the_cpu(run, s);
  }
}

void figure_16(paper_run& run) {
  print_caption(
      "Figure 16. Radix sort and bitonic sort on the GPU, radix sort on the CPU",
      "the radix sort takes half the time of the bitonic sort and less than half of that of the CPU's; by its "
      "misses it moves\n  21.4 GB/s on the GPU, 1.2 and 2.1 GB/s on Intel's and AMD's CPU. All with "
      "transfers.");
  cpu_times on_the_cpu;
  for (session& session : run.sessions) {
    if (session.ctx.backend() != backend_kind::cuda) on_the_cpu = sort_on_the_cpu(run, session);
  }
  for (session& session : run.sessions) {
    if (session.ctx.backend() == backend_kind::cuda) sort_on_cuda(run, session, on_the_cpu);
  }
}

}  // namespace sheaf::bench::papers::he2007
