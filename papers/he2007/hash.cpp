#include <set>

#include <fmt/format.h>

#include "cpu/threads/core_speed.hpp"
#include "lab/description/hash/problem.hpp"
#include "lab/description/row_name.hpp"
#include "papers/he2007/search_bytes.hpp"
#include "papers/he2007/whole_search.hpp"

// Section 4.2, figure 18: 4 million search keys of 32 bits in hash tables of records of 8 bytes, at a load factor of
// 99 %. A search ends with the gather of the records that it has found. The paper's times on the GPU include the
// transfers of the search keys and of the result.
namespace sheaf::bench::papers::he2007 {
namespace {

constexpr std::string_view figure_of_searches = "he2007/18";
constexpr std::string_view choice_with_transfers = "sheaf+transfers";
constexpr std::uint64_t search_keys = 4 * million;
constexpr std::uint64_t usual_records = 16 * million;

// Random keys of 32 bits would mostly find nothing, so probes ask for keys that there are.
problem hash_search_in(std::uint64_t records, std::uint64_t probes) {
  return primitives::parse_problem(fmt::format("hash_search/uniform:s{}:x1:h100/r4/k32+load99/n={}", records, probes));
}

struct table_and_probes {
  std::uint64_t records;
  std::uint64_t probes;
};

// Tables of several sizes with the paper's 4 M search keys, then its probes in other numbers with one table.
std::vector<table_and_probes> searches_of(const paper_run& run, const session& session) {
  const std::vector<std::uint64_t> of_paper = powers(million, 64 * million, 4);
  const auto square = [](std::uint64_t count) { return hash_search_in(count, count); };
  const std::uint64_t usual_probes = std::min(search_keys, run.count(session, search_keys, square));
  const std::uint64_t usual_table = std::min(usual_records, run.count(session, usual_records, square));
  std::vector<table_and_probes> all;
  const auto in_table = [&](std::uint64_t records) { return hash_search_in(records, usual_probes); };
  for (const std::uint64_t records : run.counts(session, of_paper, in_table)) all.push_back({records, usual_probes});
  const auto by_probes = [&](std::uint64_t probes) { return hash_search_in(usual_table, probes); };
  for (const std::uint64_t probes : run.counts(session, of_paper, by_probes)) {
    if (probes != usual_probes) all.push_back({usual_table, probes});
  }
  return all;
}

/// What one point of the figure measured.
struct searched {
  table_and_probes sizes;
  std::vector<result> rows;
  std::uint64_t modelled_passes = 1;
  std::uint64_t chunks = 1;  ///< of the CPU's search by chunks

