#include "apps/sheaf/exit_code.hpp"

#include <gtest/gtest.h>

namespace sheaf::tests::apps_sheaf_subcommands_exit_code_test {
namespace {

TEST(ExitCode, SaysWhatKindOfThingWentWrong) {
  EXPECT_EQ(cli::exit_code_of(error_code::internal), 1);
  EXPECT_EQ(cli::exit_code_of(error_code::device_failure), 1);
  EXPECT_EQ(cli::exit_code_of(error_code::bad_argument), 2);
  EXPECT_EQ(cli::exit_code_of(error_code::no_variant), 2);
  EXPECT_EQ(cli::exit_code_of(error_code::bad_input), 3);
  EXPECT_EQ(cli::exit_code_of(error_code::bad_index), 3);
  EXPECT_EQ(cli::exit_code_of(error_code::out_of_memory), 5);
  EXPECT_EQ(cli::exit_code_of(error_code::io_failure), 5);
  EXPECT_EQ(cli::exit_code_of(error_code::backend_unavailable), 6);
  EXPECT_EQ(cli::exit_code_of(error_code::measurement_failed), 8);
  EXPECT_EQ(cli::exit_not_converged, 7);
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_subcommands_exit_code_test
