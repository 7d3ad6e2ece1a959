#include "papers/he2007/figures.hpp"

#include <fmt/format.h>

#include "lab/inputs/pattern.hpp"
#include "papers/he2007/scan.hpp"
#include "primitives/movement/gather.hpp"
#include "primitives/movement/multipass.hpp"
#include "primitives/movement/scatter.hpp"

namespace sheaf::bench::papers {
namespace he2007 {
namespace {

constexpr std::uint64_t paper_bytes = 128 * megabyte;
constexpr std::uint64_t paper_cache_bytes = 392 * 1024;

// Calls use(variants, problem, buffers_of_copy) with the variants of the problem's primitive.
template <class Use>
auto with_variants(const context& ctx, const workspace& arrays, const problem& p, Use use) {
  const const_records shape{nullptr, p.count, p.record_bytes};
  const primitives::movement movement = primitives::describe_movement(ctx, shape, {nullptr, p.count, p.index}, shape,
                                                                      primitives::hint(p.pattern), bounds::check);
  if (p.primitive == "gather") {
    return use(primitives::gather_variants(), primitives::gather_problem{movement}, [&arrays](std::uint64_t copy) {
      return primitives::gather_buffers{arrays.source(copy), arrays.index(copy), arrays.target(copy)};
    });
  }
  return use(primitives::scatter_variants(), primitives::scatter_problem{movement, duplicates::any},
             [&arrays](std::uint64_t copy) {
               return primitives::scatter_buffers{arrays.source(copy), arrays.index(copy), arrays.target(copy)};
             });
}

plan::he2007::sizes sizes_of(const problem& p) { return {p.count, p.count, p.record_bytes, p.count * bytes(p.index)}; }

plan::he2007::operation operation_of(const problem& p) {
  return p.primitive == "gather" ? plan::he2007::operation::gather : plan::he2007::operation::scatter;
}

/// Arrays that a scan reads, and those that it writes: as many of each as calls rotate among.
struct scanned_arrays {
  static constexpr std::uint64_t word_bytes = 64;
  static constexpr std::uint64_t seed_of_source = 1;

  scanned_arrays(const context& ctx, std::uint64_t array_bytes, std::uint64_t copies)
      : bytes(array_bytes), from(ctx, copies * array_bytes), to(ctx, copies * array_bytes) {
    const std::uint64_t words = copies * bytes / word_bytes;
    inputs::fill_records(ctx, {from.data(), words, word_bytes}, seed_of_source);
    inputs::fill_records(ctx, {to.data(), words, word_bytes}, seed_of_source + 1);  // touches the memory
  }
  void queue(const context& ctx, std::uint64_t copy) const {
    queue_scan(ctx, from.data() + copy * bytes, to.data() + copy * bytes, bytes);
  }
  /// Of the first copy's scan.
  std::uint64_t count_mistakes(const context& ctx) const {
    const std::uint64_t words = bytes / word_bytes;
    return inputs::count_gather_mismatches(ctx, {to.data(), words, word_bytes}, {primitives::pattern_kind::identity},
                                           words, seed_of_source);
  }