  const result* choice() const { return find(rows, "sheaf"); }
  const result* with_passes(std::uint64_t passes) const {
    return find(rows, whole_search::name_with_passes("sheaf", passes));
  }
  const result* by_chunks(std::uint64_t count, int threads = 0) const {
    return find(rows, whole_search::name_by_chunks(count, threads));
  }
};

bool searches_on_gpu(const session& s) { return s.ctx.backend() == backend_kind::cuda; }

/// Passes of the gather behind whole searches: one, the paper's number and the model's.
std::set<std::uint64_t> passes_of_searches(std::uint64_t modelled) { return {1, paper_passes, modelled}; }

/// Whether memory holds this contender on one copy of the row's arrays.
bool is_search_held(const session& s, const problem& p, const contender& c) {
  return reason_to_skip(planned(p, 1, {c}), s.hardware).empty();
}

/// Our choice, every variant and the peers, each with the gather; the choice also with the multi-pass gather, whose
/// step is measured alone, too. On a GPU also with transfers, as the paper's times have them; on a CPU the paper's
/// search by chunks.
std::vector<contender> searches(paper_run& run, const session& session, const problem& problem, searched& point) {
  const whole_search whole(session, problem);
  const plan::he2007::parameters& model = run.model_of(session);
  point.modelled_passes = whole.modelled_passes(model);
  std::vector<contender> all;
  const row_options who{.no_peer = run.request.no_peer, .variants = true};
  for (const contender& search : contenders_of(session.ctx, problem, who, session.arrays)) {
    if (search.variant.starts_with("reference.")) continue;  // builds an index of its own in every call
    contender with_gather = whole.with_gather(search);
    if (!search.is_peer() || is_search_held(session, problem, with_gather)) all.push_back(std::move(with_gather));
    if (search.who != "sheaf") continue;
    const std::uint64_t host_bytes =
        problem.count * problem.key_bytes + primitives::most_matches(problem) * tuple_bytes;
    if (searches_on_gpu(session) && host_holds(host_bytes)) all.push_back(whole.with_transfers(search));
    for (const std::uint64_t passes : passes_of_searches(point.modelled_passes)) {
      all.push_back(whole.with_passes(search, passes));
    }
    for (const std::uint64_t passes : swept_passes(session, point.modelled_passes)) {
      all.push_back(whole.step_4(search, passes, model));
    }
  }
  if (session.ctx.backend() == backend_kind::cpu) {
    point.chunks = whole.planned_chunks();
    for (const std::uint64_t chunks : std::set<std::uint64_t>{1, point.chunks}) all.push_back(whole.by_chunks(chunks));
    if (has_one_thread_beside(session)) all.push_back(whole.by_chunks(point.chunks, 1));
  }
  return all;
}

/// Bytes that a search moves by the misses of the paper's model.
double bytes_by_misses(const problem& p, const plan::he2007::parameters& model, std::uint64_t chunks,
                       std::uint64_t passes) {
  const search_sizes sizes{.probes = p.count,
                           .records = primitives::table_records(p),
                           .matches = primitives::most_matches(p),
                           .key_bytes = p.key_bytes,
                           .number_bytes = bytes(p.index),
                           .record_bytes = tuple_bytes,
                           .load = primitives::load_of(p),
                           .chunks = chunks,
                           .passes = passes};
  return search_bytes(sizes, model);
}

double bandwidth_by_misses(const result& r, const plan::he2007::parameters& model, std::uint64_t chunks,
                           std::uint64_t passes) {
  return bytes_by_misses(r.problem, model, chunks, passes) / r.time.median_seconds;
}

/// Measures a point. Bandwidth counts what the gather moves, too, and of step 4 alone nothing else; a search with
/// transfers, or a step of one, is no match for peers, which have neither.
searched measure_searches(paper_run& run, session& session, const table_and_probes& sizes) {
  const problem problem = hash_search_in(sizes.records, sizes.probes);
  searched point{sizes, {}};
  point.rows = measured(session, std::string(figure_of_searches), problem, searches(run, session, problem, point));
  const std::uint64_t gathered_bytes = whole_search(session, problem).gathered_bytes();
  for (result& r : point.rows) {
    const bool is_step = r.who.starts_with(whole_search::step_4_words);
    r.moved_bytes = (is_step ? 0 : r.moved_bytes) + gathered_bytes;
    if (is_step || r.who == choice_with_transfers) r.peer_ratio = 0;
    const auto add_bytes = [&](std::uint64_t chunks, std::uint64_t passes) {
      add_bytes_by_misses(r, bytes_by_misses(problem, run.model_of(session), chunks, passes));
    };
    if (r.who == whole_search::name_with_passes("sheaf", point.modelled_passes)) add_bytes(1, point.modelled_passes);
    if (r.who == whole_search::name_by_chunks(point.chunks)) add_bytes(point.chunks, 1);
  }
  run.results.insert(run.results.end(), point.rows.begin(), point.rows.end());
  return point;
}

/// The variant whose name ends so, such as "direct".
const result* result_by(const std::vector<result>& rows, std::string_view name) {
  const auto place =
      std::ranges::find_if(rows, [&](const result& r) { return r.who.ends_with(fmt::format(".{}", name)); });
  return place == rows.end() ? nullptr : &*place;
}

/// The load factor that the row's index has.
std::string load_text(const result& row) {
  for (const primitives::fact& f : row.facts) {
    const auto* const percent = std::get_if<std::uint64_t>(&f.value);
    if (f.name == "index_load_percent" && percent != nullptr) return fmt::format("{} %", *percent);
  }
  return "-";
}

/// Measures all points, and prints our choice beside the variants and the fastest peer.
std::vector<searched> print_search_variants(paper_run& run, session& session) {
  const bool has_passes = is_of_backend(session, "cuda.multipass");
  const table rows({"records",
                    "probes",
                    "load",
                    "direct",
                    {"multipass", has_passes},
                    "partitioned",
                    {"direct / multipass", has_passes},
                    "direct / partitioned",
                    "choice",
                    "variant",
                    "keys",
                    "bandwidth",
                    "peer",
                    "its time",
                    "peer / choice",
                    {"with transfers", searches_on_gpu(session)},
                    {"transfers in it", searches_on_gpu(session)}});
  std::vector<searched> all;
  for (const table_and_probes& sizes : searches_of(run, session)) {
    searched point = measure_searches(run, session, sizes);
    const result* const choice = point.choice();
    if (choice == nullptr) continue;
    const result* const moved = find(point.rows, choice_with_transfers);
    const result* const direct = result_by(point.rows, "direct");
    const result* const multipass = result_by(point.rows, "multipass");
    const result* const partitioned = result_by(point.rows, "partitioned");
    const result* const peer = fastest_peer(point.rows);
    rows.row({count_text(sizes.records), count_text(sizes.probes), load_text(*choice), time_of(direct),
              time_of(multipass), time_of(partitioned), ratio_of(direct, multipass), ratio_of(direct, partitioned),
              time_of(choice), choice->variant, records_per_second(choice), bandwidth_of(choice), who_of(peer),
              time_of(peer), ratio_of(peer, choice), time_of(moved),
              moved ? percent_text(1 - choice->time.median_seconds / moved->time.median_seconds) : "-"});
    all.push_back(std::move(point));
  }
  return all;
}

/// Step 4 alone by its numbers of passes, and whole searches with one pass and with the paper's sixteen.
void print_gather_passes(paper_run& run, const session& session, const std::vector<searched>& points) {
  if (points.empty()) return;
  fmt::print("\n  step 4 by {}.multipass: alone, and behind steps 1 to 3 of our choice\n", name(session.ctx.backend()));
  std::vector<column> columns{"records", "probes"};
  for (const column& c : times_by_passes::columns()) columns.push_back(c);
  for (const char* const title :
       {"search, one", "search, 16", "one / 16", "faster", "search, model's", "bandwidth", "by misses"}) {
    columns.emplace_back(title);
  }
  const table rows(columns);
  spread gains;
  spread bandwidths;
  for (const searched& point : points) {
    times_by_passes step{.modelled = point.modelled_passes};
    for (const std::uint64_t passes : swept_passes(session, point.modelled_passes)) {
      const result* const row = find(point.rows, whole_search::name_of_step_4(passes));
      if (row != nullptr) step.seconds[passes] = row->time.median_seconds;
    }
    const result* const one = point.with_passes(1);
    const result* const sixteen = point.with_passes(paper_passes);
    const result* const modelled = point.with_passes(point.modelled_passes);
    if (one == nullptr || sixteen == nullptr || modelled == nullptr) continue;
    gains.add(one->time.median_seconds / sixteen->time.median_seconds);
    bandwidths.add(bandwidth_by_misses(*modelled, run.model_of(session), 1, point.modelled_passes));
    std::vector<std::string> cells{count_text(point.sizes.records), count_text(point.sizes.probes)};
    for (std::string& cell : step.cells()) cells.push_back(std::move(cell));
    const bool one_wins = one->time.median_seconds <= sixteen->time.median_seconds;
    for (const std::string& cell :
         {time_of(one), time_of(sixteen), ratio_of(one, sixteen), std::string(one_wins ? "one pass" : "16 passes"),
          time_of(modelled), bandwidth_of(modelled),
          bandwidth_text(bandwidth_by_misses(*modelled, run.model_of(session), 1, point.modelled_passes))}) {
      cells.push_back(cell);
    }
    rows.row(cells);
  }
  if (gains.count() == 0) return;
  fmt::print("  a search with one pass over one with 16: {} on average ({} to {}); in the paper 16 were 50 % faster\n",
             ratio_text(gains.mean()), ratio_text(gains.least()), ratio_text(gains.most()));
  fmt::print("  bytes by the model's misses: {} on average; in the paper 13.0 GB/s on the G80\n",
             bandwidth_text(bandwidths.mean()));
}

/// The paper's search of the CPU with the whole table as one chunk, and by chunks of the second-level cache.
void print_search_chunks(paper_run& run, const session& session, const std::vector<searched>& points) {
  if (points.empty() || session.ctx.backend() != backend_kind::cpu) return;
  fmt::print("\n  the paper's search of the CPU, cpu.cache_chunks, with the gather\n");
  const table rows({"records",
                    "probes",
                    "chunks",
                    "one chunk",
                    "by chunks",
                    "one / chunks",
                    "faster",
                    "choice",
                    "chunks / choice",
                    "by misses",
                    {"1 thread", has_one_thread_beside(session)},
                    {"1 / all", has_one_thread_beside(session)}});
  spread gains;
  spread bandwidths;
  for (const searched& point : points) {
    const result* const one = point.by_chunks(1);
    const result* const chunks = point.by_chunks(point.chunks);
    if (one == nullptr || chunks == nullptr) continue;
    const result* const one_thread = point.by_chunks(point.chunks, 1);
    if (chunks != one) gains.add(one->time.median_seconds / chunks->time.median_seconds);
    const double by_misses = bandwidth_by_misses(*chunks, run.model_of(session), point.chunks, 1);
    bandwidths.add(by_misses);
    const bool one_wins = one->time.median_seconds <= chunks->time.median_seconds;
    rows.row({count_text(point.sizes.records), count_text(point.sizes.probes), fmt::to_string(point.chunks),
              time_of(one), time_of(chunks), ratio_of(one, chunks),
              chunks == one ? "-"
              : one_wins    ? "one chunk"
                            : "chunks",
              time_of(point.choice()), ratio_of(chunks, point.choice()), bandwidth_text(by_misses), time_of(one_thread),
              ratio_of(one_thread, chunks)});
  }
  if (gains.count() > 0) {
    fmt::print(
        "  one chunk over chunks of {}: {} on average ({} to {}); in the paper chunks were significantly faster on "
        "AMD's CPU, moderately on Intel's\n",
        size_text(cpu::own_cache_bytes(session.ctx.profile())), ratio_text(gains.mean()), ratio_text(gains.least()),
        ratio_text(gains.most()));
  }
  if (bandwidths.count() == 0) return;
  fmt::print("  bytes by the model's misses: {} on average; in the paper 0.56 GB/s on Intel's CPU, 1.0 on AMD's\n",
             bandwidth_text(bandwidths.mean()));
}

/// Our choice on the CPU beside our choice on CUDA with transfers, if the run measured both.
void print_searches_of_both(const paper_run& run) {
  const auto is_row = [](const result& r, backend_kind backend, std::string_view who) {
    return r.figure == figure_of_searches && r.backend == backend && r.who == who;
  };
  std::optional<table> rows;
  spread ratios;
  for (const result& cpu : run.results) {
    if (!is_row(cpu, backend_kind::cpu, "sheaf")) continue;
    for (const result& cuda : run.results) {
      if (!is_row(cuda, backend_kind::cuda, choice_with_transfers) || name(cuda.problem) != name(cpu.problem)) continue;
      if (!rows) {
        fmt::print(
            "\n  # our choice on the CPU beside CUDA with transfers; the G80 was 7.2x as fast as Intel's CPU "
            "and 3.5x as AMD's\n");
        rows.emplace(std::vector<column>{"records", "probes", "CPU", "CUDA", "CPU / CUDA"});
      }
      rows->row({count_text(primitives::table_records(cpu.problem)), count_text(cpu.problem.count), time_of(&cpu),
                 time_of(&cuda), ratio_of(&cpu, &cuda)});
      ratios.add(cpu.time.median_seconds / cuda.time.median_seconds);
    }
  }
  if (ratios.count() > 0) fmt::print("  on average {}\n", ratio_text(ratios.mean()));
}

}  // namespace

void figure_18(paper_run& run) {
  print_caption(
      "Figure 18. Hash search on the GPU and the CPU",
      "7.2 and 3.5 times as fast on the GPU as on Intel's and AMD's CPU, transfers included, which take 40 to "
      "60 %; the\n  multi-pass gather, in 16 passes, saves a third. The text has no sizes of tables.");
  fmt::print("  The paper's tables are 99 % full, and so are ours. The column \"load\" has what the table is.\n");
  for (session& session : run.sessions) {
    print_place(session,
                fmt::format("keys of 4 bytes, records of 8, all found{}",
                            searches_on_gpu(session) ? "; the last columns with the way from the host and back" : ""));
    const std::vector<searched> points = print_search_variants(run, session);
    print_gather_passes(run, session, points);
    print_search_chunks(run, session, points);
  }
  print_searches_of_both(run);
}

}  // namespace sheaf::bench::papers::he2007
