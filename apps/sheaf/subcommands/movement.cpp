#include "apps/sheaf/subcommands/movement.hpp"

#include "apps/sheaf/files/output_check.hpp"
#include "core/backends.hpp"
#include "core/context_state.hpp"
#include "core/printable.hpp"
#include "core/startable.hpp"

namespace sheaf::cli {
namespace {

std::uint64_t output_bytes(const std::string& path, std::uint64_t count, std::uint64_t record_bytes,
                           std::uint64_t header) {
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(count, record_bytes, &bytes) || __builtin_add_overflow(bytes, header, &bytes)) {
    primitives::refuse("{}: {} records of {} bytes are more than a file can hold", path, count, record_bytes);
  }
  return bytes;
}

}  // namespace

void movement_options::add_to(CLI::App& subcommand, const std::string& sequential_name,
                              const std::string& sequential_description) {
  add_input(subcommand, sequential_name, records_path, sequential_description)->required();
  add_input(subcommand, "INDEX", index, "Record numbers: .npy or .npz of whole numbers, or raw with --index-type")
      ->required();
  add_output(subcommand, output)->required();
  add_record_bytes(subcommand, record_bytes);
  add_index_type(subcommand, index_kind, "Type of a raw INDEX; .npy files know their own");
  add_pattern(subcommand, pattern,
              "What is known of the places that INDEX names: unknown, sequential, random, partitioned:STREAMS, "
              "clustered:RECORDS, strided:STEP, skewed, repeated:RECORDS");
  common.add_variant_to(subcommand, subcommand.get_name());
  common.add_runs_to(subcommand);
  common.add_learn_to(subcommand);
  common.add_to(subcommand, common_options::by_reference);
  common_options::add_temporary_to(subcommand);
  common.add_plan_to(subcommand);
}

CLI::Option* add_output(CLI::App& subcommand, std::string& output, const std::string& description) {
  return subcommand.add_option("-o,--output", output, description)->type_name("FILE");
}

void add_record_bytes(CLI::App& subcommand, std::uint64_t& bytes, const std::string& option,
                      const std::string& description) {
  add_number(subcommand, option, 1, primitives::most_record_bytes, bytes, description);
}

void add_index_type(CLI::App& subcommand, std::optional<index_type>& type, const std::string& description,
                    const std::string& option) {
  subcommand
      .add_option_function<std::string>(
          option, [&type](const std::string& text) { type = parse_index_type(text); }, description)
      ->type_name("u32|u64|i32|i64");
}

CLI::Option* add_categories(CLI::App& subcommand, std::uint64_t& categories) {
  static constexpr std::uint64_t most_categories = std::uint64_t{1} << 32;
  const auto read = [&categories](const std::string& text) {
    const auto number = primitives::parse_number(text);
    if (!number || *number < 1 || *number > most_categories) {
      throw CLI::ValidationError("--categories",
                                 fmt::format("'{}' is not a whole number from 1 to {}; --keys names the "
                                             "file of the categories",
                                             core::printable(text), most_categories));
    }
    categories = *number;
  };
  return subcommand
      .add_option_function<std::string>("--categories", read, "Categories in all, numbered from 0, which KEYS has")
      ->type_name("N");
}

index_type index_type_for(std::optional<index_type> asked, std::uint64_t count, const char* records,
                          const char* option) {
  const index_type type = asked.value_or(count >> 32 == 0 ? index_type::u32 : index_type::u64);
  const unsigned bits = type == index_type::u32 ? 32 : type == index_type::i32 ? 31 : 63;
  if (count >> bits != 0) primitives::refuse("{}{} cannot number {} {}", option, name(type), count, records);
  return type;
}

void add_pattern(CLI::App& subcommand, access_pattern& pattern, const std::string& description) {
  subcommand
      .add_option_function<std::string>(
          "--pattern", [&pattern](const std::string& text) { pattern = parse_access_pattern(text); }, description)
      ->type_name("PATTERN");
}

void require_output(const std::string& output, std::initializer_list<std::string> inputs, std::string_view option,
                    bool is_text) {
  const std::span all(inputs.begin(), inputs.size());
  io::require_streams_apart(all);
  if (output.empty()) return;  // of a plan, which writes nothing
  io::require_not_an_input(output, all, option);
  if (!is_text) io::require_no_terminal(output, option);
  io::require_place(output);
}

void require_output_size(const std::string& output, const std::string& header, std::uint64_t count,
                         std::uint64_t record_bytes) {
  if (!output.empty()) static_cast<void>(output_bytes(output, count, record_bytes, header.size()));
}

void require_name_of_kind(const std::string& output, const io::record_file& like) {
  require_name_of_kind(output, like.path(), like.is_npy());
}

void require_name_of_kind(const std::string& output, const std::string& input, bool is_npy) {
  if (is_npy || !output.ends_with(".npy")) return;
  primitives::refuse(
      "-o {}: {} is raw, and so is the result, without the header of an .npy file; give it a name that ends in "
      ".bin, or make {} an .npy file",
      output, io::shown_input(input), io::shown_input(input));
}

const_records planned_rows(const context& ctx, const io::record_file& file, std::size_t axes) {
  const_records rows = jobs::works_in_place(ctx) ? file.planned_rows(primitives::most_record_bytes, axes)
                                                 : file.unmapped_rows(primitives::most_record_bytes, axes);
  if (rows.count == 0) rows.data = nullptr;
  return rows;
}

void require_f32_where_needed(const context& ctx, bool is_f32) {
  if (is_f32 || core::backend_of(ctx.backend()).processor != core::processor_kind::pipeline) return;
  primitives::refuse("--backend {} works in f32, not in f64: add --value-type f32", name(ctx.backend()));
}

