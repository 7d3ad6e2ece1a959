#pragma once

#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "support/temporary_folder.hpp"

namespace sheaf::tests {

struct program_result {
  int code = -1;  ///< exit status of the program; -1 if it did not exit
  std::string out;
  std::string err;
};

/// The sheaf program: beside the test program, where both go when they are moved, else where it was built; empty if it
/// is nowhere.
inline std::string sheaf_program() {
  std::error_code ignored;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", ignored);
  const std::filesystem::path beside = self.parent_path() / "sheaf";
  if (std::filesystem::is_regular_file(beside, ignored)) return beside.string();
#ifdef SHEAF_CLI
  if (std::filesystem::is_regular_file(SHEAF_CLI, ignored)) return SHEAF_CLI;
#endif
  return {};
}

/// Runs `PROGRAM ARGUMENTS`, words of the shell, in the folder; what it prints goes to a folder of its own, or to
/// `out`.
inline program_result run_program(const std::string& program, const temporary_folder& folder,
                                  std::string_view arguments, std::string out = {}) {
  const temporary_folder printed;
  if (out.empty()) out = printed / "out";
  const std::string line = "cd '" + folder.path() + "' && '" + program + "' " + std::string(arguments) + " >'" + out +
                           "' 2>'" + (printed / "err") + "' </dev/null";
  const int status = std::system(line.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, printed.read("out"), printed.read("err")};
}

inline program_result run_sheaf(const temporary_folder& folder, std::string_view arguments, std::string out = {}) {
  return run_program(sheaf_program(), folder, arguments, std::move(out));
}

}  // namespace sheaf::tests
