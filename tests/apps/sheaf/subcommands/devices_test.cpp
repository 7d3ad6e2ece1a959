#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/backends.hpp"
#include "support/cli_test.hpp"
#include "support/npy_file.hpp"

// --devices: what it refuses anywhere, and the GPUs of this machine where there are some.
namespace sheaf::tests::apps_sheaf_subcommands_devices_test {
namespace {

using testing::HasSubstr;

class CliDevices : public cli_test {
 protected:
  void fill_folder() override {
    folder.write("table.npy", npy_file("'<i4'", "(4,)", bytes_of<std::int32_t>({5, 7, -5, 8})));
    folder.write("index.npy", npy_file("'<i4'", "(3,)", bytes_of<std::int32_t>({3, 0, 1})));
    folder.write("of.npy", npy_file("'|u1'", "(4,)", std::string("\1\0\1\0", 4)));
    folder.write("begins.npy", npy_file("'<i4'", "(5,)", bytes_of<std::int32_t>({0, 1, 2, 3, 4})));
    folder.write("a.mtx", "%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 2\n2 1 -1\n2 2 2\n");
  }
  static bool has_gpu() { return core::backend_of(backend_kind::cuda).has_device(); }

  const std::vector<std::string> commands{
      "sort table.npy -o out.npy",
      "gather table.npy index.npy -o out.npy",
      "split table.npy --keys of.npy --categories 2 -o out.npy",
      "spmv a.mtx -o out.npy",
      "solve a.mtx -o out.npy",
      "npb-cg S",
  };
  static std::string name_of(const std::string& command) { return command.substr(0, command.find(' ')); }
};

TEST_F(CliDevices, AreAllOrNumbersThatDiffer) {
  for (const std::string text : {"x", "0,", ",0", "0,,1", "-1", "all,0", "ALL", "1.5", "65536"}) {
    expect_failure(
        "sort table.npy -o out.npy --devices " + text, 2,
        "sheaf sort: --devices: '" + text + "' is neither all nor numbers of devices, as 0,1\nTry: sheaf sort --help");
  }
  expect_failure("npb-cg S --devices 0,1,0", 2,
                 "sheaf npb-cg: --devices: '0,1,0' names device 0 twice\nTry: sheaf npb-cg --help");
}

TEST_F(CliDevices, RefuseOptionsThatDoNotGoWithThem) {
  for (const std::string& command : commands) {
    const std::string sheaf = "sheaf " + name_of(command) + ": ";
    const auto expect_refusal = [&](const std::string& options, const std::string& words) {
      expect_failure(fmt::format("{} --devices all {}", command, options), 2, sheaf + words);
    };
    for (const std::string backend : {"cpu", "opengl", "reference"})
      expect_refusal("--backend " + backend, "--devices is for CUDA, not for --backend " + backend);
    expect_refusal("--threads 2", "--threads is for the CPU, not for --devices");
    const auto expect_undivided = [&](const std::string& options, const std::string& option) {
      expect_refusal(options, option + " is not for --devices");
    };
    expect_undivided("--variant cuda.direct", "--variant");
    expect_undivided("--memory 1G", "--memory");
    if (name_of(command) == "npb-cg") continue;
    expect_undivided("--verify", "--verify");
    expect_undivided("--runs 3", "--runs");
    expect_failure("plan --like " + command + " --devices 0", 2,
                   sheaf + "--devices has no plan: plans are of one device");
  }
  expect_failure("spmv a.mtx -o out.npy --devices all --transposed", 2,
                 "sheaf spmv: --transposed is not for --devices");
  expect_failure("sort table.npy -o out.npy --devices all --index gather", 2,
                 "sheaf sort: --index is not for --devices");
  expect_failure("split table.npy --row-offsets begins.npy --keys of.npy --categories 2 -o out.npy --devices all", 2,
                 "sheaf split: --devices is for records of one category, not for --row-offsets");
  expect_failure("multi-split table.npy --row-offsets begins.npy --keys of.npy --categories 2 -o out.npy --devices all",
                 2,
                 "sheaf multi-split: --devices is an option of gather, split, sort, spmv, solve, npb-cg, not of "
                 "multi-split\nTry: sheaf multi-split --help");
}

TEST_F(CliDevices, ThatAreNotThereAreNamed) {
  const core::backend& cuda = core::backend_of(backend_kind::cuda);
  for (const std::string& command : commands) {
    const std::string sheaf = "sheaf " + name_of(command) + ": --devices: ";
    if (cuda.has_device()) {
      expect_failure(command + " --devices 0,999", 6,
                     sheaf + "there is no CUDA device 999; this machine has " + std::to_string(cuda.device_count()));
    } else {
      const std::string words = cuda.is_built() ? "there is no CUDA device"
                                                : "there is no CUDA device: this build of sheaf has no backend 'cuda'";
      expect_failure(command + " --devices all", 6, sheaf + words);
      expect_failure(command + " --devices 0,1", 6, sheaf + words);
      expect_failure(command + " --devices all --backend cuda", 6, sheaf + words);
    }
  }
}

TEST_F(CliDevices, WriteWhatOneGpuWrites) {
  if (!has_gpu()) GTEST_SKIP() << "no CUDA device here";
  for (const std::string& command : commands) {
    if (name_of(command) == "npb-cg") continue;
    // The dot products of one GPU and of a group have other orders.
    expect_success(command + " --quiet " + (name_of(command) == "solve" ? "--devices 0" : "--backend cuda"));
    const std::string expected = folder.read("out.npy");
    for (const std::string devices : {"0", "all"}) {
      folder.write("out.npy", "of before");
      expect_success(fmt::format("{} --quiet --devices {}", command, devices));
      EXPECT_EQ(folder.read("out.npy"), expected) << command << " on " << devices;
    }
    const program_result text = run_sheaf(folder, command + " --devices 0");
    EXPECT_THAT(text.out, HasSubstr(" on 1 GPU")) << command;
    const program_result json = run_sheaf(folder, command + " --json --devices 0");
    EXPECT_EQ(nlohmann::json::parse(json.out)["devices"], nlohmann::json::array({0})) << command;
  }
  const program_result benchmark = run_sheaf(folder, "npb-cg S --json --devices all");
  EXPECT_EQ(benchmark.code, 0) << benchmark.err;
  EXPECT_EQ(nlohmann::json::parse(benchmark.out)["verification"], "SUCCESSFUL");
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_subcommands_devices_test
