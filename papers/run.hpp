#pragma once

#include <cstdlib>
#include <deque>

#include "lab/harness/platform.hpp"
#include "lab/harness/report.hpp"
#include "lab/harness/rows.hpp"
#include "lab/harness/runner.hpp"
#include "lab/harness/workspace.hpp"
#include "papers/sizes.hpp"

// Shared by the figures of all papers: measuring a point, and tables whose rows are printed as they are measured.
namespace sheaf::bench::papers {

/// Tables are numbered with the figures, by negative numbers.
constexpr int table_number(int number) { return -number; }
/// "12", "table1"; number_of_figure() refuses what is neither with error(bad_argument).
std::string figure_text(int number);
int number_of_figure(const std::string& text);

/// What `sheaf-bench papers` is asked for.
struct request {
  bool is_requested = false;
  bool list = false;                     ///< print the numbers of figures and tables, and measure nothing
  std::optional<run_size> size = {};     ///< none: what size_on() says of each backend
  bool large = false;                    ///< of 2005: inputs past the paper's, too
  bool paper_sizes = false;              ///< of 2007: no sizes that are scaled to today's caches
  bool no_peer = false;                  ///< of 2007: without the peers, which users call today
  std::vector<int> figures;              ///< numbers in the papers, table_number() of tables; empty for all
  std::vector<std::string> papers = {};  ///< "ujaldon2005", "he2007", ...; empty for all
  std::string data = {};          ///< folder of matrices and meshes; empty: what the environment says, if anything
  bool is_backend_named = false;  ///< no backends but those of the sessions, and one CPU thread

  bool wants_figure(int number) const;
  /// The size that was asked for; else the paper's on a GPU, and `medium` on other backends.
  run_size size_on(backend_kind backend) const;
};

/// A backend with the arrays and the clock for measuring on it, for all figures of a run. It must not move, because
/// contenders keep references to it.
struct session {
  session(const context& c, const papers::request& request);
  session(const session&) = delete;
  session& operator=(const session&) = delete;

  context ctx;
  platform hardware;
  run_size size;
  timing_limits limits;
  std::uint64_t evicted_bytes;  ///< of the last cache: calls rotate among copies that so large a cache does not hold
  workspace arrays;
  std::unique_ptr<queue_clock> clock;

  /// "NVIDIA H200, last cache 60 MB"
  std::string title() const;
};

using sessions = std::deque<session>;

/// Times the contenders in turn and checks every answer. Where memory does not suffice, it says so and returns nothing.
/// At the size `device` arrays are given back after each row, so that the next one has all of the memory.
std::vector<result> measured(session& session, const std::string& figure, const problem& problem,
                             std::vector<contender> who);

/// The problem that a figure has for a count of records.
using problem_of_count = std::function<problem(std::uint64_t count)>;

/// State that the figures of a paper share which are measured on sessions.
struct study {
  std::string_view paper;  ///< "he2007"
  papers::sessions& sessions;
  const papers::request& request;
  std::vector<result> results = {};

  /// Calls measured() and appends to results.
  std::vector<result> measure(session& session, int figure, const problem& problem, std::vector<contender> who);
  /// Measures the planner's choice for a caller who tells the pattern, and its peers if asked to.
  std::vector<result> measure_choice(session& session, int figure, const problem& problem);
  std::vector<result> measure_with_peers(session& session, int figure, const problem& problem);
  /// The counts of records of a figure that varies them, and of one that does not: see counts_at() and count_at().
  std::vector<std::uint64_t> counts(const session& session, const std::vector<std::uint64_t>& of_paper,
                                    const problem_of_count& at) const;
  std::uint64_t count(const session& session, std::uint64_t of_paper, const problem_of_count& at) const;
};

/// Adds the variants of these names that can run, even if the planner would not choose them.
void add_variants(std::vector<contender>& who, const session& session, const problem& problem,
                  std::initializer_list<const char*> variants);
/// Whether the host's memory holds so many bytes, which transfers to a device and back begin and end in.
bool host_holds(std::uint64_t bytes);
/// first, first * factor, ... to last.
std::vector<std::uint64_t> powers(std::uint64_t first, std::uint64_t last, std::uint64_t factor);

/// Whether a variant of this name works on the session's backend.
bool is_of_backend(const session& session, std::string_view variant);

/// A column of a table, which leaves it out where every cell would be "-".
struct column {
  column(const char* text, bool has_values = true) : title(text), is_shown(has_values) {}
  column(std::string text, bool has_values = true) : title(std::move(text)), is_shown(has_values) {}

  std::string title;
  bool is_shown;
};

/// A table whose rows are printed one by one, because the next may take a minute.
class table {
 public:
  explicit table(const std::vector<column>& columns);
  /// @param cells  one for each column, those that are left out too
  void row(const std::vector<std::string>& cells) const;