record_output::record_output(const std::string& path, std::string header, std::uint64_t count,
                             std::uint64_t record_bytes)
    : name_(io::shown_output(path)),
      header_(std::move(header)),
      count_(count),
      record_bytes_(record_bytes),
      file_(io::place_of_output(path), output_bytes(path, count, record_bytes, header_.size())),
      rows_(context::cpu(1), count * record_bytes) {}

void record_output::commit() { finish().commit(); }

void start_threads(const context& ctx) {
  if (core::backend_of(ctx.backend()).processor == core::processor_kind::host_threads) core::start_team(ctx.threads());
}

io::output_file& record_output::finish() {
  constexpr std::uint64_t piece_bytes = std::uint64_t{32} << 20;
  io::progress_step step("writing " + name_, io::progress_unit::bytes, static_cast<double>(rows_.size()));
  file_.write(header_.data(), header_.size());
  for (std::uint64_t done = 0; done < rows_.size(); done += piece_bytes) {
    const std::uint64_t bytes = std::min(piece_bytes, rows_.size() - done);
    file_.write(rows_.data() + done, bytes);
    step.add(bytes);
  }
  file_.finish();
  return file_;
}

void require_right(const std::optional<std::string>& mistake) {
  if (mistake) throw verification_failed(*mistake);
}

const char* descr_of(index_type type) {
  constexpr const char* descrs[] = {"'<u4'", "'<u8'", "'<i4'", "'<i8'"};
  return descrs[static_cast<int>(type)];
}

const char* float_descr(std::uint64_t bytes) { return bytes == 8 ? "'<f8'" : "'<f4'"; }

std::string output_header(const io::record_file& like, std::span<const std::uint64_t> leading,
                          std::span<const std::uint64_t> row_shape) {
  if (!like.is_npy()) return {};
  std::vector<std::uint64_t> shape(leading.begin(), leading.end());
  shape.insert(shape.end(), row_shape.begin(), row_shape.end());
  return io::format_npy_header(like.type(), shape);
}

std::string rows_header(const char* descr, std::span<const std::uint64_t> shape) {
  return io::format_npy_header(io::parse_npy_type(descr, "sheaf"), shape);
}

std::string numbers_header(const char* descr, std::uint64_t count) { return rows_header(descr, std::span(&count, 1)); }

std::string index_header(const io::record_file& like, index_type type, std::uint64_t count) {
  return like.is_npy() ? numbers_header(descr_of(type), count) : "";
}

CLI::Option* add_value_type(CLI::App& subcommand, bool& is_f32, const std::string& description) {
  return subcommand
      .add_option_function<std::string>(
          "--value-type", [&is_f32](const std::string& text) { is_f32 = text == "f32"; }, description)
      ->check(CLI::IsMember({"f32", "f64"}))
      ->default_str("f64");
}

void add_order(CLI::App& subcommand, reduction_order& order, CLI::Option* transposed) {
  subcommand
      .add_option_function<std::string>(
          "--order", [&order](const std::string& text) { order = primitives::parse_reduction_order(text); },
          "Order of a transposed product's sums: unordered is faster on CUDA, with other last bits in every run")
      ->needs(transposed)
      ->check(CLI::IsMember({"deterministic", "unordered"}))
      ->default_str("deterministic");
}

double median_of(std::vector<double> seconds) {
  std::ranges::sort(seconds);
  const std::size_t middle = seconds.size() / 2;
  return seconds.size() % 2 == 1 ? seconds[middle] : (seconds[middle - 1] + seconds[middle]) / 2;
}

void add_runs(nlohmann::json& report, const common_options& common, const run_times& times) {
  if (common.runs == 0) return;
  report["runs"] = common.runs;
  report["mean_seconds"] = times.mean;
  report["median_seconds"] = times.median;
  report["runs_per_second"] = times.runs_per_second();
}

std::string runs_text(const common_options& common, const run_times& times) {
  if (common.runs == 0) return {};
  return fmt::format("; least of {} runs, {} in the median, {} in the mean, {:.4g} runs a second", common.runs,
                     seconds_text(times.median), seconds_text(times.mean), times.runs_per_second());
}

void print_report(const common_options& common, const std::string& output, const context& ctx, const explanation& plan,
                  std::uint64_t count, std::uint64_t record_bytes, const run_times& times, const nlohmann::json& more) {
  if (common.quiet) return;
  print_variants(common, plan);
  const double seconds = times.least;
  const double predicted = predicted_seconds(plan);
  const double moved_bytes = 2.0 * static_cast<double>(count) * static_cast<double>(record_bytes);
  const double rate = moved_bytes / std::max(seconds, std::numeric_limits<double>::min());
  if (common.json) {
    nlohmann::json report = report_of(common.command_name, ctx);
    report.update({{"primitive", plan.primitive},
                   {"variant", chosen_variant(plan)},
                   {"records", count},
                   {"record_bytes", record_bytes},
                   {"seconds", seconds},
                   {"bytes_per_second", rate},
                   {"predicted_seconds", predicted},
                   {"verified", common.verify},
                   {"output", output}});
    report.update(more);
    add_runs(report, common, times);
    if (!plan.learned.empty()) report["learned"] = plan.learned;
    return print_json(std::move(report));
  }
  fmt::print("{}: {} records of {} bytes with {} in {}, {}{}; predicted {}{}{}\n", plan.primitive, count, record_bytes,
             chosen_variant(plan), seconds_text(seconds), rate_text(rate), runs_text(common, times),
             seconds_text(predicted), learned_text(plan), common.verify ? "; verified" : "");
}

}  // namespace sheaf::cli
