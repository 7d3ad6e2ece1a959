#include "apps/sheaf/subcommands/files/output_set.hpp"

#include <filesystem>
#include <system_error>

#include "apps/sheaf/files/output_check.hpp"
#include "apps/sheaf/files/streams.hpp"
#include "primitives/views.hpp"

namespace sheaf::cli {

output_set::output_set(std::string prefix, std::vector<std::string> inputs, std::string option)
    : prefix_(std::move(prefix)), option_(std::move(option)), inputs_(std::move(inputs)) {
  if (prefix_.empty()) primitives::refuse("{}: an empty prefix names no files", option_);
  if (prefix_ == "-") {
    primitives::refuse("{} -: standard output takes one file, and {} says how the names of several begin", option_,
                       option_);
  }
  io::require_streams_apart(inputs_);
  std::error_code none;
  if (prefix_.ends_with('/') || std::filesystem::is_directory(prefix_, none)) {
    primitives::refuse("{} {}: a folder; a prefix is how the names of files begin", option_, prefix_);
  }
}

void output_set::open(std::string_view ending, std::uint64_t bytes) {
  std::string path = fmt::format("{}.{}", prefix_, ending);
  io::require_not_an_input(path, inputs_, option_);
  for (const output& other : outputs_) {
    if (io::name_one_file(other.path, path)) primitives::refuse("{} and {} are one file", other.path, path);
  }
  outputs_.push_back({path, std::make_unique<io::output_file>(path, bytes)});
}

void output_set::write(std::size_t number, const std::string& header, const void* data, std::uint64_t bytes) {
  io::output_file& file = *outputs_[number].file;
  file.write(header.data(), header.size());
  file.write(data, bytes);
  file.finish();
}

void output_set::commit(io::output_file* beside) {
  std::vector<io::output_file*> files;
  if (beside != nullptr) files.push_back(beside);
  for (const output& each : outputs_) files.push_back(each.file.get());
  io::output_file::commit_all(files);
}

std::vector<std::string> output_set::paths() const {
  std::vector<std::string> all;
  for (const output& each : outputs_) all.push_back(each.path);
  return all;
}

}  // namespace sheaf::cli
