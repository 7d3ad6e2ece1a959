#include "apps/sheaf/subcommands/movement.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "apps/sheaf/files/output_check.hpp"
#include "core/backends.hpp"
#include "core/context_state.hpp"
#include "primitives/views.hpp"

namespace sheaf::cli {
namespace {

std::uint64_t output_bytes(const std::string& path, std::uint64_t count, std::uint64_t record_bytes,
                           std::uint64_t header) {
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(count, record_bytes, &bytes) || __builtin_add_overflow(bytes, header, &bytes)) {
    throw error(error_code::bad_argument,
                fmt::format("{}: {} records of {} bytes are more than a file can hold", path, count, record_bytes));
  }
  return bytes;
}

}  // namespace

void movement_options::add_to(CLI::App& subcommand, const std::string& sequential_name,
                              const std::string& sequential_description) {
  subcommand.add_option(sequential_name, records_path, sequential_description)->required()->type_name("");
  subcommand.add_option("INDEX", index, "Record numbers: .npy or .npz of whole numbers, or raw with --index-type")
      ->required()
      ->type_name("");
  subcommand.add_option("-o,--output", output, "Where the result goes, whole or not at all")
      ->required()
      ->type_name("FILE");
  add_number(
      subcommand, "--record-bytes", 1, primitives::most_record_bytes, [this](std::uint64_t n) { record_bytes = n; },
      "Width of raw records; .npy files know their own");
  add_index_type(subcommand, index_kind, "Type of a raw INDEX; .npy files know their own");
  add_pattern(subcommand, "--pattern-hint", pattern);
  common.add_context_to(subcommand);
  common.add_memory_to(subcommand);
  common.add_verify_to(subcommand);
  common.add_json_to(subcommand);
  common.add_quiet_to(subcommand);
}

void add_index_type(CLI::App& subcommand, std::optional<index_type>& type, const std::string& description) {
  subcommand
      .add_option_function<std::string>(
          "--index-type", [&type](const std::string& text) { type = parse_index_type(text); }, description)
      ->type_name("u32|u64|i32|i64");
}

index_type index_type_for(std::optional<index_type> asked, std::uint64_t count) {
  const index_type type = asked.value_or(count >> 32 == 0 ? index_type::u32 : index_type::u64);
  const unsigned bits = type == index_type::u32 ? 32 : type == index_type::i32 ? 31 : 63;
  if (count >> bits != 0) {
    throw error(error_code::bad_argument, fmt::format("{} cannot number {} records", name(type), count));
  }
  return type;
}

void add_pattern(CLI::App& subcommand, const std::string& option, access_pattern& pattern) {
  subcommand
      .add_option_function<std::string>(
          option, [&pattern](const std::string& text) { pattern = parse_access_pattern(text); },
          "What is known of the places that INDEX names: unknown, sequential, random, partitioned:STREAMS, "
          "clustered:RECORDS, strided:STEP, skewed, repeated:RECORDS")
      ->type_name("PATTERN");
}

void require_output(const std::string& output, std::initializer_list<std::string> inputs, std::string_view option) {
  io::require_not_an_input(output, std::span(inputs.begin(), inputs.size()), option);
  io::require_creatable(output);
}

void require_name_of_kind(const std::string& output, const io::record_file& like) {
  if (like.is_npy() || !output.ends_with(".npy")) return;
  throw error(
      error_code::bad_argument,
      fmt::format("-o {}: {} is raw, and so is the result, without the header of an .npy file; let its name end "
                  "in .bin, or make {} an .npy file",
                  output, like.path(), like.path()));
}

void require_f32_where_needed(const context& ctx, bool is_f32) {
  if (is_f32 || core::backend_of(ctx.backend()).processor != core::processor_kind::pipeline) return;
  throw error(error_code::bad_argument,
              fmt::format("--backend {} works in f32 and not in f64: add --f32", name(ctx.backend())));
}

bool works_in_place(const context& ctx) { return core::backend_of(ctx.backend()).uses_host_memory; }

context_input::context_input(const context& ctx, const void* host, std::uint64_t bytes)
    : data_(const_cast<std::byte*>(static_cast<const std::byte*>(host))) {
  if (works_in_place(ctx)) return;
  copy_ = buffer(ctx, bytes);
  data_ = copy_.data();
  copy_bytes(ctx, data_, host, bytes);
}

record_output::record_output(const std::string& path, std::string header, std::uint64_t count,
                             std::uint64_t record_bytes)
    : header_(std::move(header)),
      count_(count),
      record_bytes_(record_bytes),
      file_(path, output_bytes(path, count, record_bytes, header_.size())),
      rows_(context::cpu(1), count * record_bytes) {}

void record_output::commit() { finish().commit(); }

io::output_file& record_output::finish() {
  file_.write(header_.data(), header_.size());
  file_.write(rows_.data(), rows_.size());
  file_.finish();
  return file_;
}

context_output::context_output(const context& ctx, const record_output& out) : ctx_(ctx), out_(out) {
  if (!works_in_place(ctx)) device_copy_ = buffer(ctx, out.bytes());
}

void context_output::fetch() const {
  if (device_copy_.size() > 0) copy_bytes(ctx_, out_.rows().data, device_copy_.data(), out_.bytes());
}

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
  constexpr const char* descrs[] = {"'<u4'", "'<u8'", "'<i4'", "'<i8'"};
  return like.is_npy() ? numbers_header(descrs[static_cast<int>(type)], count) : "";
}

void print_report(const common_options& common, const std::string& output, const context& ctx, const explanation& plan,
                  std::uint64_t count, std::uint64_t record_bytes, double seconds) {
  if (common.quiet) return;
  const variant_estimate nothing{"nothing", {}, {}, {},
                                 {},        {}, {}};  // stands for the variant where none runs, for an empty index
  const variant_estimate& choice = plan.choice() != nullptr ? *plan.choice() : nothing;
  const double moved_bytes = 2.0 * static_cast<double>(count) * static_cast<double>(record_bytes);
  const double rate = moved_bytes / std::max(seconds, std::numeric_limits<double>::min());
  if (common.json) {
    print_json({{"command", plan.primitive},
                {"backend", name(ctx.backend())},
                {"threads", ctx.threads()},
                {"device", ctx.state().device_name},
                {"machine", plan.machine},
                {"variant", choice.variant},
                {"records", count},
                {"record_bytes", record_bytes},
                {"seconds", seconds},
                {"bytes_per_second", rate},
                {"predicted_seconds", choice.seconds},
                {"verified", common.verify},
                {"output", output}});
    return;
  }
  fmt::print("{}: {} records of {} bytes with {} in {}, {}; predicted {}{}\n", plan.primitive, count, record_bytes,
             choice.variant, seconds_text(seconds), rate_text(rate), seconds_text(choice.seconds),
             common.verify ? "; verified" : "");
}

}  // namespace sheaf::cli
