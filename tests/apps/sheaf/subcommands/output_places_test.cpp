#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/cli_test.hpp"
#include "support/npy_file.hpp"
#include "support/scoped_environment.hpp"

// An output that cannot be made is found before the work that it is of, and before its inputs are read.
namespace sheaf::tests::apps_sheaf_subcommands_output_places_test {
namespace {

class CliOutputPlaces : public cli_test {
 protected:
  void fill_folder() override {
    folder.write("file", "as it was");
    std::filesystem::create_directory(folder / "folder");
    folder.write("table.npy", npy_file("'<f4'", "(2,)", bytes_of<float>({1, 2})));
    folder.write("list.npy", npy_file("'<i4'", "(2,)", bytes_of<std::int32_t>({1, -1})));
    folder.write("broken.mtx", "no matrix");
    folder.write("broken.su2", "no mesh");
  }

  // Outputs that cannot be, and why.
  struct bad_place {
    std::string name;
    int code;
    std::string reason;
  };
  const std::vector<bad_place> places{
      {"none/out", 5, "cannot be created: No such file or directory"},
      {"file/out", 5, "cannot be created: Not a directory"},
      {"folder", 2, "a folder; an output is a file"},
  };

  void expect_found(const std::string& subcommand, const std::string& arguments) {
    for (const auto& [name, code, reason] : places) {
      expect_failure(fmt::format("{} {} {}", subcommand, arguments, name), code,
                     fmt::format("sheaf {}: {}: {}", subcommand, name, reason));
      expect_failure(fmt::format("{} {} {} --quiet", subcommand, arguments, name), code,
                     fmt::format("sheaf {}: {}: {}", subcommand, name, reason));
    }
    EXPECT_EQ(folder.read("file"), "as it was") << subcommand;
    EXPECT_TRUE(std::filesystem::is_empty(folder / "folder")) << subcommand;
  }
};

TEST_F(CliOutputPlaces, AreLookedAtBeforeAnything) {
  expect_found("gather", "table.npy list.npy -o");
  expect_found("scatter", "table.npy list.npy --table 9 -o");
  expect_found("split", "table.npy --bits 0:8 -o");
  expect_found("split", "table.npy --bits 0:8 -o out.npy --offsets");
  expect_found("multi-split", "table.npy --row-offsets list.npy --keys list.npy --categories 2 -o");
  expect_found("multi-split", "--row-offsets list.npy --keys list.npy --categories 2 --sources");
  expect_found("multi-split", "--row-offsets list.npy --keys list.npy --categories 2 --sources s.npy --offsets");
  expect_found("sort", "table.npy -o");
  expect_found("sort", "table.npy --memory 1M -o");
  expect_found("rank", "list.npy -o");
  expect_found("scan", "list.npy table.npy -o");
}

// Matrices and meshes take longer to read than to look where the result goes, so that comes first.
TEST_F(CliOutputPlaces, AreLookedAtBeforeInputsAreRead) {
  expect_found("spmv", "broken.mtx -o");
  expect_found("solve", "broken.mtx -o");
  expect_found("solve", "broken.mtx -o out.npy --history");
  expect_found("edges", "broken.su2 -o");
  expect_failure("edges broken.su2 --dual none/out", 5,
                 "sheaf edges: none/out.volumes.npy: cannot be created: No such file or directory");
  expect_failure("search list.npy table.npy -o none/out", 5,
                 "sheaf search: none/out.offsets.npy: cannot be created: No such file or directory");
}

// What takes seconds to measure. The demo prints a table as it goes, of which nothing is there.
TEST_F(CliOutputPlaces, AreLookedAtBeforeAnythingIsMeasured) {
  const scoped_environment cache("XDG_CACHE_HOME", folder / "cache");
  const auto begin = std::chrono::steady_clock::now();
  expect_found("demo", "--size small --report");
  expect_found("demo", "--backend cpu --report");
  expect_found("machine", "--calibrate --backend cpu --save");
  expect_found("machine", "--backend cpu --save");
  expect_failure("demo --size small --backend cpu --threads 1 --profiles file", 5,
                 "sheaf demo: file/cpu-1-threads.json: cannot be created: Not a directory");
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(seconds.count(), 60) << "26 runs that end before they measure for 14 seconds or more each";
}

TEST_F(CliOutputPlaces, OfProfilesAreLookedAtBeforeAnythingIsMeasured) {
  const auto refused = [&](const std::string& place, const std::string& reason) {
    const scoped_environment cache("XDG_CACHE_HOME", place);
    const std::size_t files = folder.count();
    const program_result result = run_sheaf(folder, "machine --calibrate --backend cpu");
    EXPECT_EQ(result.code, 5) << place;
    EXPECT_EQ(result.out, "") << place;
    EXPECT_THAT(result.err, testing::StartsWith(fmt::format("sheaf machine: {}/sheaf/cpu-", place)));
    EXPECT_THAT(result.err, testing::HasSubstr(".json: cannot be created: " + reason));
    EXPECT_EQ(folder.count(), files) << place;
  };
  refused(folder / "file", "Not a directory");
  if (std::filesystem::exists("/proc/self")) refused("/proc/none", "");  // where nobody makes folders
  folder.write("folder/sheaf", "a file in the way");
  refused(folder / "folder", "Not a directory");
  EXPECT_EQ(folder.read("folder/sheaf"), "a file in the way");
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_subcommands_output_places_test
