#include "papers/run.hpp"

#include <charconv>
#include <cstdio>
#include <iterator>

#include "core/backends.hpp"
#include "primitives/views.hpp"

namespace sheaf::bench::papers {
namespace {

// Runs of a point: five, as in the paper, or three where one takes half a second. In both sizes of runs a long first
// call is not repeated before the rounds, and a peer with such a call that is far behind is not called again.
constexpr timing_limits five_runs{.seconds = 0.25,
                                  .least_rounds = 5,
                                  .least_slow_rounds = 3,
                                  .slow_seconds = 0.5,
                                  .long_seconds = 0.5,
                                  .hopeless_factor = 2};
constexpr timing_limits three_runs{.seconds = 0,
                                   .least_rounds = 3,
                                   .least_slow_rounds = 3,
                                   .most_calls = 64,
                                   .long_seconds = 0.02,
                                   .hopeless_factor = 1.5};
constexpr timing_limits one_run{
    .seconds = 0, .least_rounds = 1, .least_slow_rounds = 1, .slow_seconds = 0.5, .most_calls = 4};

timing_limits limits_of(run_size size) {
  return size == run_size::tiny ? one_run : size == run_size::small ? three_runs : five_runs;
}

// Filling more than a server's cache holds would take longer than all calls of a small run. Calls of such a run rotate
// among 32 to 48 MB, so that in a larger cache they may find their data.
std::uint64_t most_evicted_bytes(run_size size) {
  constexpr std::uint64_t of_tiny = std::uint64_t{1} << 18;
  constexpr std::uint64_t of_small = std::uint64_t{1} << 24;
  return size == run_size::tiny ? of_tiny : size == run_size::small ? of_small : ~std::uint64_t{0};
}

// Whether memory holds a call, told the pattern, and its arrays. A count that the call refuses does not fit either.
bool fits(const session& s, const problem& p) {
  try {
    const row_options options{.hint = true, .no_peer = true};
    return reason_to_skip(planned(p, 1, contenders_of(s.ctx, p, options, s.arrays)), s.hardware).empty();
  } catch (const error& e) {
    if (e.code() != error_code::bad_argument && e.code() != error_code::no_variant) throw;
    return false;
  }
}

std::vector<paper> papers_asked_for(const papers::request& request) {
  std::vector<paper> all{ujaldon2005_paper(), he2007_paper(), patidar2009_paper(), wei2010_paper()};
  std::erase_if(all, [&](const paper& p) {
    return !request.papers.empty() && std::ranges::find(request.papers, p.name) == request.papers.end();
  });
  return all;
}

std::string texts_of(const std::vector<int>& figures, std::string_view separator) {
  std::string texts;
  for (const int figure : figures) texts += (texts.empty() ? "" : std::string(separator)) + figure_text(figure);
  return texts;
}

bool has(const std::vector<int>& numbers, int number) { return std::ranges::find(numbers, number) != numbers.end(); }

void require_known(const std::vector<int>& figures, const std::vector<paper>& papers) {
  for (const int number : figures) {
    if (std::ranges::any_of(papers, [&](const paper& p) { return has(p.figures, number); })) continue;
    std::string known;
    for (const paper& p : papers) {
      known += fmt::format("{}{} of {}", known.empty() ? "" : "; ", texts_of(p.figures, " "), p.name);
    }
    primitives::refuse("there is no figure {}; there are {}", figure_text(number), known);
  }
}

// Where graphics pipelines are all that there is.
void leave_out_those_of_sessions(std::vector<paper>& papers, const request& request) {
  std::string left_out;
  for (const paper& p : papers) {
    if (!p.is_of_pipelines) left_out += fmt::format("{}{}", left_out.empty() ? "" : ", ", p.name);
  }
  if (left_out.empty()) return;
  std::erase_if(papers, [](const paper& p) { return !p.is_of_pipelines; });
  constexpr std::string_view why = "a graphics pipeline has no sorts, lists or movements in several passes";
  if (papers.empty() || !request.papers.empty()) {
    primitives::refuse("papers: {}: {}; use --backend cpu or cuda, or only ujaldon2005", left_out, why);
  }
  fmt::print("left out: {}: {}\n", left_out, why);
}

}  // namespace

std::string figure_text(int number) { return number < 0 ? fmt::format("table{}", -number) : fmt::to_string(number); }

int number_of_figure(const std::string& text) {
  const bool is_table = text.starts_with("table");
  int number = 0;
  const char* const first = text.data() + (is_table ? 5 : 0);
  const auto [end, failure] = std::from_chars(first, text.data() + text.size(), number);
  if (failure == std::errc{} && end == text.data() + text.size() && number > 0) {
    return is_table ? table_number(number) : number;
  }
  primitives::refuse("'{}' is not the number of a figure or table, written as in 3,table1", text);
}

bool request::wants_figure(int number) const { return figures.empty() || has(figures, number); }

run_size request::size_on(backend_kind backend) const {
  return size.value_or(backend == backend_kind::cuda ? run_size::paper : run_size::medium);
}

bool has_sessions(backend_kind backend) {
  return core::backend_of(backend).processor != core::processor_kind::pipeline;
}

void print_figure_numbers(const papers::request& request) {
  std::vector<paper> papers = papers_asked_for(request);
  require_known(request.figures, papers);
  for (paper& p : papers) {
    std::erase_if(p.figures, [&](int figure) { return !request.wants_figure(figure); });
    if (!p.figures.empty()) fmt::print("{}: {}\n", p.name, texts_of(p.figures, ","));
  }
}

findings print_papers(std::span<const context> contexts, sessions& all_sessions, const papers::request& request) {
  std::vector<paper> papers = papers_asked_for(request);
  require_known(request.figures, papers);
  std::erase_if(papers, [&](const paper& p) {
    return std::ranges::none_of(p.figures, [&](int f) { return request.wants_figure(f); });
  });
  if (all_sessions.empty()) leave_out_those_of_sessions(papers, request);
  findings all;
  for (const paper& p : papers) {
    findings of_paper = p.print(contexts, all_sessions, request);
    std::move(of_paper.rows.begin(), of_paper.rows.end(), std::back_inserter(all.rows));
    std::move(of_paper.input_rows.begin(), of_paper.input_rows.end(), std::back_inserter(all.input_rows));
    all.machines.merge(of_paper.machines);
  }
  return all;
}

session::session(const context& session_ctx, const papers::request& request)
    : ctx(session_ctx),
      hardware(platform_of(session_ctx)),
      size(request.size_on(session_ctx.backend())),
      limits(limits_of(size)),
      evicted_bytes(std::min(hardware.cache_bytes, most_evicted_bytes(size))),
      arrays(session_ctx, evicted_bytes),
      clock(make_queue_clock(session_ctx)) {}

std::string session::title() const {
  return fmt::format("{}, last cache {}", hardware.machine, size_text(hardware.cache_bytes));
}

namespace {

// What a row keeps beside its arrays, an index for example, is known only once it is made.
std::vector<result> results_of(session& s, const planned_row& row) {
  std::string why_not = reason_to_skip(row, s.hardware);
  if (why_not.empty()) {
    try {
      return run_row(row, s.ctx.backend(), s.arrays, s.clock.get(), s.limits);
    } catch (const error& e) {
      if (e.code() != error_code::out_of_memory) throw;
      why_not = e.what();
    }
  }
  fmt::print("  {} skipped: {}\n", name(row.problem), why_not);
  return {};
}

}  // namespace

std::vector<result> measured(session& session, const std::string& figure, const problem& problem,
                             std::vector<contender> who) {
  const planned_row row = planned(
      problem,
      rotated_copies(jobs::bytes_of_copy(jobs::job_of(problem).shapes(problem)), session.evicted_bytes, session.limits),
      std::move(who));
  std::vector<result> results = results_of(session, row);
  for (result& r : results) {
    r.figure = figure;
    if (!r.verified) fmt::print("  {}/{} gave a WRONG ANSWER\n", name(problem), r.who);
  }
  if (session.size == run_size::device) session.arrays.release();
  return results;
}

std::vector<result> study::measure(session& s, int figure, const problem& p, std::vector<contender> who) {
  std::vector<result> rows = measured(s, fmt::format("{}/{}", paper, figure_text(figure)), p, std::move(who));
  results.insert(results.end(), rows.begin(), rows.end());
  return rows;
}

std::vector<result> study::measure_choice(session& s, int figure, const problem& p) {
  return measure(s, figure, p, contenders_of(s.ctx, p, {.hint = true, .no_peer = true}, s.arrays));
}

std::vector<result> study::measure_with_peers(session& s, int figure, const problem& p) {
  return measure(s, figure, p, contenders_of(s.ctx, p, {.hint = true}, s.arrays));
}

std::vector<std::uint64_t> study::counts(const session& s, const std::vector<std::uint64_t>& of_paper,
                                         const problem_of_count& at) const {
  return counts_at(s.size, of_paper, at(1).record_bytes, [&](std::uint64_t count) { return fits(s, at(count)); });
}

std::uint64_t study::count(const session& s, std::uint64_t of_paper, const problem_of_count& at) const {
  return count_at(s.size, of_paper, [&](std::uint64_t count) { return fits(s, at(count)); });
}

void add_variants(std::vector<contender>& who, const session& s, const problem& p,
                  std::initializer_list<const char*> variants) {
  for (const char* const variant : variants) {
    if (auto c = contender_by_name(s.ctx, p, s.arrays, variant)) who.push_back(std::move(*c));
  }
}

bool host_holds(std::uint64_t bytes) { return bytes <= platform_of(context::cpu()).memory_bytes; }

std::vector<std::uint64_t> powers(std::uint64_t first, std::uint64_t last, std::uint64_t factor) {
  std::vector<std::uint64_t> all;
  for (std::uint64_t value = first; value <= last; value *= factor) all.push_back(value);
  return all;
}

bool is_of_backend(const session& s, std::string_view variant) {
  return variant.starts_with(fmt::format("{}.", sheaf::name(s.ctx.backend())));
}

table::table(const std::vector<column>& columns) {
  std::vector<std::string> titles;
  for (const column& c : columns) {
    widths_.push_back(c.is_shown ? std::max<std::size_t>(c.title.size(), 11) : 0);
    titles.push_back(c.title);
  }
  row(titles);
}

void table::row(const std::vector<std::string>& cells) const {
  std::string line;
  for (std::size_t c = 0; c < cells.size() && c < widths_.size(); ++c) {
    if (widths_[c] > 0) line += fmt::format("  {:>{}}", cells[c], widths_[c]);
  }
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

void print_title(const std::string& title, const request& asked) {
  fmt::print("{}", title);
  if (!asked.size) return;
  fmt::print("  --size {}: {}\n", primitives::text_of(*asked.size, run_sizes), meaning_of(*asked.size));
}

void print_caption(const std::string& caption, const std::string& found) {
  fmt::print("\n{}\n  The paper: {}\n", caption, found);
}

void print_place(const session& s, const std::string& what) { fmt::print("\n  # {}: {}\n", s.title(), what); }

std::string bandwidth_text(double bytes_per_second) { return fmt::format("{:.1f} GB/s", bytes_per_second * 1e-9); }

std::string percent_text(double share) { return fmt::format("{:.0f} %", share * 100); }

std::string size_text(std::uint64_t bytes) {
  if (bytes >= std::uint64_t{1} << 30 && bytes % (std::uint64_t{1} << 30) == 0)
    return fmt::format("{} GB", bytes >> 30);
  if (bytes >= std::uint64_t{1} << 20) return fmt::format("{} MB", bytes >> 20);
  return fmt::format("{} KB", bytes >> 10);
}

std::string ratio_text(double ratio) { return fmt::format("{:.2f}x", ratio); }

const result* find(const std::vector<result>& rows, std::string_view who) {
  const auto place = std::ranges::find(rows, who, &result::who);
  return place == rows.end() ? nullptr : &*place;
}

const result* fastest_peer(const std::vector<result>& rows) {
  const result* fastest = nullptr;
  for (const result& r : rows) {
    if (!r.variant.empty()) continue;
    if (fastest == nullptr || r.time.median_seconds < fastest->time.median_seconds) fastest = &r;
  }
  return fastest;
}

std::string time_of(const result* r) { return r == nullptr ? "-" : time_text(r->time.median_seconds); }

std::string ratio_of(const result* slow, const result* fast) {
  if (slow == nullptr || fast == nullptr) return "-";
  return ratio_text(slow->time.median_seconds / fast->time.median_seconds);
}

std::string variant_of(const result* r) { return r == nullptr ? "-" : r->variant; }

std::string who_of(const result* r) { return r == nullptr ? "-" : r->who; }

std::string bandwidth_of(const result* r) { return r == nullptr ? "-" : bandwidth_text(r->bytes_per_second()); }

std::string records_per_second(const result* r, int digits) {
  if (r == nullptr) return "-";
  return fmt::format("{:.{}f} G/s", static_cast<double>(r->problem.count) / r->time.median_seconds * 1e-9, digits);
}

std::string count_text(std::uint64_t count) {
  if (count >= million && count % million == 0) return fmt::format("{} M", count / million);
  return count % 1024 == 0 ? fmt::format("{} K", count / 1024) : fmt::to_string(count);
}

void spread::add(double value) {
  least_ = count_ == 0 ? value : std::min(least_, value);
  most_ = count_ == 0 ? value : std::max(most_, value);
  sum_ += value;
  ++count_;
}

void spread::add(const spread& other) {
  if (other.count_ == 0) return;
  least_ = count_ == 0 ? other.least_ : std::min(least_, other.least_);
  most_ = count_ == 0 ? other.most_ : std::max(most_, other.most_);
  sum_ += other.sum_;
  count_ += other.count_;
}

std::string spread::percent_text() const {
  if (count_ == 0) return "none";
  return fmt::format("{:.0f} % ({:.0f} to {:.0f})", mean() * 100, least_ * 100, most_ * 100);
}

}  // namespace sheaf::bench::papers
