#include "apps/sheaf/files/output_check.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>

#include "apps/sheaf/files/arrays/contents.hpp"
#include "apps/sheaf/files/failure.hpp"
#include "apps/sheaf/files/streams.hpp"
#include "plan/store/output_file.hpp"
#include "plan/store/temporary_names.hpp"

namespace sheaf::io {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& path, int reason) {
  throw_error(error_code::io_failure, "{}: cannot be created: {}", path, std::strerror(reason));
}

// The folder in which the first of the missing folders would be made.
fs::path nearest_folder(fs::path folder, const std::string& path) {
  struct stat status {};
  while (stat(folder.c_str(), &status) != 0) {
    if (errno != ENOENT || !folder.has_relative_path()) fail(path, errno);
    folder = folder.parent_path();
    if (folder.empty()) folder = ".";
  }
  if (!S_ISDIR(status.st_mode)) fail(path, ENOTDIR);
  return folder;
}

bool is_one_file(const struct stat& a, const struct stat& b) { return a.st_dev == b.st_dev && a.st_ino == b.st_ino; }

}  // namespace

void require_place(const std::string& output) {
  if (!is_standard_output(output)) return require_creatable(output);
  if (is_standard_output_taken() || is_standard_output_left()) return;
  // A descriptor that is closed has a stand-in that cannot be written to.
  if ((fcntl(STDOUT_FILENO, F_GETFL) & O_ACCMODE) == O_RDONLY)
    throw_error(error_code::io_failure, "standard output cannot be written");
  take_standard_output();
}

void require_creatable(const std::string& path, missing_folders folders) {
  struct stat status {};
  // Opened, a pipe would wait for its reader, who would see the end of it when it is closed again.
  if (stat(path.c_str(), &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode))) {
    if (access(path.c_str(), W_OK) != 0) fail(path, errno);
    return;
  }
  const fs::path folder = fs::path(behind_links(path)).parent_path();
  std::error_code unknown;
  if (folders == missing_folders::are_errors || folder.empty() || fs::is_directory(folder, unknown)) {
    const output_file trial(path, 0);
    return;
  }
  // Made and removed again: permissions alone do not say it of a file system that is read-only or the kernel's own.
  std::string trial = nearest_folder(folder, path) / ".sheaf-XXXXXX";
  int reason = 0;
  {
    const whole_step made_and_removed;
    if (mkdtemp(trial.data()) == nullptr) {
      reason = errno;
    } else {
      rmdir(trial.c_str());
    }
  }
  if (reason != 0) fail(path, reason);
}

bool name_one_file(const std::string& a, const std::string& b) {
  if (is_standard_output(a) && is_standard_output(b)) return true;
  const auto of_a = status_of_output(a);
  const auto of_b = status_of_output(b);
  if (of_a && of_b) return is_one_file(*of_a, *of_b) && !S_ISCHR(of_a->st_mode);
  if (is_standard_output(a) || is_standard_output(b)) return false;
  std::error_code ignored;
  const auto canonical = [&](const std::string& path) {
    return fs::weakly_canonical(fs::absolute(behind_links(path), ignored), ignored);
  };
  return canonical(a) == canonical(b);
}

void require_not_an_input(const std::string& output, std::span<const std::string> inputs, std::string_view option) {
  const auto written = status_of_output(output);
  for (const std::string& input : inputs) {
    const auto read = input.empty() ? std::nullopt : status_of_input(file_behind(input));
    // A device or a connection may have both ends in one place.
    const bool has_one_end = read && (S_ISREG(read->st_mode) || S_ISFIFO(read->st_mode));
    if (written && has_one_end && is_one_file(*written, *read)) {
      throw_error(error_code::bad_argument, "{} {} is the input {}; inputs are never written", option, output, input);
    }
  }
}

}  // namespace sheaf::io