 private:
  std::vector<std::size_t> widths_;  ///< 0 of columns that are left out
};

/// What a paper is, and what the size means that was asked for.
void print_title(const std::string& title, const request& asked);
/// A figure's caption and what the paper found.
void print_caption(const std::string& caption, const std::string& found);
/// Prints which machine the following rows are from, and at what size.
void print_place(const session& session, const std::string& what);

std::string bandwidth_text(double bytes_per_second);
std::string percent_text(double share);
/// "128 MB", "4 GB"
std::string size_text(std::uint64_t bytes);
/// "3.1x"
std::string ratio_text(double ratio);

/// The result of this contender, or null.
const result* find(const std::vector<result>& rows, std::string_view who);
/// The result of the fastest peer, or null.
const result* fastest_peer(const std::vector<result>& rows);
/// "12.3 ms", or "-" for null.
std::string time_of(const result* result);
/// The time of `slow` over the time of `fast`, or "-" if one is null.
std::string ratio_of(const result* slow, const result* fast);
/// The variant that ran, or "-" for null.
std::string variant_of(const result* result);
/// The contender's name, or "-" for null.
std::string who_of(const result* result);
/// "10.2 GB/s", or "-" for null.
std::string bandwidth_of(const result* result);
/// Records a second, "1.234 G/s", or "-" for null.
std::string records_per_second(const result* result, int digits = 3);
/// "16 M", "4 K"
std::string count_text(std::uint64_t count);

/// Mean, least and most of a value.
class spread {
 public:
  void add(double value);
  void add(const spread& other);
  std::uint64_t count() const noexcept { return count_; }
  double mean() const noexcept { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }
  double least() const noexcept { return least_; }
  double most() const noexcept { return most_; }
  /// "87 % (70 to 99)", or "none" of none
  std::string percent_text() const;

 private:
  double sum_ = 0;
  double least_ = 0;
  double most_ = 0;
  std::uint64_t count_ = 0;
};

/// What papers measured: rows of problems, and of inputs that are not problems.
struct findings {
  std::vector<result> rows = {};
  std::vector<input_result> input_rows = {};
  platforms machines = {};  ///< where rows ran beside the sessions
};

/// A paper, with what measures and prints those of its figures that are asked for.
struct paper {
  std::string_view name;
  std::vector<int> figures;  ///< ascending, tables last
  bool is_of_pipelines;      ///< whether it has figures on a backend without sessions
  findings (*print)(std::span<const context> contexts, sessions& all_sessions, const request& request);
};

/// Ujaldon, Saltz (2005): figure 3, tables 1 and 3 to 6, and as table 7 section 7. On a graphics pipeline, too.
paper ujaldon2005_paper();
/// He, Govindaraju, Luo, Smith (SC 2007): figures 1, 6 to 13, 15, 16 and 18 to 20.
paper he2007_paper();
/// Patidar, Narayanan (2009): figures 2, 4 to 6 and 8 to 15, table 1, and as table 2 the coprocessor of section 3.4.
paper patidar2009_paper();
/// Wei, JaJa (2010): figures 4 to 7, 11 and 12, tables 2 to 4.
paper wei2010_paper();
/// Whether figures of other papers than that of 2005 are measured on a backend. They are of sorts, lists and movements
/// in several passes, of which graphics pipelines have none: what ran there would be the CPU's.
bool has_sessions(backend_kind backend);
/// Prints a line for each of the papers asked for, "wei2010: 4,5,table2", with those of its figures that are asked for.
/// @throws error(bad_argument) for a figure that none of them has
void print_figure_numbers(const papers::request& request);
/// The papers asked for, one after the other. @param contexts  those of all sessions, and of backends without sessions
/// @throws error(bad_argument), before any work, for a figure that none of them has, and where none of the backends has
/// a figure that is asked for
findings print_papers(std::span<const context> contexts, sessions& all_sessions, const papers::request& request);

/// A figure of a paper: its number, and the function that measures and prints it.
template <class Study>
struct figure {
  int number;
  void (*print)(Study&);
};

/// The numbers of figures that stand in the order in which they are printed.
template <class Study, std::size_t Count>
std::vector<int> numbers_of(const figure<Study> (&figures)[Count]) {
  std::vector<int> numbers;
  for (const figure<Study>& f : figures) numbers.push_back(f.number);
  std::sort(numbers.begin(), numbers.end(),
            [](int a, int b) { return std::pair(a < 0, std::abs(a)) < std::pair(b < 0, std::abs(b)); });
  return numbers;
}

/// Prints what the paper is, and what the size means that was asked for; then those of its figures that are asked for.
template <class Study, std::size_t Count>
void print_figures(Study& run, const std::string& title, const figure<Study> (&figures)[Count]) {
  print_title(title, run.request);
  for (const figure<Study>& f : figures) {
    if (run.request.wants_figure(f.number)) f.print(run);
  }
}

}  // namespace sheaf::bench::papers
