#include "apps/sheaf/files/output_check.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "apps/sheaf/files/arrays/contents.hpp"
#include "apps/sheaf/files/failure.hpp"
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

}  // namespace

void require_creatable(const std::string& path, missing_folders folders) {
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
  std::error_code ignored;
  const auto canonical = [&](const std::string& path) {
    return fs::weakly_canonical(fs::absolute(behind_links(path), ignored), ignored);
  };
  return canonical(a) == canonical(b) || fs::equivalent(a, b, ignored);
}

void require_not_an_input(const std::string& output, std::span<const std::string> inputs, std::string_view option) {
  for (const std::string& input : inputs) {
    std::error_code ignored;
    if (!input.empty() && fs::equivalent(output, file_behind(input), ignored)) {
      throw_error(error_code::bad_argument, "{} {} is the input {}; inputs are never written", option, output, input);
    }
  }
}

}  // namespace sheaf::io
