#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/context_state.hpp"
#include "support/cli_test.hpp"
#include "support/contexts.hpp"
#include "support/scoped_environment.hpp"

namespace sheaf::tests::apps_sheaf_subcommands_opengl_test {
namespace {

using testing::HasSubstr;

class CliOpengl : public cli_test {
 protected:
  void SetUp() override {
    if (!opengl_context()) GTEST_SKIP() << "no OpenGL device here";
    cli_test::SetUp();
  }
  // Records of 4 bytes, and a list that reverses three of them.
  void fill_folder() override {
    folder.write("table.bin", "zeroone.two.");
    const std::uint32_t index[] = {2, 0, 1};
    folder.write("index.bin", std::string(reinterpret_cast<const char*>(index), sizeof index));
    const std::uint32_t bad[] = {2, 9, 1};
    folder.write("bad.bin", std::string(reinterpret_cast<const char*>(bad), sizeof bad));
  }

  static std::string device() { return opengl_context()->state().device_name; }

  static constexpr const char* raw = " --record-bytes 4 --index-type u32 --backend opengl ";
};

TEST_F(CliOpengl, GathersAndScatters) {
  expect_success(std::string("gather table.bin index.bin -o rows.bin --verify") + raw);
  EXPECT_EQ(folder.read("rows.bin"), "two.zeroone.");
  expect_success(std::string("scatter table.bin index.bin -o rows.bin --table 3 --verify") + raw);
  EXPECT_EQ(folder.read("rows.bin"), "one.two.zero");
  const program_result json = run_sheaf(folder, std::string("gather table.bin index.bin -o rows.bin --json") + raw);
  const auto report = nlohmann::json::parse(json.out);
  EXPECT_EQ(report["backend"], "opengl");
  EXPECT_EQ(report["variant"], "opengl.texture");
  EXPECT_EQ(report["device"], device());
  const program_result plan =
      run_sheaf(folder, "plan gather --count 100 --table 100 --record-bytes 4 --backend opengl --json");
  EXPECT_EQ(nlohmann::json::parse(plan.out)["device"], device());
}

TEST_F(CliOpengl, ReportsABadIndexAsEveryBackendDoes) {
  expect_failure(std::string("gather table.bin bad.bin -o rows.bin") + raw, 3,
                 "sheaf gather: bad.bin: index[1] is 9, past the table's 3 records");
}

TEST_F(CliOpengl, SaysWhatItCannotDo) {
  const program_result wide =
      run_sheaf(folder, "gather table.bin index.bin -o rows.bin --record-bytes 6 --index-type u32 --backend opengl");
  EXPECT_EQ(wide.code, 2);
  EXPECT_THAT(wide.err, HasSubstr("opengl.texture (texels hold records of 4, 8, 12 or 16 bytes)"));
  const program_result sort =
      run_sheaf(folder, "sort table.bin -o sorted.bin --record-bytes 4 --key 0:4 --backend opengl");
  EXPECT_EQ(sort.code, 2) << sort.err;
  EXPECT_THAT(sort.err, HasSubstr("backend opengl has no variant of it; there are variants for cpu"));
  // Before any work, which takes a minute for the larger matrices.
  for (const char* const arguments : {"npb-cg C --backend opengl", "solve none.mtx -o x.npy --backend opengl"}) {
    const program_result system = run_sheaf(folder, arguments);
    EXPECT_EQ(system.code, 2) << arguments;
    EXPECT_THAT(system.err, HasSubstr(": --backend opengl has no conjugate gradient; use --backend cpu"));
    EXPECT_THAT(system.err, HasSubstr(", or leave --backend out\n"));
  }
  expect_failure("gather table.bin index.bin -o rows.bin --threads 2" + std::string(raw), 2,
                 "sheaf gather: --threads is for the CPU, not for --backend opengl");
}

TEST_F(CliOpengl, ShowsItsMachineAndIsNotTheOneThatIsUsed) {
  const std::string out = run_sheaf(folder, "machine --backend opengl").out;
  EXPECT_THAT(out, HasSubstr("opengl: "));
  EXPECT_THAT(out, HasSubstr("  brings            "));
  const auto machines = nlohmann::json::parse(run_sheaf(folder, "machine --json").out)["machines"];
  for (const auto& m : machines) {
    EXPECT_TRUE(m["backend"] != "opengl" || !m["used"].get<bool>()) << m;
  }
}

// In little memory for a little while. What is measured is stored, is what later calls plan with, and loses nothing on
// the way.
TEST_F(CliOpengl, MeasuresItsDeviceAndPlansWithWhatItMeasured) {
  const scoped_environment cache("XDG_CACHE_HOME", folder / "cache");
  program_result measured;
  for (const int seconds : {1, 5, 25}) {
    measured = run_sheaf(folder, fmt::format("machine --calibrate --seconds {} --backend opengl --json", seconds));
    if (measured.code != 8) break;  // 8: too busy or too slow to be measured in that time, which the command must say
    EXPECT_EQ(nlohmann::json::parse(measured.out)["error"]["code"], "measurement_failed");
  }
  // What was measured in part is stored.
  if (measured.code == 8 && !folder.has("cache") && !requires_opengl()) GTEST_SKIP() << measured.err;
  if (measured.code != 8) {
    ASSERT_EQ(measured.code, 0) << measured.err;
  }
  const auto found = nlohmann::json::parse(measured.out)["machines"][0];
  EXPECT_EQ(found["backend"], "opengl");
  EXPECT_EQ(found["device"], device());
  EXPECT_EQ(found["name"], device());
  EXPECT_EQ(found["source"], "measured");
  for (const char* const rate : {"upload_bytes_per_second", "readback_bytes_per_second", "copy_bytes_per_second"}) {
    EXPECT_GT(found[rate], 0) << rate;
  }
  for (const char* const curve : {"streams", "random_read", "random_write", "atomic_add"}) {
    EXPECT_GT(found[curve].size(), 0U) << curve;
  }
  const auto later = nlohmann::json::parse(run_sheaf(folder, "machine --backend opengl --json").out)["machines"][0];
  EXPECT_THAT(later["source"].get<std::string>(), testing::StartsWith(folder.path() + "/cache/sheaf/opengl-"));
  EXPECT_FALSE(later.contains("ignored")) << later["ignored"];
  for (const char* const part : {"random_read", "random_write", "atomic_add", "upload_bytes_per_second"}) {
    EXPECT_EQ(later[part], found[part]) << part;
  }
  const auto plan = nlohmann::json::parse(
      run_sheaf(folder, "plan gather --count 1000 --table 1000 --record-bytes 4 --backend opengl --json").out);
  EXPECT_EQ(plan["profile"], later["source"]);
  expect_success(std::string("gather table.bin index.bin -o rows.bin --verify --quiet") + raw);
}

class CliWithoutOpengl : public cli_test {
 protected:
  void fill_folder() override {}
};

// The file names no vendor of EGL, so there is no device, whatever this machine has.
TEST_F(CliWithoutOpengl, EndsWithTheCodeOfAMissingBackend) {
  const scoped_environment no_vendor("__EGL_VENDOR_LIBRARY_FILENAMES", "/dev/null");
  const program_result result = run_sheaf(folder, "machine --backend opengl");
  EXPECT_EQ(result.code, 6) << result.out;
#if SHEAF_HAS_OPENGL
  EXPECT_THAT(result.err, HasSubstr("sheaf machine: context::opengl: no OpenGL device 0; this machine has 0: "));
#else
  EXPECT_EQ(result.err, "sheaf machine: this build of sheaf has no backend 'opengl'\n");
#endif
  EXPECT_EQ(run_sheaf(folder, "machine").code, 0);
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_subcommands_opengl_test