  std::uint64_t bytes;
  buffer from;
  buffer to;
};

plan::he2007::timed_scan time_scan(const session& s, std::uint64_t bytes) {
  const std::uint64_t copies = rotated_copies(2 * bytes, s.evicted_bytes, s.limits);
  const scanned_arrays arrays(s.ctx, bytes, copies);
  const contender scan{
      .who = "scan", .queue = [&](std::uint64_t copy) { arrays.queue(s.ctx, copy); }, .wait = [&] { s.ctx.wait(); }};
  const double seconds = measure({&scan, 1}, copies, s.clock.get(), s.limits).front().median_seconds;
  if (arrays.count_mistakes(s.ctx) != 0) throw error(error_code::internal, "a scan copied other bytes");
  return {static_cast<double>(2 * bytes), seconds};
}

// The largest arrays come first, so that the others lie in the memory that these give back. A size that memory does not
// hold after all, because others took of it, is left out.
std::vector<plan::he2007::timed_scan> time_scans(const session& s) {
  std::vector<std::uint64_t> sizes = scan_sizes(s.size, s.hardware.memory_bytes);
  std::ranges::reverse(sizes);
  std::vector<plan::he2007::timed_scan> scans;
  for (const std::uint64_t bytes : sizes) {
    try {
      scans.push_back(time_scan(s, bytes));
    } catch (const error& e) {
      if (e.code() != error_code::out_of_memory) throw;
    }
  }
  std::ranges::reverse(scans);
  return scans;
}

const scanned_model& model_in(paper_run& run, const session& s) {
  const auto [place, is_new] = run.models.try_emplace(&s);
  if (!is_new) return place->second;
  place->second.scans = time_scans(s);
  place->second.parameters = with_bandwidth_of(plan::he2007::parameters_of(s.ctx.profile()), place->second.scans);
  return place->second;
}

template <class Variant, class Problem, class BuffersOf>
contender planned_contender(const context& ctx, const Variant& variant, const Problem& problem,
                            const plan::planned& plan, BuffersOf buffers_of) {
  return {.who = std::string(variant.name),
          .variant = std::string(variant.name),
          .predicted_seconds = plan.seconds,
          .scratch_bytes = plan.scratch_bytes,
          .queue =
              [ctx, &variant, problem, plan, buffers_of](std::uint64_t copy) {
                const core::scratch scratch(ctx.state(), plan.scratch_bytes);
                if (!scratch.is_taken()) scratch.throw_not_taken(variant.name);
                variant.run(ctx, problem, plan, buffers_of(copy), scratch.data());
              },
          .wait = [ctx] { ctx.wait(); }};
}

// Variants of one pass that do not inspect the index list first: the library's, and the paper's own, which runs by name
// only.
bool only_moves(std::string_view variant, bool by_name_only) {
  return variant.ends_with(".thread_per_record") ||
         (!by_name_only && (variant.ends_with(".direct") || variant.ends_with(".collective")));
}

template <class Variant>
const Variant& multipass_of(std::span<const Variant> variants, backend_kind backend) {
  const std::string name = fmt::format("{}.multipass", sheaf::name(backend));
  return *std::ranges::find(variants, name, &Variant::name);
}

}  // namespace

std::vector<fixed_size> paper_run::fixed_sizes(const session& s) const {
  if (s.size == run_size::tiny) return {{1 << 12, "a size to try it with"}, {1 << 14, "another"}};
  const std::uint64_t paper_tuples = paper_bytes / tuple_bytes;
  const auto widest = [](std::uint64_t tuples) { return at_random("scatter", tuples, widest_tuple_bytes); };
  const std::uint64_t most = (s.ctx.backend() == backend_kind::cuda ? 4096 : 1024) * megabyte;
  const double paper_ratio = static_cast<double>(paper_bytes) / paper_cache_bytes;
  const auto cache = static_cast<double>(s.hardware.cache_bytes);
  const auto size = [&](std::uint64_t size_bytes, std::string_view why) {
    return fixed_size{size_bytes / tuple_bytes,
                      fmt::format("{} of tuples, {}: {:.3g} times the last cache, {:.0f} times on the G80",
                                  size_text(size_bytes), why, static_cast<double>(size_bytes) / cache, paper_ratio)};
  };
  if (s.size == run_size::small) return {size(count(s, paper_tuples, widest) * tuple_bytes, "fewer than the paper's")};
  std::vector<fixed_size> sizes{size(paper_bytes, "as in the paper")};
  if (s.size == run_size::medium) return sizes;
  const auto wanted = std::bit_floor(static_cast<std::uint64_t>(paper_ratio * cache));
  if (const std::uint64_t scaled = std::min(most, wanted); scaled > paper_bytes && !request.paper_sizes) {
    sizes.push_back(size(scaled, scaled == wanted ? "scaled to the cache" : "scaled to the cache as far as is useful"));
  }
  if (s.size == run_size::device) {
    const std::uint64_t largest = count(s, paper_tuples, widest);
    if (largest > sizes.back().count) sizes.push_back(size(largest * tuple_bytes, "as far as memory goes"));
  }
  return sizes;
}

const pass_sweep& paper_run::sweep_passes(session& session, std::uint64_t count) {
  const auto [place, is_new] = sweeps.try_emplace({&session, count});
  pass_sweep& sweep = place->second;
  if (!is_new) return sweep;
  const problem p = at_random("scatter", count);
  sweep.times.modelled = modelled_passes(session, p);
  sweep.passes = swept_passes(session, sweep.times.modelled);
  std::vector<contender> who{single_pass(session, p)};
  for (const std::uint64_t passes : sweep.passes) who.push_back(multi_pass(session, p, passes));
  sweep.rows = measure(session, 9, p, std::move(who));
  if (sweep.rows.empty()) return sweep;
  sweep.single = sweep.rows.front();
  sweep.rows.erase(sweep.rows.begin());
  for (std::size_t i = 0; i < sweep.rows.size(); ++i) {
    sweep.times.seconds[sweep.passes[i]] = sweep.rows[i].time.median_seconds;
  }
  return sweep;
}

const plan::he2007::parameters& paper_run::model_of(const session& s) { return model_in(*this, s).parameters; }

std::span<const plan::he2007::timed_scan> paper_run::scans_of(const session& s) { return model_in(*this, s).scans; }

double paper_run::modelled_seconds(const session& s, const problem& p, std::uint64_t passes) {
  const auto seconds = operation_of(p) == plan::he2007::operation::gather ? &plan::he2007::gather_seconds
                                                                          : &plan::he2007::scatter_seconds;
  return seconds(sizes_of(p), primitives::hint(p.pattern), static_cast<double>(passes), model_of(s));
}

std::uint64_t paper_run::modelled_passes(const session& s, const problem& p) {
  return plan::he2007::best_passes(operation_of(p), sizes_of(p), primitives::hint(p.pattern), model_of(s));
}

std::vector<std::uint64_t> swept_passes(const session& s, std::uint64_t modelled) {
  return swept_passes(s.size, modelled);
}

problem sequential(std::string_view what, std::uint64_t count) {
  return {what, {primitives::pattern_kind::identity}, tuple_bytes, index_type::u32, count};
}

problem at_random(std::string_view what, std::uint64_t count, std::uint64_t record_bytes) {
  return {what, {primitives::pattern_kind::permutation}, record_bytes, index_type::u32, count};
}

problem to_partitions(std::uint64_t partitions, std::uint64_t count) {
  return {"scatter", {primitives::pattern_kind::drawn, partitions}, tuple_bytes, index_type::u32, count};
}

void print_draw() {
  fmt::print(
      "  Here a tuple's partition is drawn at random too, but so that each has 16 of every 16 tuples a partition: a\n"
      "  warp's 32 tuples meet up to 2 % more partitions than by equation 7, whose draws do not know of each other.\n");
}

void print_letters(paper_run& run, const session& s) {
  const plan::he2007::parameters& p = run.model_of(s);
  fmt::print(
      "  the model on the {}: B_seq {}; blocks of {:.0f} bytes, of which the cache has {:.0f};\n"
      "  a hit of {:.0f} bytes takes {:.3g} ns; {:.0f} {} miss together\n",
      s.ctx.backend() == backend_kind::cuda ? "GPU" : "CPU", bandwidth_text(p.sequential_bytes_per_second),
      p.block_bytes, p.cache_blocks, p.transfer_bytes, 1e9 * p.hit_seconds, p.warp_threads,
      s.ctx.backend() == backend_kind::cuda ? "threads of a warp" : "accesses that a core has under way");
}

contender cheapest_single_pass(const session& s, const problem& spec, int threads) {
  const context ctx = threads == 0 ? s.ctx : context::cpu(threads);
  return with_variants(ctx, s.arrays, spec, [&](const auto& variants, const auto& problem, const auto& buffers_of) {
    auto best = variants.begin();
    plan::planned least = plan::rejected("not planned yet");
    for (auto candidate = variants.begin(); candidate != variants.end(); ++candidate) {
      if (!candidate->works_on(ctx.backend())) continue;
      const plan::planned plan = candidate->plan(problem, ctx.profile());
      if (!plan.applicable() || !only_moves(candidate->name, plan.by_name_only)) continue;
      if (least.applicable() && plan.seconds >= least.seconds) continue;
      best = candidate;
      least = plan;
    }
    contender c = planned_contender(ctx, *best, problem, least, buffers_of);
    if (threads != 0) c.who += fmt::format(":threads={}", threads);
    return c;
  });
}

contender paper_run::single_pass(const session& s, const problem& spec, int threads) {
  contender c = cheapest_single_pass(s, spec, threads);
  if (threads == 0) c.he2007_seconds = modelled_seconds(s, spec, 1);
  return c;
}

// The variant's prediction is for the number of passes that it planned, and is dropped for any other number.
contender paper_run::multi_pass(const session& session, const problem& spec, std::uint64_t passes,
                                std::uint64_t segments) {
  return with_variants(
      session.ctx, session.arrays, spec, [&](const auto& variants, const auto& problem, const auto& buffers_of) {
        const auto& variant = multipass_of(variants, session.ctx.backend());
        plan::planned plan = variant.plan(problem, session.ctx.profile());
        const bool as_planned = plan.decided.get<primitives::multipass_decision>().passes == passes && segments == 1;
        plan.decided.set(
            primitives::multipass_decision{static_cast<std::uint32_t>(passes), static_cast<std::uint32_t>(segments)});
        contender c = planned_contender(session.ctx, variant, problem, plan, buffers_of);
        c.who += fmt::format(":passes={},segments={}", passes, segments);
        if (!as_planned) c.predicted_seconds = 0;
        if (segments == 1) c.he2007_seconds = modelled_seconds(session, spec, passes);
        return c;
      });
}

bool has_one_thread_beside(const session& s) { return s.ctx.backend() == backend_kind::cpu && s.ctx.threads() > 1; }

contender chosen(const session& s, const problem& p) {
  return contenders_of(s.ctx, p, {.hint = true, .no_peer = true}, s.arrays).front();
}

std::uint64_t planned_passes(const session& s, const problem& p) {
  return with_variants(s.ctx, s.arrays, p, [&](const auto& variants, const auto& problem, const auto&) {
    const plan::planned plan = multipass_of(variants, s.ctx.backend()).plan(problem, s.ctx.profile());
    return std::uint64_t{plan.decided.get<primitives::multipass_decision>().passes};
  });
}

double effective_bandwidth(const result& r) {
  return static_cast<double>(r.problem.count * r.problem.record_bytes) / r.time.median_seconds;
}

double total_bandwidth(const result& r) {
  return static_cast<double>(jobs::bytes_of_copy(jobs::job_of(r.problem).shapes(r.problem))) / r.time.median_seconds;
}

// In place: g++ 12 takes a temporary fact for uninitialized.
void add_bytes_by_misses(result& row, double bytes) {
  primitives::fact& added = row.facts.emplace_back();
  added.name = "bytes_by_misses";
  added.value = static_cast<std::uint64_t>(bytes);
}

namespace {

constexpr figure<paper_run> figures[] = {{1, figure_1},   {6, figure_6},   {7, figure_7},   {8, figure_8},
                                         {9, figure_9},   {10, figure_10}, {11, figure_11}, {12, figure_12},
                                         {13, figure_13}, {15, figure_15}, {16, figure_16}, {18, figure_18},
                                         {19, figure_19}, {20, figure_20}};

void print_conclusion(const paper_run& run) {
  if (run.paper_accuracy.count() == 0) return;
  fmt::print(
      "\nThe 2007 model on this hardware: {} accuracy over {} points of figures 6 to 9; the paper reached 82 to 90 %.\n"
      "Our plans for the same runs: {} over {}. The model has one cache level, whose misses move whole blocks, and\n"
      "counts on hits within a warp; then it adds its terms up. Today reads fetch 64 bytes and writes move sectors,\n"
      "several levels stand between a thread and memory, and streams, reads and writes overlap, so that the longest\n"
      "hides most of the others.\n",
      run.paper_accuracy.percent_text(), run.paper_accuracy.count(), run.our_accuracy.percent_text(),
      run.our_accuracy.count());
}

findings print(std::span<const context>, sessions& all_sessions, const papers::request& request) {
  paper_run run{{"he2007", all_sessions, request}};
  print_figures(
      run,
      "He, Govindaraju, Luo, Smith: Efficient Gather and Scatter Operations on Graphics Processors, SC 2007\n"
      "  Accuracy is 1 - |measured - predicted| / measured, below 0 where a prediction is over twice the "
      "time; the paper's\n  text has the quotient alone, which is the error. Times are medians, where the paper "
      "has averages of five runs.\n",
      figures);
  print_conclusion(run);
  return {std::move(run.results), std::move(run.input_results)};
}

}  // namespace
}  // namespace he2007

paper he2007_paper() { return {"he2007", numbers_of(he2007::figures), false, he2007::print}; }

}  // namespace sheaf::bench::papers
