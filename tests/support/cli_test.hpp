#pragma once

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "support/run_program.hpp"
#include "support/temporary_folder.hpp"

namespace sheaf::tests {

/// Runs the command in a folder of its own.
class cli_test : public testing::Test {
 protected:
  void SetUp() override {
    if (sheaf_program().empty()) GTEST_SKIP() << "the sheaf program is neither beside the tests nor where it was built";
    fill_folder();
  }
  virtual void fill_folder() = 0;

  /// Runs, and expects the exit code and exactly these words on stderr. What fails leaves no file behind.
  void expect_failure(std::string_view arguments, int code, const std::string& words) {
    const std::size_t files = folder.count();
    const program_result result = run_sheaf(folder, arguments);
    EXPECT_EQ(result.code, code) << arguments;
    EXPECT_EQ(result.err, words + "\n") << arguments;
    EXPECT_EQ(result.out, "") << arguments;
    EXPECT_EQ(folder.count(), files) << arguments;
  }

  void expect_success(std::string_view arguments) {
    const program_result result = run_sheaf(folder, arguments);
    EXPECT_EQ(result.code, 0) << arguments << "\n" << result.err;
    EXPECT_EQ(result.err, "") << arguments;
  }

  temporary_folder folder;
};

}  // namespace sheaf::tests
