#pragma once

#include <algorithm>
#include <chrono>

#include "apps/sheaf/command.hpp"
#include "apps/sheaf/context_array.hpp"
#include "apps/sheaf/files/memory_limit.hpp"
#include "apps/sheaf/files/progress.hpp"
#include "apps/sheaf/files/record_file.hpp"
#include "apps/sheaf/files/streams.hpp"
#include "apps/sheaf/subcommands/planned_call.hpp"
#include "plan/store/output_file.hpp"

// What gather, scatter, split and sort share: arguments, memory, the output file and the report.
namespace sheaf::cli {

struct movement_options {
  common_options common;
  std::string records_path;  ///< the records to read: gather's TABLE, scatter's IN
  std::string index;
  std::string output;
  std::uint64_t record_bytes = 0;  ///< record width of raw files; 0 for .npy
  std::optional<index_type> index_kind;
  access_pattern pattern;

  void add_to(CLI::App& subcommand, const std::string& sequential_name, const std::string& sequential_description);
};

using io::bytes_of;
using jobs::context_array;
using jobs::context_input;
using jobs::context_matrix;
using primitives::name;
using primitives::parse_access_pattern;
using primitives::parse_index_type;
/// -o: the file of the result.
CLI::Option* add_output(CLI::App& subcommand, std::string& output,
                        const std::string& description = "Where the result goes, whole or not at all");
/// --record-bytes, or another option for the width of raw rows.
void add_record_bytes(CLI::App& subcommand, std::uint64_t& bytes, const std::string& option = "--record-bytes",
                      const std::string& description = "Width of raw records; .npy files know their own");
void add_index_type(CLI::App& subcommand, std::optional<index_type>& type, const std::string& description,
                    const std::string& option = "--index-type");
/// --categories, how many there are.
CLI::Option* add_categories(CLI::App& subcommand, std::uint64_t& categories);
/// The type of an index to write: the one asked for, else u32, or u64 if there are too many records for u32.
/// @param option  that asks, where the message names it
/// @throws error(bad_argument) for a type that cannot number so many records
index_type index_type_for(std::optional<index_type> asked, std::uint64_t count, const char* records = "records",
                          const char* option = "");
/// --pattern. @param description  what it says, and the patterns that there are
void add_pattern(CLI::App& subcommand, access_pattern& pattern, const std::string& description);

/// Checks an output before any work, so that none is lost for want of a place. @throws error(bad_argument) if it is the
/// file of one of the inputs, also under another path, if it is binary and goes to a terminal, or if two inputs are one
/// stream; error(io_failure) if it could not be made. No name is no output.
void require_output(const std::string& output, std::initializer_list<std::string> inputs,
                    std::string_view option = "-o", bool is_text = false);

/// @throws error(bad_argument) naming the output, if there is one, for more records than a file can hold
void require_output_size(const std::string& output, const std::string& header, std::uint64_t count,
                         std::uint64_t record_bytes);

/// @throws error(bad_argument) if the output, which is raw where the input is, has the name of an .npy file.
void require_name_of_kind(const std::string& output, const std::string& input, bool is_npy);
void require_name_of_kind(const std::string& output, const io::record_file& like);

/// @throws error(bad_argument) for numbers of f64 where the context has sums of f32 alone: on OpenGL, whose frame
/// buffers have 32 bits a channel
void require_f32_where_needed(const context& ctx, bool is_f32);

/// The rows of a file as a call of this context would get them, for its plan, which reads none.
const_records planned_rows(const context& ctx, const io::record_file& file, std::size_t axes = 1);

/// The records of an output in host memory, and its file. The constructor reserves the space, and only commit() makes
/// the file appear.
class record_output {
 public:
  record_output(const std::string& path, std::string header, std::uint64_t count, std::uint64_t record_bytes);
  records rows() const noexcept { return {rows_.data(), count_, record_bytes_}; }
  std::uint64_t bytes() const noexcept { return rows_.size(); }
  void commit();
  /// Ends the writing. The file appears once it is committed, maybe together with others.
  io::output_file& finish();

