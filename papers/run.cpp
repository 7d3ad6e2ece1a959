#include "papers/run.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <sheaf/error.hpp>

#include "core/backends.hpp"

namespace sheaf::bench::papers {
namespace {

// Runs of a point: five, as in the paper, or three where one takes half a second.
constexpr timing_limits five_runs{.seconds = 0.25, .least_rounds = 5, .least_slow_rounds = 3, .slow_seconds = 0.5};
constexpr timing_limits one_run{
    .seconds = 0, .least_rounds = 1, .least_slow_rounds = 1, .slow_seconds = 0.5, .most_calls = 4};
// Evicting the arrays from a server's cache would take longer than all of a quick run.
constexpr std::uint64_t quick_cache_bytes = std::uint64_t{1} << 18;

platform describe(const context& ctx, const papers::request& request) {
  platform p = platform_of(ctx);
  if (request.quick) p.cache_bytes = quick_cache_bytes;
  return p;
}

struct paper {
  std::string_view name;
  std::vector<int> figures;
  bool is_of_pipelines;
  findings (*print)(std::span<const context>, sessions&, const request&);
};

// A paper whose rows are all of problems.
template <std::vector<result> (*Print)(sessions&, const request&)>
findings rows_of(std::span<const context>, sessions& all_sessions, const request& request) {
  return {.rows = Print(all_sessions, request)};
}

findings he2007_rows(std::span<const context>, sessions& all_sessions, const request& request) {
  return print_he2007(all_sessions, request);
}

findings ujaldon2005_rows(std::span<const context> contexts, sessions&, const request& request) {
  return {.input_rows = print_ujaldon2005(contexts, request)};
}

std::vector<paper> papers_asked_for(const papers::request& request) {
  std::vector<paper> all{
      {"ujaldon2005",
       {3, table_number(1), table_number(3), table_number(4), table_number(5), table_number(6)},
       true,
       ujaldon2005_rows},
      {"he2007", {1, 6, 7, 8, 9, 10, 11, 12, 13, 15, 16, 18, 19, 20}, false, he2007_rows},
      {"patidar2009", {2, 4, 5, 6, 8, 9, 10, 11, 12, 13, 14, 15, table_number(1)}, false, rows_of<print_patidar2009>},
      {"wei2010",
       {4, 5, 6, 7, 11, 12, table_number(2), table_number(3), table_number(4)},
       false,
       rows_of<print_wei2010>}};
  std::erase_if(all, [&](const paper& p) {
    return !request.papers.empty() &&
           std::find(request.papers.begin(), request.papers.end(), p.name) == request.papers.end();
  });
  return all;
}

bool has(const std::vector<int>& numbers, int number) {
  return std::find(numbers.begin(), numbers.end(), number) != numbers.end();
}

void require_known(const std::vector<int>& figures, const std::vector<paper>& papers) {
  for (const int number : figures) {
    if (std::any_of(papers.begin(), papers.end(), [&](const paper& p) { return has(p.figures, number); })) continue;
    std::string known;
    for (const paper& p : papers) {
      known += known.empty() ? "" : "; ";
      for (const int figure : p.figures) known += figure_text(figure) + " ";
      known += fmt::format("of {}", p.name);
    }
    throw error(error_code::bad_argument,
                fmt::format("there is no figure {}; there are {}", figure_text(number), known));
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
  constexpr std::string_view why = "a graphics pipeline has no sorts, lists and movements in several passes";
  if (papers.empty() || !request.papers.empty()) {
    throw error(error_code::bad_argument,
                fmt::format("papers: {}: {}; take --backend cpu or cuda, or ujaldon2005 alone", left_out, why));
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
  throw error(error_code::bad_argument,
              fmt::format("'{}' is not the number of a figure or table, written as in 3,table1", text));
}

bool request::wants_figure(int number) const { return figures.empty() || has(figures, number); }

bool has_sessions(backend_kind backend) {
  return core::backend_of(backend).processor != core::processor_kind::pipeline;
}

findings print_papers(std::span<const context> contexts, sessions& all_sessions, const papers::request& request) {
  std::vector<paper> papers = papers_asked_for(request);
  require_known(request.figures, papers);
  std::erase_if(papers, [&](const paper& p) {
    return std::none_of(p.figures.begin(), p.figures.end(), [&](int f) { return request.wants_figure(f); });
  });
  if (all_sessions.empty()) leave_out_those_of_sessions(papers, request);
  findings all;
  for (const paper& p : papers) {
    findings of_paper = p.print(contexts, all_sessions, request);
    std::move(of_paper.rows.begin(), of_paper.rows.end(), std::back_inserter(all.rows));
    std::move(of_paper.input_rows.begin(), of_paper.input_rows.end(), std::back_inserter(all.input_rows));
  }
  return all;
}

session::session(const context& c, const papers::request& request)
    : ctx(c),
      hardware(describe(c, request)),
      limits(request.quick ? one_run : five_runs),
      arrays(c, hardware.cache_bytes),
      clock(make_queue_clock(c)) {}

std::string session::title() const {
  return fmt::format("{}, last cache {}", hardware.machine, size_text(hardware.cache_bytes));
}

std::vector<result> measured(session& s, const std::string& figure, const problem& p, std::vector<contender> who) {
  const planned_row row =
      planned(p, rotated_copies(jobs::bytes_of_copy(jobs::job_of(p).shapes(p)), s.hardware.cache_bytes, s.limits),
              std::move(who));
  if (const std::string why_not = reason_to_skip(row, s.hardware); !why_not.empty()) {
    fmt::print("  {} skipped: {}\n", name(p), why_not);
    return {};
  }
  std::vector<result> results = run_row(row, s.ctx.backend(), s.arrays, s.clock.get(), s.limits);
  for (result& r : results) {
    r.figure = figure;
    if (!r.verified) fmt::print("  {}/{} gave a WRONG ANSWER\n", name(p), r.who);
  }
  return results;
}

table::table(const std::vector<std::string>& titles) {
  for (const std::string& title : titles) widths_.push_back(std::max<std::size_t>(title.size(), 11));
  print(titles);
}

void table::row(const std::vector<std::string>& cells) const { print(cells); }

void table::print(const std::vector<std::string>& cells) const {
  std::string line;
  for (std::size_t c = 0; c < cells.size() && c < widths_.size(); ++c) {
    line += fmt::format("  {:>{}}", cells[c], widths_[c]);
  }
  fmt::print("{}\n", line);
  std::fflush(stdout);
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
  const auto place = std::find_if(rows.begin(), rows.end(), [&](const result& r) { return r.who == who; });
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