 private:
  std::string name_;
  std::string header_;
  std::uint64_t count_;
  std::uint64_t record_bytes_;
  io::output_file file_;
  buffer rows_;
};

/// Bytes that arrays of the host take once more where a context does not work in place.
inline std::uint64_t bytes_on_device(const context& ctx, std::uint64_t bytes) {
  return jobs::works_in_place(ctx) ? 0 : bytes;
}

/// Memory where a context writes the records of an output.
struct context_output : context_array {
  context_output(const context& ctx, const record_output& out) : context_array(ctx, out.rows().data, out.bytes()) {}
};

/// The header of an output whose rows have the type of `like`; empty for raw records.
std::string output_header(const io::record_file& like, std::span<const std::uint64_t> leading,
                          std::span<const std::uint64_t> row_shape);

/// Starts the threads of a context that works on the host, so that no time that is reported has it.
void start_threads(const context& ctx);

/// Runs work() and returns the seconds until ctx is idle, without the start of its threads. A bad index is thrown as an
/// error of the file that it came from.
/// @param plan  of the work, for the line that says how far it is; null where the caller has a step of his own
template <class Work>
double timed(const context& ctx, const std::string& index_path, Work work, const explanation* plan = nullptr) {
  start_threads(ctx);
  std::optional<io::progress_step> step;
  if (plan != nullptr) step.emplace(plan->primitive, io::progress_unit::seconds, predicted_seconds(*plan));
  const auto start = std::chrono::steady_clock::now();
  try {
    work();
  } catch (const error& e) {
    if (e.code() != error_code::out_of_memory) throw;
    throw io::with_buffers_in_words(e);
  }
  try {
    ctx.wait();
  } catch (const error& e) {
    if (e.code() != error_code::bad_index) throw;
    const std::string_view words = e.what();
    const auto colon = words.find(": ");  // ends the call's name, which main.cpp prints itself
    throw error(e.code(), io::shown_input(index_path) + std::string(colon == words.npos ? ": " : words.substr(colon)));
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Seconds of some runs.
struct run_times {
  double least = std::numeric_limits<double>::infinity();
  double mean = 0;
  double median = 0;  ///< of an even number of runs the mean of the two in the middle

  double runs_per_second() const { return 1 / std::max(mean, 1e-12); }
};
double median_of(std::vector<double> seconds);

/// Calls timed() again and again, and shows how far the runs are; of one run, its time beside the prediction.
/// @param runs  0 is one, as nobody asked for more. @param plan  of a run
/// @param before  is called before each run, and not timed
template <class Work, class Before>
run_times timed_runs(const context& ctx, const std::string& index_path, std::uint64_t runs, Work work,
                     const explanation& plan, Before before) {
  run_times times;
  std::vector<double> all;
  runs = std::max<std::uint64_t>(1, runs);
  std::optional<io::progress_step> step;
  if (runs > 1) step.emplace(plan.primitive + ", runs", io::progress_unit::items, static_cast<double>(runs));
  for (std::uint64_t run = 0; run < runs; ++run) {
    before();
    const double seconds = timed(ctx, index_path, work, step ? nullptr : &plan);
    times.least = std::min(times.least, seconds);
    times.mean += seconds / static_cast<double>(runs);
    all.push_back(seconds);
    if (step) step->add(1);
  }
  times.median = median_of(std::move(all));
  return times;
}

template <class Work>
run_times timed_runs(const context& ctx, const std::string& index_path, std::uint64_t runs, Work work,
                     const explanation& plan) {
  return timed_runs(ctx, index_path, runs, work, plan, [] {});
}

/// @throws verification_failed with the mistake, if there is one
void require_right(const std::optional<std::string>& mistake);

/// The types of arrays that are written, for the headers below: "'<u8'", "'<f4'".
const char* descr_of(index_type type);
const char* float_descr(std::uint64_t bytes);
/// The header of a one-dimensional array; `descr` includes the quotes, as in "'<u8'".
std::string numbers_header(const char* descr, std::uint64_t count);
/// The header of an array of any shape.
std::string rows_header(const char* descr, std::span<const std::uint64_t> shape);
/// The header of an index into the records of `like`; empty if these are raw.
std::string index_header(const io::record_file& like, index_type type, std::uint64_t count);

/// --value-type f32|f64, of matrices and vectors.
CLI::Option* add_value_type(CLI::App& subcommand, bool& is_f32, const std::string& description);
/// --order deterministic|unordered, of the sums of products that are `transposed`.
void add_order(CLI::App& subcommand, reduction_order& order, CLI::Option* transposed);
/// What --runs has measured, as members of a report and as words; nothing where it is not given.
void add_runs(nlohmann::json& report, const common_options& common, const run_times& times);
std::string runs_text(const common_options& common, const run_times& times);

/// @param more  members of the report in JSON beside those that all have
void print_report(const common_options& common, const std::string& output, const context& ctx, const explanation& plan,
                  std::uint64_t count, std::uint64_t record_bytes, const run_times& times,
                  const nlohmann::json& more = nlohmann::json::object());

}  // namespace sheaf::cli
